// Limits how long an answer in messages may be, because a chat is a poor place for a book. Beyond the limit
// the whole answer is attached as a file where the platform takes files, and elsewhere it is cut with a
// notice that says where the whole is.
import type { Channel } from "@parley/channels";
import { isFault, type Log, type MediaFile, type Outcome, type Part } from "@parley/protocol";
import { closed } from "../early-end.ts";
import type { MediaFolder } from "../media/media-store.ts";

export interface AnswerLimit {
  readonly maxChars: number;
  readonly session: string;
  readonly capabilities: Pick<Channel["capabilities"], "media" | "uploadBytes" | "textChars"> | null;
  readonly folder: MediaFolder;
  readonly log: Log;
}

type TextPart = Extract<Part, { kind: "text" }>;

/** Characters of the answer that appear above the file. */
const headChars = 1_000;
/**
 * A channel whose messages are longer than the limit shows such an answer in one; no more than this is
 * formatted at once.
 */
const mostAtOnceChars = 200_000;

/** Returns the outcome with its parts within the limit. */
export async function withinLimit(outcome: Outcome, options: AnswerLimit): Promise<Outcome> {
  if (outcome.kind !== "reply") return outcome;
  const texts = outcome.parts.filter((part): part is TextPart => part.kind === "text");
  const whole = texts.map(({ markdown }) => markdown).join("\n\n");
  const maxChars = Math.max(
    options.maxChars,
    Math.min(options.capabilities?.textChars ?? 0, mostAtOnceChars),
  );
  if (whole.length <= maxChars) return outcome;
  const others = outcome.parts.filter((part) => part.kind !== "text");
  const buttons = texts.at(-1)?.buttons;
  const size = `it has ${inWords(whole.length)} characters, and messages take ${inWords(maxChars)}`;
  const file = await fileOf(whole, options);
  const head =
    file === null
      ? `${beginning(whole, maxChars)}\n\n✂️ My answer was cut here: ${size}. The whole of it stands in the session: \`parley sessions show ${options.session}\`.`
      : `${beginning(whole, headChars)} …\n\n📄 My answer is too long for messages: ${size}. The whole of it is in the file.`;
  return {
    ...outcome,
    parts: [
      { kind: "text", markdown: head, ...(buttons === undefined ? {} : { buttons }) },
      ...(file === null ? [] : [{ kind: "media" as const, media: "file" as const, files: [file] }]),
      ...others,
    ],
  };
}

async function fileOf(whole: string, { capabilities, folder, log }: AnswerLimit): Promise<MediaFile | null> {
  const bytes = Buffer.from(whole);
  if (capabilities?.media !== true || bytes.length > capabilities.uploadBytes) return null;
  try {
    return {
      path: await folder.keep(bytes, "md"),
      mediaType: "text/markdown",
      bytes: bytes.length,
      name: "answer.md",
    };
  } catch (error) {
    if (!isFault(error)) throw error;
    // A full disk must not cost the answer.
    log.warn({ error }, "a long answer could not become a file");
    return null;
  }
}

/**
 * Cuts after whole paragraphs or lines where it can, and never splits a character or leaves a code block
 * open.
 */
function beginning(text: string, chars: number): string {
  const head = text.slice(0, chars);
  const end =
    [head.lastIndexOf("\n\n"), head.lastIndexOf("\n"), head.lastIndexOf(" ")].find((at) => at > chars / 2) ??
    chars;
  return closed(head.slice(0, end).replace(/[\ud800-\udbff]$/, ""));
}

function inWords(count: number): string {
  return count.toLocaleString("en-US");
}
