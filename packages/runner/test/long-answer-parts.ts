// What a long answer became, taken apart.
import type { MediaFile, Outcome } from "@parley/protocol";

export function longAnswerParts(outcome: Outcome): {
  readonly head: string;
  readonly file: MediaFile | null;
  readonly replyTo?: string;
} {
  if (outcome.kind !== "reply") throw new Error(`no reply: ${outcome.kind}`);
  const [text, media] = outcome.parts;
  return {
    head: text?.kind === "text" ? text.markdown : "",
    file: media?.kind === "media" ? (media.files[0] ?? null) : null,
    ...(outcome.replyTo === undefined ? {} : { replyTo: outcome.replyTo }),
  };
}
