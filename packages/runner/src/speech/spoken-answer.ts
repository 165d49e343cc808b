// Adds the spoken form to a turn's answer where the conversation wants it. The recording is made before the
// commit and sent by the delivery of the words, so it is exactly as durable as they are; without one the
// words go alone.
import { renderMarkdown } from "@parley/channels";
import { isFault, type Outcome, type Part } from "@parley/protocol";
import type { ReadAnswer } from "../streaming/read-answer.ts";
import type { TurnJournal } from "../turn-journal.ts";
import type { Services, TurnScope } from "../turn-scope.ts";
import { hasVoice, speechModeAt } from "./speech-mode.ts";

/** A fence gives back none of its signs, or a long line of them would be tried in every length. */
const fence = /^[ \t]*(`{3,}(?!`)|~{3,}(?!~))[^\n]*\n[\s\S]*?(?:^[ \t]*\1[ \t]*$|$(?![\s\S]))/gmu;

/** `outcome`: what is still to be said; the whole answer is spoken, also what went out as it grew. */
export async function spokenToo(
  { config, speech }: Pick<Services, "config" | "speech">,
  { session, address, channel, signal, log }: TurnScope,
  { answer, journal }: { readonly answer: ReadAnswer; readonly journal: Pick<TurnJournal, "rows"> },
  outcome: Outcome,
): Promise<Outcome> {
  if (outcome.kind !== "reply" || answer.outcome.kind !== "reply" || speech === undefined) return outcome;
  const mode = speechModeAt({ config, session, address, surface: channel, speech });
  const isAsked = mode === "always" || answer.voice || (mode === "inbound" && hasVoice(journal.rows()));
  if (mode === "off" || !isAsked) return outcome;
  const words = spokenWords(answer.outcome.parts);
  if (words === "" || words.length > config.messages.tts.maxTextLength) return outcome;
  try {
    const files = await speech.speak(words, signal);
    return { ...outcome, parts: [...outcome.parts, ...files.map((file): Part => ({ kind: "voice", file }))] };
  } catch (error) {
    if (!isFault(error)) throw error;
    // An answer in words must not wait for one in sound.
    log.warn({ code: error.code, reason: error.message }, "an answer could not be spoken");
    return outcome;
  }
}

/** The words without what only eyes can use; empty where nothing is left to be said. */
export function spokenWords(parts: readonly Part[]): string {
  const markdown = parts.flatMap((part) => (part.kind === "text" ? [part.markdown] : [])).join("\n\n");
  const [...texts] = renderMarkdown(markdown.replaceAll(fence, ""), {
    dialect: "plain",
    textChars: 1_000_000,
  });
  const words = texts
    .map(({ plain }) => plain)
    .join("\n")
    .replaceAll(/https?:\/\/\S+/gu, "")
    .replaceAll(
      /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]|\u{fe0f}|\u{200d}|\u{20e3}/gu,
      "",
    )
    .replaceAll(/[ \t]+/gu, " ")
    .trim();
  return /[\p{L}\p{N}]/u.test(words) ? words : "";
}
