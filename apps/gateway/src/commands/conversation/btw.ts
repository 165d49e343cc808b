// Implements /btw: a question beside the conversation. The session's model answers it from what was said so
// far, while a turn runs or not, and nothing of it enters the transcript.
import type { PastLaneCommand } from "../chat-command.ts";

export const btw: PastLaneCommand = {
  name: "btw",
  aliases: { side: "" },
  summary: "ask me something beside the conversation; I forget it again",
  place: "past-lane",
  run: async (call, { sideQuestions }) =>
    call.args === "" ? "Usage: /btw your question." : sideQuestions.ask(call),
};
