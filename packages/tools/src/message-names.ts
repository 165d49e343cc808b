// Reads calls of `message` that are written as other gateways of this field name things, which models know
// from there: a call that means the same is done, and its words are not dropped unread.
import type { JsonObject, Json } from "@parley/protocol";

type Fields = { readonly [key: string]: Json | undefined };

/** Other names for a field. A field's own name counts before them. */
const fields: { readonly [own: string]: readonly string[] } = {
  to: ["target"],
  text: ["message", "content", "caption"],
  media: ["mediaUrls", "mediaUrl", "filePath", "path"],
  voice: ["asVoice"],
  title: ["threadName"],
};

const actions: { readonly [other: string]: string } = {
  sendAttachment: "send",
  "thread-create": "thread",
};

/** The form that the tool checks. */
export function knownMessage(sent: JsonObject): JsonObject {
  const asked: Fields = sent;
  const read: { [key: string]: Json | undefined } = { ...sent };
  for (const [own, others] of Object.entries(fields))
    read[own] ??= others.map((name) => asked[name]).find((value) => value !== undefined && value !== null);
  if (typeof read["media"] === "string") read["media"] = [read["media"]];
  const { action, channel, replyTo, remove, pollQuestion, pollOption } = asked;
  if (typeof action === "string" && Object.hasOwn(actions, action)) read["action"] = actions[action];
  if (typeof read["to"] === "string" && typeof channel === "string")
    read["to"] = onChannel(read["to"], channel);
  if (typeof replyTo === "string" && read["action"] === "send") {
    read["action"] = "reply";
    read["messageId"] ??= replyTo;
  }
  if (remove === true && read["action"] === "react") read["emoji"] = "";
  if (pollQuestion !== undefined)
    read["poll"] ??= present({
      question: pollQuestion,
      options: typeof pollOption === "string" ? [pollOption] : pollOption,
      multiple: asked["pollMulti"],
      hours: asked["pollDurationHours"],
    });
  return present(read);
}

/** "channel:1" of discord is "discord:channel:1". A key of a session names its channel itself. */
function onChannel(to: string, channel: string): string {
  return to.startsWith(`${channel}:`) || to.startsWith("agent:") ? to : `${channel}:${to}`;
}

function present(all: Fields): JsonObject {
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
}
