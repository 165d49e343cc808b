// Names the deliveries of the tools that send, and reads from a turn's steps what it said in its own
// conversation with them, so that the answer does not say it again.
import type { JournalStep } from "@parley/agent";
import { encodeKeyPart, type Outcome } from "@parley/protocol";
import type { ToolScope } from "@parley/tools";

/** The same call has the same id; what goes elsewhere is a notice there, which /stop does not drop. */
export function messageId({ turn, callId }: Pick<ToolScope, "turn" | "callId">, here: boolean): string {
  const call = encodeKeyPart(callId);
  return here ? `${turn}/${call}/message` : `message:${turn}/${call}`;
}

/** Actions of the message tool that say something. A tool without an action only sends. */
const saying: readonly unknown[] = [undefined, "send", "reply", "poll"];
/** Texts that the turn's calls sent to its own conversation; "" for a message without words. */
export function saidHere(turn: string, steps: readonly JournalStep[]): readonly string[] {
  const calls = steps.flatMap((step) =>
    step.kind === "model"
      ? step.entry.content.flatMap((part) =>
          part.type === "toolCall" && saying.includes(part.args["action"]) ? [part] : [],
        )
      : [],
  );
  return steps.flatMap((step) => {
    if (step.kind !== "result" || step.entry.isError) return [];
    const { callId, content } = step.entry;
    const call = calls.find(({ id }) => id === callId);
    // The result names the delivery, and no other result can name one of this call.
    const handle = messageId({ turn, callId }, true);
    const isSent = content.some((part) => part.type === "text" && part.text.includes(handle));
    const text = call?.args["text"];
    return call === undefined || !isSent ? [] : [typeof text === "string" ? text : ""];
  });
}

/** A shorter answer may stand in a longer message by chance. */
const leastChars = 16;

/** An answer that only repeats what was said becomes silence. */
export function unrepeated(outcome: Outcome, said: readonly string[]): Outcome {
  if (outcome.kind !== "reply" || said.length === 0) return outcome;
  const texts = outcome.parts.map((part) =>
    part.kind === "text" && part.buttons === undefined ? part.markdown : null,
  );
  if (texts.includes(null)) return outcome;
  const answer = plain(texts.join(" "));
  const before = [...said, said.join(" ")].map(plain);
  const isRepeat = before.some(
    (text) => text === answer || (answer.length >= leastChars && text.includes(answer)),
  );
  return isRepeat ? { kind: "silent", reason: "it was said with the message tool" } : outcome;
}

/** Words alone: people do not see markup and spaces as a difference. */
function plain(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[\s*_`~>#|[\](){}-]+/g, " ")
    .trim();
}
