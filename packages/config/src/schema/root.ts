// The whole file. Every key is described here and nowhere else; the JSON Schema and the example follow from
// it.
import { z } from "zod";
import type { Secret } from "../secret.ts";
import { agentsSchema } from "./agents.ts";
import { approvalsSchema } from "./approvals.ts";
import { backupSchema } from "./backup.ts";
import { bindingsSchema } from "./bindings.ts";
import { browserSchema } from "./browser.ts";
import { canvasSchema } from "./canvas.ts";
import { ackReaction, ackReactionScope, channelsSchema } from "./channels.ts";
import { modelRef, personId, secretField } from "./fields.ts";
import { gatewaySchema } from "./gateway.ts";
import { limitsSchema } from "./limits.ts";
import { mcpSchema } from "./mcp.ts";
import { modelsSchema } from "./models.ts";
import { hooksSchema } from "./hooks.ts";
import { memorySchema } from "./prompt.ts";
import { ttsSchema } from "./tts.ts";
import { retentionSchema } from "./retention.ts";
import { cronSchema } from "./schedules.ts";
import { sessionSchema } from "./session.ts";
import { skillsSchema } from "./skills.ts";
import { storeSchema } from "./store.ts";
import { telemetrySchema } from "./telemetry.ts";
import { toolsSchema } from "./tools.ts";
import { updateSchema } from "./update.ts";

/** Grows when a key changes its meaning or goes away. */
export const configVersion = 1;

export const configSchema = z.strictObject({
  $schema: z.string().exactOptional().describe("For editors."),
  configVersion: z
    .number()
    .int()
    .min(1)
    .default(configVersion)
    .describe("The version that this file was written for."),
  gateway: gatewaySchema,
  models: modelsSchema,
  agents: agentsSchema,
  channels: channelsSchema,
  browser: browserSchema,
  canvas: canvasSchema,
  bindings: bindingsSchema,
  session: sessionSchema,
  messages: z
    .strictObject({
      queue: z
        .strictObject({
          mode: z
            .enum(["steer", "followup", "collect", "interrupt"])
            .default("steer")
            .describe(
              'A message that arrives while the agent works: "steer" joins the work, "followup" waits, "collect" waits and is merged, "interrupt" stops the work.',
            ),
          debounceMs: z
            .number()
            .int()
            .min(0)
            .max(60_000)
            .default(500)
            .describe("Quiet time before collected messages start a turn, in milliseconds."),
          cap: z
            .number()
            .int()
            .min(1)
            .max(1000)
            .default(20)
            .describe("Most messages that wait in one session."),
          drop: z
            .enum(["summarize", "old", "new"])
            .default("summarize")
            .describe(
              'Beyond the cap: "summarize" tells one line each, "old" drops the oldest, "new" the newest.',
            ),
        })
        .prefault({})
        .describe("What happens to messages while the agent works."),
      groupChat: z
        .strictObject({
          historyLimit: z
            .number()
            .int()
            .min(0)
            .max(200)
            .default(50)
            .describe(
              "Most messages of a group, not meant for the agent, that it is shown when it is called; 0 shows none.",
            ),
        })
        .prefault({})
        .describe("Talk in groups."),
      audio: z
        .strictObject({
          transcribe: modelRef
            .exactOptional()
            .describe(
              'Model that turns voice messages into words, "PROVIDER/MODEL", over the provider\'s /audio/transcriptions. Absent: they are only described.',
            ),
          cli: z
            .strictObject({
              command: z.string().min(1).describe("The program."),
              args: z
                .array(z.string())
                .default(["{{MediaPath}}"])
                .describe(
                  "Its arguments, with {{MediaPath}} for the recording as it came, or {{WavPath}} for 16 kHz WAV of an Ogg Opus one. It writes the words to its output.",
                ),
            })
            .exactOptional()
            .describe(
              "Program of this machine that turns voice messages into words: where transcribe is not set, or fails.",
            ),
        })
        .prefault({})
        .describe("Voice messages."),
      tts: ttsSchema,
      ackReaction: ackReaction
        .exactOptional()
        .describe("Emoji that the agent sets on a message when it begins to work on it. Absent: none."),
      ackReactionScope: ackReactionScope
        .default("group-mentions")
        .describe(
          'Which messages get it: "group-mentions" (those in groups that call the agent), "group-all" (all that it works on in groups), "direct" (in private), "all", "off".',
        ),
      removeAckAfterReply: z
        .boolean()
        .default(false)
        .describe("Whether that emoji is taken away when the work has ended."),
      answerMaxChars: z
        .number()
        .int()
        .min(2_000)
        .max(200_000)
        .default(30_000)
        .describe(
          "Longest answer that is sent as messages, in characters; a longer one is sent as a file, or cut with a word where files cannot go. The page shows up to 200000.",
        ),
    })
    .prefault({})
    .describe("Messages."),
  commands: z
    .strictObject({
      ownerAllowFrom: z
        .array(personId)
        .default([])
        .describe('The operators\' own ids, "<channel>:<id>": they may use owner commands.'),
      ownerDisplay: z
        .enum(["raw", "hash"])
        .default("raw")
        .describe(
          "How owners are shown to the model: their ids themselves, or codes that say nothing to others.",
        ),
      ownerDisplaySecret: secretField(
        'Key of these codes for ownerDisplay "hash". Default: one kept in the state folder.',
      ).exactOptional(),
      nativeSkills: z
        .union([z.boolean(), z.literal("auto")], { error: 'true, false or "auto"' })
        .default("auto")
        .describe(
          "Whether skills that people may call are commands of their own in the platforms' menus; /skill NAME works always.",
        ),
    })
    .prefault({})
    .describe("Chat commands."),
  limits: limitsSchema,
  tools: toolsSchema,
  mcp: mcpSchema,
  approvals: approvalsSchema,
  memory: memorySchema,
  cron: cronSchema,
  hooks: hooksSchema,
  skills: skillsSchema,
  media: z
    .strictObject({
      keepDays: z
        .number()
        .min(2)
        .max(3650)
        .default(30)
        .describe("Days that files from chats, and files sent to them, are kept."),
      maxMegabytes: z
        .number()
        .min(1)
        .default(2048)
        .describe("Size beyond which the oldest go earlier; those of the last two days stay."),
    })
    .prefault({})
    .describe("Files of conversations, in media/ of the state folder."),
  store: storeSchema,
  backup: backupSchema,
  retention: retentionSchema,
  telemetry: telemetrySchema,
  update: updateSchema,
  logging: z
    .strictObject({
      level: z
        .enum(["debug", "info", "warn", "error"])
        .default("info")
        .describe("Least severity that is logged."),
      file: z
        .strictObject({
          enabled: z
            .boolean()
            .default(true)
            .describe("Whether the log is also written to logs/parley.log in the state folder."),
          maxMegabytes: z
            .number()
            .min(0.1)
            .max(1024)
            .default(10)
            .describe("Size at which a new file is begun."),
          keep: z
            .number()
            .int()
            .min(0)
            .max(100)
            .default(5)
            .describe("Older files that stay: parley.1.log is the newest of them."),
        })
        .prefault({})
        .describe("The log on disk."),
    })
    .prefault({})
    .describe("Logs."),
});

/**
 * The file as the schema leaves it: defaults filled, accounts not yet merged. Every type of the config is
 * taken from it.
 */
export type ConfigFile = DeepReadonly<z.output<typeof configSchema>>;

type DeepReadonly<Value> = Value extends Secret
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly DeepReadonly<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
      : Value;
