// The control plane's methods for the caller's own conversations: send, read history, stop, and the threads
// beside the first one. The gateway answers a send once the message is durable; a repeat under the same key
// stores nothing.
import { z } from "zod";
import { chatTextChars } from "../wire.ts";

const key = z.string().min(1).max(128);
const limit = z.number().int().min(1).max(1000).default(100);

const chatMessage = z.object({
  seq: z.number().int(),
  /** Of an answer, or of the row of what a person said; `why` takes both. */
  id: z.string().optional(),
  /**
   * Id of an earlier message that this one replaces: an answer, whose buttons clients drop, or what a person
   * said, whose new words these are.
   */
  replaces: z.string().optional(),
  role: z.enum(["user", "assistant", "notice"]),
  text: z.string(),
  /** Sanitized HTML of `text`, for web pages. */
  html: z.string(),
  /** Rows of buttons. Pressing one sends `value` to the chat; one with `url` opens a link. */
  buttons: z
    .array(
      z.array(
        z.object({
          label: z.string(),
          value: z.string().optional(),
          url: z.string().optional(),
          style: z.enum(["primary", "success", "danger"]).optional(),
        }),
      ),
    )
    .optional(),
  /** Taken back by its writer before it was answered. */
  cancelled: z.boolean().optional(),
  /** Files that a person sent along. */
  files: z.array(z.object({ name: z.string(), bytes: z.number().int() })).optional(),
  atMs: z.number(),
});

/** A file that comes with a message, whole: one frame holds about 1.5 MB of them. */
const attached = z.object({
  name: z.string().min(1).max(255),
  mediaType: z.string().max(127).optional(),
  /** Somebody spoke it for the agent, so it is written down for the model. */
  voice: z.boolean().optional(),
  data: z.base64(),
});

const thread = z.string().max(128).optional();

/** One call of a tool, as people may see it. */
const call = z.object({
  id: z.string(),
  turn: z.string(),
  tool: z.string(),
  /** JSON text. */
  args: z.string(),
  state: z.enum(["running", "ok", "failed"]),
  /** What it gave back; empty while it runs. Long ones are cut. */
  output: z.string(),
  startedAtMs: z.number(),
  endedAtMs: z.number().nullable(),
});

export const chatMethods = {
  "chat.send": {
    scope: "write",
    sessions: "own",
    needs: "daemon",
    params: z
      .object({
        /** May be empty where files come along. */
        text: z.string().max(chatTextChars),
        thread: z.string().max(128).optional(),
        files: z.array(attached).max(10).optional(),
        idempotencyKey: key,
      })
      .refine(({ text, files = [] }) => text !== "" || files.length > 0, "there is neither text nor a file"),
    /** Sent once the message is durable. `duplicate` means the key was known, so nothing new was stored. */
    result: z.object({ id: z.string(), sessionKey: z.string(), duplicate: z.boolean() }),
  },
  "chat.history": {
    scope: "read",
    sessions: "own",
    needs: "daemon",
    /** The newest, of those before `beforeSeq` where it is given. */
    params: z.object({ thread, limit, beforeSeq: z.number().int().positive().optional() }),
    result: z.object({
      sessionKey: z.string(),
      messages: z.array(chatMessage),
      working: z.boolean(),
      hasEarlier: z.boolean(),
    }),
  },
  /**
   * Begins the conversation `to` with what was said in `thread` through the message `id`, or before it with
   * `before`. With `again` the person's message `id` is said there once more, with its files, in the words of
   * `text` where there are some.
   */
  "chat.fork": {
    scope: "write",
    sessions: "own",
    needs: "daemon",
    params: z
      .object({
        thread,
        id: z.string().min(1).max(1024),
        to: z.string().min(1).max(128),
        before: z.boolean().default(false),
        again: z.boolean().default(false),
        text: z.string().max(chatTextChars).optional(),
        /** Of the new conversation; as `sessions.patch` takes it. */
        model: z.string().min(1).max(256).optional(),
        idempotencyKey: key,
      })
      .refine(({ thread: from, to }) => from !== to, "a conversation cannot begin with itself"),
    /** `messages`: how many it begins with. */
    result: z.object({ thread: z.string(), sessionKey: z.string(), messages: z.number().int() }),
  },
  /**
   * What happens now: calls of tools, the newest last, and ids of messages that nobody has begun to answer.
   */
  "chat.steps": {
    scope: "read",
    sessions: "own",
    needs: "daemon",
    params: z.object({
      thread,
      limit,
      /** Only this call, while somebody looks at it. */
      call: z.string().max(256).optional(),
      /** What was asked and what came back are cut to so many characters. */
      chars: z.number().int().min(100).max(8_000).default(8_000),
    }),
    result: z.object({ working: z.boolean(), waiting: z.array(z.string()), calls: z.array(call) }),
  },
  /** Takes back a message that nobody has begun to answer. */
  "chat.cancel": {
    scope: "write",
    sessions: "own",
    needs: "daemon",
    params: z.object({ thread, id: z.string().min(1).max(1024) }),
    result: z.object({ id: z.string() }),
  },
  /** Gives a message that nobody has begun to answer other words. */
  "chat.edit": {
    scope: "write",
    sessions: "own",
    needs: "daemon",
    params: z.object({
      thread,
      id: z.string().min(1).max(1024),
      text: z.string().min(1).max(chatTextChars),
      idempotencyKey: key,
    }),
    result: z.object({ id: z.string() }),
  },
  /**
   * The caller's conversations; the first has no thread. Pinned ones and those that were used last, and the
   * conversation `thread` in any case.
   */
  "chat.threads": {
    scope: "read",
    sessions: "own",
    needs: "daemon",
    params: z.object({
      thread,
      /** Only those that have these words in their name, in their title, or in their newest message. */
      find: z.string().max(200).optional(),
      limit: z.number().int().min(1).max(1000).default(500),
    }),
    result: z.object({
      /** How many older ones were left out. */
      left: z.number().int(),
      threads: z.array(
        z.object({
          thread: z.string().nullable(),
          sessionKey: z.string(),
          /** As its owner called it. */
          name: z.string().nullable(),
          /** The beginning of its first message; null for the conversation without a thread. */
          title: z.string().nullable(),
          pinned: z.boolean(),
          /** The beginning of the newest message. */
          text: z.string(),
          /** Of the newest message; 0 where there is none. */
          seq: z.number().int(),
          atMs: z.number().nullable(),
          working: z.boolean(),
        }),
      ),
    }),
  },
  /** Names or pins a conversation, or takes it off the list until somebody writes there again. */
  "chat.thread": {
    scope: "write",
    sessions: "own",
    needs: "daemon",
    params: z.object({
      thread,
      name: z.string().max(200).nullable().optional(),
      pinned: z.boolean().optional(),
      listed: z.boolean().optional(),
    }),
    result: z.object({ thread: z.string().nullable(), name: z.string().nullable(), pinned: z.boolean() }),
  },
  /** From the answer on, the connection tells the events of this conversation in place of the one before. */
  "chat.follow": {
    scope: "read",
    sessions: "own",
    needs: "daemon",
    params: z.object({ thread, lastSeq: z.number().int().nonnegative().optional() }),
    /** As in the answer to `connect`. */
    result: z.object({ seq: z.number().int(), resync: z.boolean() }),
  },
  "chat.abort": {
    scope: "write",
    sessions: "own",
    needs: "daemon",
    params: z.object({ thread: z.string().max(128).optional() }),
    result: z.object({ stopped: z.boolean(), cancelled: z.number().int() }),
  },
} as const;

export type ChatMessage = z.infer<typeof chatMessage>;
