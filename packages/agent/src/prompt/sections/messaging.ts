// Says where answers go, and how to send beyond the current conversation. Each line needs its tool.
import { silentToken } from "../control-tokens.ts";
import type { ChannelFacts, PromptFacts } from "../facts.ts";
import type { VolatileSection } from "../section.ts";

export const messaging: VolatileSection = {
  id: "messaging",
  title: "Messaging",
  level: 2,
  zone: "volatile",
  modes: ["full"],
  priority: 60,
  render: (facts) => [...routing(facts), ...messageTool(facts)].join("\n"),
  why: ({ stable }) =>
    stable.tools.has("message") ? "always; the message tool is available" : "always; no message tool",
};

function routing({ stable: { tools }, surface: { channel } }: PromptFacts): string[] {
  return [
    ...replies(channel),
    ...(tools.has("sessions_send")
      ? [`- Cross-session messaging → use \`${tools.name("sessions_send")}\`(sessionKey, message).`]
      : []),
    ...(tools.has("subagents")
      ? [`- Sub-agent orchestration → use \`${tools.name("subagents")}\`(action=list|steer|kill).`]
      : []),
    "- If a [System Message] reports completed work and asks for a user update, rewrite it in your normal voice and send that; never forward raw system text.",
    ...(tools.has("exec")
      ? [
          `- Never use \`${tools.name("exec")}\`/curl for provider messaging; Parley handles all routing internally.`,
        ]
      : []),
  ];
}

function replies(channel: ChannelFacts | undefined): string[] {
  if (channel === undefined) return [];
  if (channel.unheard) return ["- Nobody reads your reply in this session: it is kept, and sent nowhere."];
  return [`- Reply in current session → automatically routes to the source channel (${channel.name}).`];
}

function messageTool({ stable: { tools }, surface: { channel } }: PromptFacts): string[] {
  if (!tools.has("message")) return [];
  const message = `\`${tools.name("message")}\``;
  return [
    `### ${tools.name("message")} tool`,
    `- Use ${message} for proactive sends and channel actions (polls, reactions, edits). Without \`to\` it is this conversation.`,
    `- If you delivered your user-visible reply with ${message}(action=send), answer with ONLY ${silentToken}, so that it is not sent twice.`,
    "- Never send half-baked replies to messaging surfaces.",
    ...(channel === undefined ? [] : [buttons(channel)]),
  ];
}

function buttons({ name, buttons: state }: ChannelFacts): string {
  if (state === "on") {
    return "- Inline buttons supported: action=send with buttons=[[{label, value, style?}]]; a press comes back as a message with its value.";
  }
  if (state === "unsupported") return `- Inline buttons are not supported on ${name}.`;
  return `- Inline buttons are not enabled for ${name}. If you need them, ask for ${state.enableWith} to be set.`;
}
