// Defines a tool that only reads, so it may be repeated after a crash.
import { z } from "zod";
import { defineTool, textResult } from "../define-tool.ts";

export const echo = defineTool({
  name: "echo",
  summary: "Say a text back",
  description: "Returns the text that it is given. For rehearsals.",
  args: z.object({ text: z.string().max(100_000) }),
  effect: "reads",
  run: async ({ text }) => textResult(text),
});
