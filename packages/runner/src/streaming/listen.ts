// Listens to the loop: hands on the visible text as it grows, and remembers what each whole text says (I8).
import type { LoopEnd, LoopEvent, ReplyParser } from "@parley/agent";
import type { LiveAnswer } from "./live-answer.ts";
import type { AnswerReader } from "./read-answer.ts";

/** Read at once; a model, or what stands before it, may hand over more in one piece. */
const pieceChars = 32_768;

/** Follows the loop to its end, telling the visible text as it grows. */
export async function listen(
  events: AsyncIterable<LoopEvent>,
  reader: Pick<AnswerReader, "parser" | "thoughts" | "heard">,
  answer: Pick<LiveAnswer, "show" | "showThoughts">,
): Promise<LoopEnd> {
  /** Made with the first word: only then it is known which model answers, and how it was told to. */
  let parser: ReplyParser | null = null;
  let thinking = reader.thoughts?.();
  let visible = "";
  let text = "";
  for await (const event of events) {
    if (event.type === "end") return event;
    if (event.type === "modelStart" || event.type === "discard") {
      parser = null;
      thinking = reader.thoughts?.();
      visible = "";
      text = "";
    } else if (event.type === "thinking") {
      const shown = thinking?.push(event.delta).visible ?? "";
      // Once the answer has begun to be seen it is not covered again.
      if (visible === "" && shown !== "") answer.showThoughts(shown);
    } else if (event.type === "text") {
      parser ??= reader.parser();
      text += event.delta;
      for (let at = 0; at < event.delta.length; at += pieceChars) {
        if (at > 0) await breath();
        visible = parser.push(event.delta.slice(at, at + pieceChars)).visible;
      }
      if (visible !== "") answer.show(visible, parser.replyTo());
    } else if (event.type === "modelEnd" && parser !== null) {
      reader.heard(text, { outcome: parser.end(), thinking: parser.thinking() });
    }
  }
  throw new Error("the loop ended without saying so");
}

/** Lets everything else that is due have its turn. */
function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
