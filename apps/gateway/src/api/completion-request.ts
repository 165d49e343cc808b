// Reads a request of the OpenAI chat API: its agent, its user, its text. The gateway keeps the conversation,
// so it takes only the new messages of a request that names its user; a request without a user brings its
// whole conversation.
import { Fault } from "@parley/protocol";
import { z } from "zod";

const content = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  z.null(),
]);

/** Model settings such as temperature belong to the agent, so they are ignored. */
export const completionRequest = z.looseObject({
  model: z.string().max(256).optional(),
  messages: z
    .array(
      z.looseObject({
        role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
        content: content.optional(),
      }),
    )
    .min(1)
    .max(2_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  user: z.string().max(256).nullish(),
  n: z.number().nullish(),
  tools: z.array(z.unknown()).nullish(),
  functions: z.array(z.unknown()).nullish(),
});
export type CompletionRequest = z.infer<typeof completionRequest>;

/** Returns the agent that a model's name means. Throws Fault("missing") that lists the agents. */
export function agentNamed(model: string | undefined, agents: readonly string[]): string {
  const fallback = agents.length === 1 ? agents[0] : agents.find((id) => id === "main");
  const name = (model ?? "parley").replace(/^parley\//, "");
  const agent =
    agents.find((id) => id === name) ?? (name === "parley" || name === "default" ? fallback : undefined);
  if (agent !== undefined) return agent;
  const known = [...(fallback === undefined ? [] : ["parley"]), ...agents].map((id) => `"${id}"`).join(", ");
  throw new Fault("missing", `there is no model "${model ?? ""}": a model is an agent here, one of ${known}`);
}

/**
 * Throws Fault: "unsupported" for features that no agent offers, "invalid" for a request without a message.
 */
export function saidIn(request: CompletionRequest, isKept: boolean): string {
  if ((request.n ?? 1) !== 1) throw new Fault("unsupported", "n must be 1: an agent gives one answer");
  if ((request.tools ?? request.functions ?? []).length > 0) {
    throw new Fault(
      "unsupported",
      "tools of the client are not called: the agent has tools of its own. Leave tools out",
    );
  }
  const messages = request.messages.map(({ role, content: said }) => ({ role, text: textOf(said ?? null) }));
  if (messages.at(-1)?.role !== "user")
    throw new Fault("invalid", 'the last message must be of the role "user"');
  const answered = messages.findLastIndex(({ role }) => role === "assistant");
  const now = messages
    .slice(answered + 1)
    .filter(({ role }) => role === "user")
    .map(({ text }) => text)
    .join("\n\n");
  if (now.trim() === "") throw new Fault("invalid", "the last message says nothing");
  const isBeginning = answered < 0;
  const rules = messages.filter(
    ({ role, text }) => (role === "system" || role === "developer") && text.trim() !== "",
  );
  const before = isKept
    ? []
    : messages.slice(0, answered + 1).filter(({ role }) => role === "user" || role === "assistant");
  const blocks = [
    ...(rules.length === 0 || (isKept && !isBeginning)
      ? []
      : [`[What the application asks of you]\n${rules.map(({ text }) => text).join("\n\n")}`]),
    ...(before.length === 0
      ? []
      : [`[The conversation so far]\n${before.map(({ role, text }) => `${role}: ${text}`).join("\n\n")}`]),
  ];
  return blocks.length === 0 ? now : [...blocks, `[The message now]\n${now}`].join("\n\n");
}

function textOf(said: z.infer<typeof content>): string {
  if (said === null) return "";
  if (typeof said === "string") return said;
  const other = said.find(({ type }) => type !== "text");
  if (other !== undefined)
    throw new Fault("unsupported", `a part of the type "${other.type}" cannot be read: send text`);
  return said.map(({ text = "" }) => text).join("\n");
}
