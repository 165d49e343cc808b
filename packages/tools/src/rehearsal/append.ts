// Defines a tool that writes: one line to a file of the workspace each time it runs, so that a repeat shows.
import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { defineTool, textResult } from "../define-tool.ts";

export const append = defineTool({
  name: "append",
  summary: "Append a line to rehearsal.log in the workspace",
  description:
    "Appends one line to rehearsal.log in the workspace; every run leaves its own line. For rehearsals.",
  args: z.object({
    line: z
      .string()
      .max(1_000)
      .regex(/^[^\n]*$/, "one line only"),
  }),
  effect: "writes",
  async run({ line }, { workspace, callId }) {
    await mkdir(workspace, { recursive: true });
    await appendFile(join(workspace, "rehearsal.log"), `${callId} ${line}\n`);
    return textResult("appended");
  },
});
