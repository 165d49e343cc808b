// Writes config/parley.schema.json, which editors read. A test checks that it is current.
import { writeFileSync } from "node:fs";
import { configJsonSchema } from "../src/index.ts";

writeFileSync(
  new URL("../../../config/parley.schema.json", import.meta.url),
  `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
);
