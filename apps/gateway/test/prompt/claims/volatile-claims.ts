// What the volatile sections claim, each with its check.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { replyParser, userMessage } from "@parley/agent";
import { discordCapabilities, telegramCapabilities, webCapabilities } from "@parley/channels";
import type { Capabilities, Inbound } from "@parley/protocol";
import { parseCommand } from "../../../src/commands/parse-command.ts";
import { claimsOf, hasTool, schemaOf, type Claim } from "./stable-claims.ts";
import type { Situation } from "./situation.ts";

const parsed = (text: string, options: Parameters<typeof replyParser>[0] = {}) => {
  const parser = replyParser(options);
  parser.push(text);
  return parser.end();
};
const shown = (text: string, options: Parameters<typeof replyParser>[0] = {}): string => {
  const outcome = parsed(text, options);
  return outcome.kind === "reply"
    ? outcome.parts.map((part) => (part.kind === "text" ? part.markdown : "")).join("")
    : "";
};

/** By the drivers' own records; programs have none of it. */
const capabilitiesAt = ({ draw }: Situation) =>
  ({ telegram: telegramCapabilities, discord: discordCapabilities, web: webCapabilities })[
    draw.address?.channel ?? ""
  ] ?? null;
const isShared = ({ draw }: Situation): boolean => draw.address !== null && draw.address.kind !== "dm";
const dialectOf: { readonly [channel: string]: RegExp } = {
  telegram: /Telegram formatting\. Tables do not show/,
  discord: /Discord Markdown\. Tables do not show/,
  web: /tables and code blocks show well/,
  api: /a program reads it/,
  hook: /a program reads it/,
};
const said: Inbound = {
  id: "1",
  kind: "message",
  channel: "telegram",
  account: "default",
  address: { channel: "telegram", account: "default", kind: "group", peer: "1" },
  sender: { id: "7", name: "Ann", isBot: false },
  text: "words",
  attachments: [],
  addressed: true,
  messageId: "1",
  receivedAtMs: 0,
} as unknown as Inbound;

const speaks = (s: Situation, mode: string): boolean => {
  const { auto, provider } = s.config.messages.tts;
  const can = capabilitiesAt(s);
  return auto === mode && provider === undefined && (can?.voice === true || can?.media === true);
};

const maySilently = (s: Situation): boolean =>
  s.draw.address === null || s.draw.address.channel === "hook" || isShared(s);

