// bindings: which agent answers where. The most specific one wins; of equally specific ones the first.
import { z } from "zod";
import { agentName } from "./fields.ts";
import { dmScope } from "./session.ts";

const roleId = z.string().regex(/^[1-9]\d{0,19}$/, { error: "must be a numeric id in quotes" });

const peer = z.strictObject({
  kind: z
    .enum(["direct", "dm", "group", "channel"])
    .transform((kind) => (kind === "direct" ? "dm" : kind))
    .describe('"direct" (a person in private), "group" or "channel".'),
  id: z
    .string()
    .regex(/^(?:\*|-?[1-9]\d{0,19}|web-\S+)$/, { error: 'must be a numeric id in quotes, or "*"' })
    .describe(
      'The platform\'s id of the chat, or "*". Topics and threads inherit from the chat that they hang under.',
    ),
});

const binding = z.strictObject({
  agentId: agentName.describe("The agent that answers."),
  match: z
    .strictObject({
      channel: z.string().min(1).describe('"telegram", "discord" or "web".'),
      accountId: z
        .string()
        .min(1)
        .default("default")
        .describe('The account; "*" is every account. Default: default.'),
      peer: peer.exactOptional().describe("One chat, or every chat of a kind."),
      guildId: roleId.exactOptional().describe("A Discord server."),
      roles: z
        .array(roleId)
        .min(1)
        .exactOptional()
        .describe("The sender has one of these roles of the server."),
    })
    .describe("All that is said must hold."),
  session: z
    .strictObject({ dmScope: dmScope.exactOptional() })
    .exactOptional()
    .describe("In place of session.dmScope for what this binding matches."),
});

export const bindingsSchema = z
  .array(binding)
  .default([])
  .describe(
    "Which agent answers where, most specific first: a chat, the chat above a thread, every chat of a kind, a server with roles, a server, an account, a channel. Bindings choose an agent; they let nobody in.",
  );
