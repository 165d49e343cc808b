// Holds every text that the page says, in English. Another language is another table of this shape.
import { agentsTexts } from "./en/agents.ts";
import { chatTexts } from "./en/chat.ts";
import { setupTexts } from "./en/setup.ts";
import { shellTexts } from "./en/shell.ts";
import { systemTexts } from "./en/system.ts";
import { workTexts } from "./en/work.ts";

export const en = {
  ...shellTexts,
  ...chatTexts,
  ...workTexts,
  ...setupTexts,
  ...systemTexts,
  ...agentsTexts,
} as const;
