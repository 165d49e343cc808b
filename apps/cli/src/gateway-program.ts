// Where the gateway's program lies, for the commands that run it.
import { fileURLToPath } from "node:url";

export const gatewayProgram = fileURLToPath(new URL("../../gateway/src/main.ts", import.meta.url));