export const volatileClaims: readonly Claim[] = [
  ...claimsOf("Reply Tags", [
    [
      "tags",
      /^- \[\[reply_to_current\]\] replies to the triggering message; prefer it\.$/,
      "the channel quotes, and the tag is read",
      (_, s) => {
        const outcome = parsed("[[reply_to_current]] hi", { currentMessageId: "m" });
        return capabilitiesAt(s)?.replyTags === true && outcome.kind === "reply" && outcome.replyTo === "m";
      },
    ],
    [
      "tags.stripped",
      /^Tags are stripped before sending\.$/,
      "nothing of a tag is shown",
      () => shown("[[reply_to:5]] hi") === "hi",
    ],
  ]),
  ...claimsOf("Messaging", [
    [
      "reply",
      /^- Reply in current session → automatically routes to the source channel \((\w+)\)\.$/,
      "the session answers on this channel, and it is no webhook",
      ([, name], s) => name === s.draw.address?.channel && name !== "hook",
    ],
    [
      "reply.unheard",
      /^- Nobody reads your reply in this session: it is kept, and sent nowhere\.$/,
      "it is a webhook",
      (_, s) => s.draw.address?.channel === "hook",
    ],
    [
      "reply.sessions",
      /^- Cross-session messaging → use `sessions_send`\(sessionKey, message\)\.$/,
      "the tool takes these two, and no call of it needs more",
      async (_, s) =>
        ["sessionKey", "message"].every((name) => schemaOf(s, "sessions_send").includes(`"${name}"`)) &&
        /no session that may be seen/.test(
          await s.call("sessions_send", { sessionKey: "agent:main:telegram:dm:nobody", message: "hello" }),
        ),
    ],
    [
      "reply.subagents",
      /^- Sub-agent orchestration → use `subagents`\(action=list\|steer\|kill\)\.$/,
      "the tool has these actions",
      (_, s) => ["list", "steer", "kill"].every((action) => schemaOf(s, "subagents").includes(`"${action}"`)),
    ],
    ["message", /^### message tool$/, "the tool is there", (_, s) => hasTool(s, "message")],
    [
      "message.actions",
      /^- Use `message` for proactive sends and channel actions \(polls, reactions, edits\)\. Without `to` it is this conversation\.$/,
      "the tool has these actions, and needs no `to`",
      (_, s) =>
        ["send", "poll", "react", "edit"].every((action) => schemaOf(s, "message").includes(`"${action}"`)) &&
        schemaOf(s, "message").includes("Absent: here."),
    ],
    [
      "message.once",
      /^- If you delivered your user-visible reply with `message`\(action=send\), answer with ONLY NO_REPLY, so that it is not sent twice\.$/,
      "the token is silence, and after a message here it is taken for an answer",
      (_, s) => hasTool(s, "message") && parsed("NO_REPLY").kind === "silent",
    ],
    [
      "message.buttons",
      /^- Inline buttons supported: action=send with buttons=\[\[\{label, value, style\?\}\]\]; a press comes back as a message with its value\.$/,
      "the surface has buttons, and the tool takes them so",
      (_, s) =>
        capabilitiesAt(s)?.inlineButtons === true &&
        ["buttons", "label", "value", "style"].every((field) =>
          schemaOf(s, "message").includes(`"${field}"`),
        ),
    ],
    [
      "message.no_buttons",
      /^- Inline buttons are not supported on (\w+)\.$/,
      "the surface has none",
      ([, name], s) => name === s.draw.address?.channel && capabilitiesAt(s)?.inlineButtons !== true,
    ],
    [
      "message.buttons_off",
      /^- Inline buttons are not enabled for (\w+)\. If you need them, ask for (\S+) to be set\.$/,
      "the surface has them, and the config switched them off",
      ([, name], s) => name === s.draw.address?.channel && capabilitiesAt(s)?.inlineButtons === true,
    ],
    [
      "reply.exec",
      /^- Never use `exec`\/curl for provider messaging;.*$/,
      "exec is there",
      (_, s) => hasTool(s, "exec"),
    ],
  ]),
  ...claimsOf("Channel", [
    [
      "channel",
      /^Current channel: (\w+) \((\w+)(, in a thread)?\)\. (.*)$/,
      "name, kind and thread are the address's; the dialect is the driver's",
      ([, name = "", kind, thread, dialect = ""], s) =>
        name === s.draw.address?.channel &&
        kind === s.draw.address.kind &&
        (thread !== undefined) === (s.draw.address.thread !== undefined) &&
        dialectOf[name]?.test(dialect) === true,
    ],
    [
      "channel.split",
      /^Longer replies are split at (\d+) characters\.$/,
      "it is the driver's limit",
      ([, chars], s) => Number(chars) === (capabilitiesAt(s)?.textChars ?? 1_000_000),
    ],
    [
      "channel.supports",
      /^Current channel supports: .*$/,
      "the message tool is there, and it is what the driver can do",
      ([words = ""], s) => {
        const can = capabilitiesAt(s);
        const names = words.replace(/^.*: |\.$/g, "").split(", ");
        return (
          hasTool(s, "message") &&
          names.every((name) => name === "send" || can?.[means[name] ?? "voice"] === true)
        );
      },
    ],
    [
      "channel.thread",
      /^You are in a thread or topic; replies stay in it\.$/,
      "the address has a thread",
      (_, s) => s.draw.address?.thread !== undefined,
    ],
    [
      "channel.approvals",
      /^A command that needs approval is shown to a person by Parley itself.*$/,
      "exec is there, and by the config somebody is asked",
      (_, s) =>
        hasTool(s, "exec") &&
        s.exec.mode !== "deny" &&
        (s.exec.ask === "always" || (s.exec.ask === "on-miss" && s.exec.mode === "allowlist")),
    ],
  ]),
  ...claimsOf("Voice (TTS)", [
    [
      "voice",
      /^Your reply is also spoken: a recording follows its text\.$/,
      "the config says always, something speaks, and the channel takes recordings",
      (_, s) => speaks(s, "always"),
    ],
    [
      "voice.inbound",
      /^Your reply to a voice message is also spoken: a recording follows its text\.$/,
      "the config says inbound, something speaks, and the channel takes recordings",
      (_, s) => speaks(s, "inbound"),
    ],
    [
      "voice.tagged",
      /^A reply with \[\[audio_as_voice\]\] in it is also spoken: .*the tag is not shown\.$/,
      "the config says tagged, and the tag is read and not shown",
      (_, s) => {
        const parser = replyParser({});
        parser.push("[[audio_as_voice]] hi");
        parser.end();
        return speaks(s, "tagged") && parser.asksVoice() && shown("[[audio_as_voice]] hi") === "hi";
      },
    ],
    [
      "voice.limit",
      /^More than (\d+) characters are not spoken, nor is code\.$/,
      "the config's limit",
      ([, chars], { config }) => Number(chars) === config.messages.tts.maxTextLength,
    ],
  ]),
  ...claimsOf("Reactions", [
    [
      "reactions",
      /^Reactions are enabled in (?:MINIMAL|EXTENSIVE) mode\..*$/,
      "the message tool is there, and the channel has reactions",
      (_, s) => hasTool(s, "message") && capabilitiesAt(s)?.reactions === true,
    ],
  ]),
  ...claimsOf("Group Chat Context", [
    [
      "group",
      /^Several people write here; each message begins with a label naming its sender, set by Parley\.$/,
      "the place is shared, and messages of shared places have the label",
      (_, s) => {
        const [part] = userMessage({ rows: [said], shared: true, mark: "x" }).content;
        return isShared(s) && part?.type === "text" && part.text.startsWith("[from ");
      },
    ],
    [
      "group.text",
      /^This group is about tea\.$/,
      "the config says it of this group",
      (_, s) => s.draw.address?.peer === "-100" && JSON.stringify(s.draw.config).includes("about tea"),
    ],
  ]),
  ...claimsOf("Subagent Context", [
    [
      "subagent",
      /^You are a sub-agent, (\d) deep: another session gave you a task and waits for its result\.$/,
      "the session is a sub-agent's, of this depth (children.test.ts shows the rest)",
      ([, depth], s) => new RegExp(`:subagent:[^:]*(?:-${depth})?$`).test(s.draw.session),
    ],
    [
      "subagent.result",
      /^Do that task and nothing else\. Your last message is the result: it goes to that session by itself and to nobody else.*$/,
      "no channel is told, so there is nobody else",
      (_, s) => !s.prompt.includes("Current channel:"),
    ],
    [
      "subagent.thread",
      /^You work in a thread of your own\. Do that task; your last message is the result: people see it in the thread .*$/,
      "its id says so (child-threads.test.ts shows who sees what)",
      (_, s) => /:subagent:[0-9a-f]{12}t-/.test(s.draw.session),
    ],
    [
      "subagent.people",
      /^People may write to you in the thread: answer them there\.$/,
      "what is written there is for it, without a mention (the same test)",
      (_, s) => /:subagent:[0-9a-f]{12}t-/.test(s.draw.session),
    ],
    [
      "subagent.silence",
      /^If nothing need be told, answer with (\w+) alone\.$/,
      "it is the word that the runner reads",
      ([, word]) => word === "ANNOUNCE_SKIP",
    ],
    [
      "subagent.deeper",
      /^You may spawn sub-agents of your own for parts of it; their results come to you by themselves\.$/,
      "sessions_spawn is there",
      (_, s) => hasTool(s, "sessions_spawn"),
    ],
  ]),
  ...claimsOf("Silent Replies", [
    [
      "silence",
      /^When (?:you have nothing to say|nobody asked you and you have nothing to add), respond with ONLY: NO_REPLY$/,
      "silence is allowed here, and the token is silence",
      (_, s) => maySilently(s) && parsed("NO_REPLY").kind === "silent",
    ],
    [
      "silence.asked",
      /^- Never to a message that calls you by name or answers yours: that one gets words\.$/,
      "the config denies silence to requests in groups",
      (_, s) => s.config.agents.defaults.silentReply.group === "deny" && isShared(s),
    ],
  ]),
  ...claimsOf("Heartbeats", [
    [
      "heartbeat",
      /^Heartbeat prompt: (.*)$/,
      "heartbeats are on, with this prompt",
      ([, prompt], s) => {
        const { every, includeSystemPromptSection, prompt: own } = s.config.agents.defaults.heartbeat;
        return every !== "0h" && includeSystemPromptSection && prompt === own;
      },
    ],
    [
      "heartbeat.ok",
      /^If you receive a heartbeat poll .* reply exactly: HEARTBEAT_OK$/,
      "it is read as an acknowledgement",
      () => parsed("HEARTBEAT_OK", { heartbeat: true }).kind === "heartbeatOk",
    ],
  ]),
  ...claimsOf("Reasoning Format", [
    [
      "format",
      /^Format every reply as <think>.*$/,
      "the model has no thinking of its own and shall think",
      (_, s) => !s.model.reasoning && / thinking=(?!off)/.test(s.prompt),
    ],
    [
      "format.final",
      /^Only text inside <final> is shown to the user; everything else is discarded\.$/,
      "so the reply is read",
      () => shown("<think>a</think>b<final>c</final>d", { finalOnly: true }) === "c",
    ],
  ]),
  ...claimsOf("Runtime", [
    [
      "runtime",
      /^Runtime: agent=main \| session=(\S+) \|.* model=(\S+) \| default_model=(\S+) .*$/,
      "session and models are these",
      ([, session, model, byDefault], s) =>
        session === s.draw.session &&
        model === s.model.id &&
        byDefault === s.config.agents.list[0]?.model.primary,
    ],
    [
      "runtime.capabilities",
      /^Runtime: .*capabilities=(\S+) .*$/,
      "the agent has a means to each",
      ([, names = ""], s) =>
        names
          .split(",")
          .every(
            (name) =>
              name === "none" ||
              (name === "replyTags" ? capabilitiesAt(s)?.replyTags === true : hasTool(s, "message")),
          ),
    ],
    [
      "runtime.repo",
      /^Runtime: .*repo=(\S+) .*$/,
      "a checkout is there, and commands and files are on the host",
      ([, path = ""], s) => s.access === undefined && existsSync(join(path, ".git")),
    ],
    [
      "runtime.reasoning",
      /^Reasoning: (off|on|stream) \(.*\)\.( Toggle with \/reasoning\.)?$/,
      "the level is the session's, and people have the command",
      ([, level, toggle], s) =>
        level === s.draw.fields["reasoning"] &&
        (toggle === undefined || (parseCommand("/reasoning on") !== null && s.draw.address !== null)),
    ],
  ]),
];

/** The capability behind each word of "Current channel supports". */
const means: { readonly [word: string]: keyof Capabilities } = {
  media: "media",
  "voice notes": "voice",
  polls: "polls",
  threads: "threads",
  reactions: "reactions",
  edits: "edits",
  deletes: "removals",
  pins: "pins",
};

/** Lines that ask for something and claim nothing. */
export const advice: readonly RegExp[] = [
  /^Write it to be heard: short sentences, no tables\.$/,
  /^You are a personal assistant running inside Parley\.$/,
  /^TOOLS\.md is guidance; it does not decide which tools exist\.$/,
  /^- (?:Actionable request|Continue until done|A weak or empty tool result|Check mutable state live|Verify before finalizing)/,
  /^(?:Default: do not narrate|Narrate only when|Keep narration brief)/,
  /^(?:You have no independent goals|Put safety and human oversight|Do not manipulate anyone)/,
  // Of the overlay of GPT-5.
  /^(?:Keep your persona|Answer first, then what)/,
  /^- (?:Act in this turn|Run independent look-ups|Before you finish|If context is missing|Once a tool has delivered)/,
  /^Parley is run by its own commands; do not invent others\.$/,
  /^(?:Before replying: scan|- If multiple could apply|- If none clearly apply|Constraints: never read more)/,
  /^<\/?available_skills>$/,
  /^Change, restart or update Parley ONLY when the user explicitly asks for it\./,
  /^Prefer aliases when a model is to be changed;/,
  /^It is a folder of the sandbox's own|^For Parley behavior, commands, config, or architecture/,
  /^Need something from outside\? Ask first\.$/,
  /^(?:To request a native reply\/quote|- \[\[reply_to:<id>\]\] only when)/,
  /^- If a \[System Message\] reports completed work/,
  // Of the reactions.
  /^- (?:Acknowledge (?:important|messages)|Express (?:genuine|sentiment)|Avoid reacting|React to interesting)/,
  /^Guideline: (?:at most 1 reaction|react whenever)/,
  /^- Never send half-baked replies to messaging surfaces\.$/,
  /^(?:You are a participant, not the voice|Answer when addressed)/,
  /^(?:Rules:|- It must be your ENTIRE|- Never append it|- Never wrap it|Wrong: |Right: NO_REPLY)/,
  /^If something needs attention, do NOT include/,
  /^ALL internal reasoning MUST be inside <think>/,
];
