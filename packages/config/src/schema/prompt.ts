// Keys that only the prompt reads: what is told to the agent about heartbeats, silence, speech, reactions,
// buttons and who owns it, and the modules that may replace its workspace files.
import { z } from "zod";
import { agentName, secretField, timeZone } from "./fields.ts";
import { internalHooksSchema } from "./internal-hooks.ts";

const span = z
  .string()
  .regex(/^\d{1,6}(?:s|m|h|d)$/, { error: 'a time is written like "30m" or "1h"; "0m" is off' });

const hourOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, {
  error: 'a time of day is written like "08:00", up to "24:00"',
});

const heartbeatHours = z
  .strictObject({
    start: hourOfDay.describe("The first minute."),
    end: hourOfDay.describe(
      "The minute after the last. Before `start`: it goes over midnight; the same as `start`: never.",
    ),
    timezone: z
      .union([z.enum(["user", "local"]), timeZone])
      .default("user")
      .describe(
        '"user" (agents.defaults.userTimezone), "local" (the host\'s) or a name like "Europe/Berlin".',
      ),
  })
  .exactOptional()
  .describe("Heartbeats are sent within these hours only. Default: always.");

const heartbeatTarget = z
  .string()
  .regex(
    /^(?:owner|last|none|telegram:-?\d+(?::topic:\d+)?|discord:(?:user|channel|thread):\d+|[a-z]+:[^:]+:(?:dm|group|channel):.+)$/,
    {
      error:
        'a heartbeat\'s target is "owner", "last", "none" or a place like "telegram:123" or "discord:channel:456"',
    },
  );

const heartbeatFields = {
  every: span.describe('Time between heartbeats, like "30m"; "0m" is off.'),
  prompt: z.string().min(1).max(2000).describe("The message that a heartbeat sends to the agent."),
  includeSystemPromptSection: z
    .boolean()
    .describe("Whether the prompt explains heartbeats and holds HEARTBEAT.md."),
  target: heartbeatTarget.describe(
    'Who is told: "owner" (the first owner\'s private chat), "last" (the owner\'s private chat that was written in last), "none", or a place like "telegram:123".',
  ),
  model: z
    .string()
    .min(1)
    .max(200)
    .exactOptional()
    .describe("Model of heartbeats, by PROVIDER/MODEL or alias. Default: the session's."),
  lightContext: z
    .boolean()
    .describe("Of the workspace's files, only HEARTBEAT.md is in a heartbeat's prompt."),
  activeHours: heartbeatHours,
};

export const heartbeatSchema = z
  .strictObject({
    ...heartbeatFields,
    every: heartbeatFields.every.default("0m"),
    prompt: heartbeatFields.prompt.default(
      "Read HEARTBEAT.md if it exists and follow it. Do not repeat old tasks. If nothing needs attention, reply HEARTBEAT_OK.",
    ),
    includeSystemPromptSection: heartbeatFields.includeSystemPromptSection.default(true),
    target: heartbeatFields.target.default("owner"),
    lightContext: heartbeatFields.lightContext.default(false),
  })
  .prefault({})
  .describe("Heartbeats (docs/schedules.md).");

export const agentHeartbeatSchema = z
  .strictObject({
    ...heartbeatFields,
    every: heartbeatFields.every.exactOptional(),
    prompt: heartbeatFields.prompt.exactOptional(),
    includeSystemPromptSection: heartbeatFields.includeSystemPromptSection.exactOptional(),
    target: heartbeatFields.target.exactOptional(),
    lightContext: heartbeatFields.lightContext.exactOptional(),
  })
  .exactOptional()
  .describe("In place of what agents.defaults.heartbeat says, key by key.");

export const silentReplySchema = z
  .strictObject({
    group: z
      .enum(["deny", "allow"])
      .default("deny")
      .describe(
        'Whether a request in a group may end without a word: "deny" tells when the agent found none or chose silence, "allow" says nothing.',
      ),
  })
  .prefault({})
  .describe("Answers that came out empty or silent. In private they are asked for once more, and then told.");

export const ttsSchema = z
  .strictObject({
    auto: z
      .enum(["off", "always", "inbound", "tagged"])
      .default("off")
      .describe(
        'Replies that are spoken beside their words: none, all, those to voice messages ("inbound"), or those that the agent marks ("tagged"). /tts sets it for one conversation.',
      ),
    provider: z
      .enum(["openai", "elevenlabs", "cli"])
      .exactOptional()
      .describe("What speaks. Default: what providers has, else OpenAI with its key, else espeak-ng."),
    providers: z
      .strictObject({
        openai: z
          .strictObject({
            apiKey: secretField("Default: that of models.providers.openai.").exactOptional(),
            baseUrl: z
              .url({ protocol: /^https?$/, error: "must be an http or https URL" })
              .exactOptional()
              .describe(
                "Root of a server that speaks the same. Default: models.providers.openai, else OpenAI.",
              ),
            model: z.string().min(1).default("gpt-4o-mini-tts").describe("The model."),
            voice: z.string().min(1).default("alloy").describe("The voice."),
            instructions: z.string().max(4_000).exactOptional().describe("How it is to sound."),
            speed: z.number().min(0.25).max(4).exactOptional().describe("Faster or slower than 1."),
          })
          .exactOptional()
          .describe("OpenAI's /audio/speech, or a server that has it."),
        elevenlabs: z
          .strictObject({
            apiKey: secretField("Default: ELEVENLABS_API_KEY.").exactOptional(),
            baseUrl: z
              .url({ protocol: /^https?$/, error: "must be an http or https URL" })
              .default("https://api.elevenlabs.io")
              .describe("Root of the API."),
            voiceId: z.string().min(1).default("pMsXgVXv3BLzUgSXRplE").describe("The voice."),
            modelId: z.string().min(1).default("eleven_multilingual_v2").describe("The model."),
            languageCode: z.string().min(2).max(8).exactOptional().describe("As in en."),
          })
          .exactOptional()
          .describe("ElevenLabs."),
        cli: z
          .strictObject({
            command: z.string().min(1).default("espeak-ng").describe("The program."),
            args: z
              .array(z.string())
              .default(["--stdin", "--stdout"])
              .describe("Its arguments: it reads the text from its input and writes a WAV to its output."),
          })
          .exactOptional()
          .describe("A program of this machine: espeak-ng, piper."),
      })
      .prefault({})
      .describe("What can speak."),
    maxTextLength: z
      .number()
      .int()
      .min(100)
      .max(32_000)
      .default(4000)
      .describe("Longest text that is spoken, in characters."),
  })
  .prefault({})
  .describe("Spoken replies.");

export const reactionLevel = z
  .enum(["off", "minimal", "extensive"])
  .exactOptional()
  .describe('How freely the agent reacts to messages. Default: "minimal" where it has the message tool.');

export const inlineButtons = z
  .strictObject({
    inlineButtons: z
      .enum(["off", "dm", "group", "all", "allowlist"])
      .exactOptional()
      .describe(
        'Where the agent may offer buttons: nowhere, in private, in groups, everywhere, to those who may write. Default: "allowlist".',
      ),
  })
  .exactOptional()
  .describe("What the agent may use here.");

export const memorySchema = z
  .strictObject({
    citations: z
      .enum(["off", "on", "auto"])
      .default("auto")
      .describe(
        'Whether the agent names the source of a memory: never, always, or "auto" (in private only).',
      ),
  })
  .prefault({})
  .describe("Memory.");

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
