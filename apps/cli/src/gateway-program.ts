// Finds the gateway's program for the commands that run it: beside this one, as a source or in a bundle.
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

export const gatewayProgram = fileURLToPath(
  new URL(`../../gateway/src/main${extname(import.meta.url)}`, import.meta.url),
);
