// Says something aloud: a voice note in the conversation, or elsewhere. The recording is made first and the
// outbox sends it, once, like every message (I5).
import { Fault, visibleText } from "@parley/protocol";
import { z } from "zod";
import { isUnavailable, type Unavailable } from "../ports/done.ts";
import type { Messages } from "../ports/messages.ts";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool, ToolScope } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

/** One recording of a service holds about as much: five minutes. */
const mostChars = 4_000;

const args = z.object({
  text: z.string().min(1).max(mostChars).describe("What is said, in plain sentences."),
  to: z.string().min(1).max(300).optional().describe("As in message. Absent: here."),
});

export const ttsListing: ToolListing = {
  name: "tts",
  label: "Speech",
  section: "media",
  profiles: [],
  effect: "sends",
  summary: "Turn text into speech",
};

export function tts({ speech, messages }: ToolContext): Tool | Unavailable {
  const voice = speech?.voice() ?? { unavailable: "nothing is spoken here" };
  if (speech === undefined || isUnavailable(voice)) return { unavailable: unavailableIn(voice) };
  return defineTool({
    ...ttsListing,
    description:
      "Speaks a text and sends it as a voice note, by itself. Use it when somebody asks to hear something. " +
      "What was said is part of the conversation: do not say it again in your answer; NO_REPLY is fine.",
    args,
    keyed: true,
    outside: ({ to, text }, { session, conversation }) =>
      to === undefined || to === session || to === conversation
        ? null
        : `say to ${visibleText(to)}: ${visibleText(text)}`,
    async run({ text, to }, scope) {
      const [file, more] = await speech.speak(text.trim(), scope.signal);
      if (file === undefined || more !== undefined)
        throw new Fault("unsupported", "it does not fit into one voice note: say less");
      return sent(messages, scope, { to, file });
    },
  });
}

function unavailableIn(voice: { readonly name: string } | Unavailable): string {
  return isUnavailable(voice) ? voice.unavailable : "nothing is spoken here";
}

async function sent(
  messages: Messages,
  scope: ToolScope,
  {
    to,
    file,
  }: { readonly to: string | undefined; readonly file: Parameters<Messages["act"]>[1]["files"][number] },
) {
  const done = await messages.act(scope, { action: "send", to, files: [file], voice: true, tags: [] });
  const { text, effects } = done;
  return {
    content: [{ type: "text" as const, text }],
    ...(effects === undefined ? {} : { effects }),
  };
}
