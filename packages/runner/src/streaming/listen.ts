// Follows the loop's events: passes the visible text on as it grows, and remembers how each whole text was
// parsed (I8).
import type { LoopEnd, LoopEvent, ReplyParser } from "@parley/agent";
import type { LiveAnswer } from "./live-answer.ts";
import type { ToolProgress } from "./progress.ts";
import type { AnswerReader } from "./read-answer.ts";

/** The parser reads this much at once, because a model or proxy may send more in one piece. */
const pieceChars = 32_768;

/** Follows the loop to its end and reports the visible text as it grows. */
export async function listen(
  events: AsyncIterable<LoopEvent>,
  reader: Pick<AnswerReader, "parser" | "thoughts" | "heard">,
  answer: Pick<LiveAnswer, "show" | "showThoughts">,
  showCall: (call: ToolProgress) => void = () => {},
): Promise<LoopEnd> {
  /**
   * Created with the first word, because only then is it known which model answers and how it was prompted.
   */
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
    } else if (event.type === "toolStart") {
      showCall({ call: event.callId, tool: event.name, state: "running" });
    } else if (event.type === "toolEnd") {
      showCall({ call: event.callId, tool: event.name, state: event.result.isError ? "failed" : "ok" });
    } else if (event.type === "thinking") {
      const shown = thinking?.push(event.delta).visible ?? "";
      // Thoughts must not cover an answer that people already see.
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
      const outcome = parser.end();
      reader.heard(text, { outcome, thinking: parser.thinking(), voice: parser.asksVoice() });
    }
  }
  throw new Error("the loop ended without saying so");
}

/** Yields to everything else that is due. */
function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
