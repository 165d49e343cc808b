// Writes docs/configuration.md. A test checks that it is current.
import { writeFileSync } from "node:fs";
import { configJsonSchema } from "../src/index.ts";
import { configReference } from "../src/reference.ts";

writeFileSync(
  new URL("../../../docs/configuration.md", import.meta.url),
  configReference(configJsonSchema()),
);
