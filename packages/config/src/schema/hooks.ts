// hooks.*: calls of other programs, which wake an agent or begin a turn, and the hooks of this machine that
// hear what happens.
import { z } from "zod";
import { agentName, secretField } from "./fields.ts";
import { internalHooksSchema } from "./internal-hooks.ts";

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: "not a header's name" });

/** By what the caller of a webhook proves itself, and how much it may say. */
const webhookCaller = {
  token: secretField(
    "What the caller sends as a bearer token, or in X-Parley-Token or X-Gitlab-Token.",
  ).exactOptional(),
  secret: secretField("Key of the HMAC-SHA256 over the body that the caller signs with.").exactOptional(),
  signatureHeader: headerName
    .default("x-hub-signature-256")
    .describe("Where the signature stands: hex or base64, also after sha256=."),
  idHeader: headerName
    .exactOptional()
    .describe(
      "Names a delivery: a repeat is told once. Default: X-GitHub-Delivery, Webhook-Id, Idempotency-Key or X-Request-Id.",
    ),
  maxBytes: z.number().int().min(1).max(1_048_576).default(262_144).describe("Largest body, in bytes."),
};

const longSpan = z.string().regex(/^\d{1,5}(?:s|m|h|d)$/, { error: 'a time is written like "24h" or "7d"' });

const webhookName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, { error: 'the name of a webhook has a-z, 0-9, "_" and "-"' });

const template = z.string().min(1).max(20_000);

const mapping = z.strictObject({
  id: z.string().min(1).max(100).exactOptional().describe("Its name in logs. Default: its path."),
  match: z
    .strictObject({ path: webhookName.describe("It is called at /hooks/PATH.") })
    .describe("Which calls it is for."),
  action: z
    .enum(["wake", "agent"])
    .default("agent")
    .describe("agent: a turn in a session of its own. wake: an event for the agent's main conversation."),
  ...webhookCaller,
  agentId: agentName.exactOptional().describe('The agent. Default: the only one, or "main".'),
  name: template.exactOptional().describe("What the call is named. Default: the path."),
  messageTemplate: template
    .exactOptional()
    .describe("What an agent is asked; {{a.b}} stands for a field of the JSON body, {{body}} for all of it."),
  textTemplate: template.exactOptional().describe("The same, for the action wake."),
  sessionKey: template
    .exactOptional()
    .describe("The session that goes on with each call, with a prefix of allowedSessionKeyPrefixes."),
  wakeMode: z
    .enum(["now", "next-heartbeat"])
    .default("now")
    .describe("next-heartbeat: told with the next heartbeat, where the agent has any."),
  deliver: z.boolean().exactOptional().describe("The answer is sent. Default: where `to` is set."),
  channel: z.string().min(1).exactOptional().describe('Of `to`, where that is a bare id: "telegram".'),
  to: template
    .exactOptional()
    .describe("Where the answer is sent. Default, with deliver: the first owner's private chat."),
  model: z.string().min(1).exactOptional().describe("The model of its turns."),
  thinking: z.string().min(1).exactOptional().describe("The thinking level of its turns."),
  timeoutSeconds: z.number().int().min(1).max(86_400).exactOptional().describe("Longest time of a turn."),
});

export const hooksSchema = z
  .strictObject({
    enabled: z.boolean().default(true).describe("false: nothing at /hooks is answered."),
    token: secretField(
      "For /hooks/wake and /hooks/agent, which are there once it is set, and for every webhook that has no token and no secret of its own, as a bearer token.",
    ).exactOptional(),
    maxBodyBytes: z
      .number()
      .int()
      .min(1)
      .max(1_048_576)
      .default(262_144)
      .describe("Largest body of /hooks/wake and /hooks/agent, in bytes."),
    allowedAgentIds: z
      .array(agentName)
      .exactOptional()
      .describe("The agents that a call may name. Default: all of them."),
    allowedSessionKeyPrefixes: z
      .array(z.string().min(1))
      .default(["hook:"])
      .describe(
        'How a session that a call names must begin: "hook:", or "telegram:dm:" for sessions of people. Empty: a call may name none.',
      ),
    defaultSessionKey: z
      .string()
      .min(1)
      .exactOptional()
      .describe(
        'The session of calls that name none, such as "hook:inbox". Default: one without memory of the call before.',
      ),
    sessionRetention: longSpan
      .default("30d")
      .describe(
        "How long is kept what calls left whose session reads nothing of the call before. Sessions that go on are kept whole.",
      ),
    mappings: z
      .array(mapping)
      .max(200)
      .default([])
      .describe("What the calls of other programs become, by templates."),
    endpoints: z
      .record(
        webhookName,
        z.strictObject({
          agentId: agentName
            .exactOptional()
            .describe('The agent that is told. Default: the only one, or "main".'),
          ...webhookCaller,
          message: z
            .string()
            .min(1)
            .max(20_000)
            .exactOptional()
            .describe(
              "What the agent is told; {{a.b}} stands for a field of the JSON body, {{body}} for all of it. Default: all of it.",
            ),
          deliver: z
            .string()
            .min(1)
            .exactOptional()
            .describe(
              'Where the answer goes, as "parley lanes" names it: "telegram:default:dm:123". Default: nowhere, it is kept in the session.',
            ),
        }),
      )
      .default({})
      .describe(
        "Webhooks, at /hooks/NAME. Each has a session of its own; its callers have no rights of an owner.",
      ),
    internal: internalHooksSchema,
  })
  .prefault({})
  .describe("Hooks.");
