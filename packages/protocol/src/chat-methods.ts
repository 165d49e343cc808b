// The control plane's methods of a conversation on the page: say, read back, stop. A message is durable once it is answered, and the same key
// stores it once.
import { z } from "zod";
import { chatTextChars } from "./wire.ts";

const key = z.string().min(1).max(128);
const limit = z.number().int().min(1).max(1000).default(100);

const chatMessage = z.object({
  seq: z.number().int(),
  /** Of an answer. */
  id: z.string().optional(),
  /** The id of the answer that this one takes the place of: its buttons count no longer. */
  replaces: z.string().optional(),
  role: z.enum(["user", "assistant", "notice"]),
  text: z.string(),
  /** Sanitised HTML of `text`, for pages. */
  html: z.string(),
  /** Rows of them. A press says `value` in the chat, a link opens `url`. */
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
  atMs: z.number(),
});

export const chatMethods = {
  "chat.send": {
    scope: "write",
    sessions: "own",
    params: z.object({
      text: z.string().min(1).max(chatTextChars),
      thread: z.string().max(128).optional(),
      idempotencyKey: key,
    }),
    /** Durable once answered. `duplicate`: the key was known, nothing new was stored. */
    result: z.object({ id: z.string(), sessionKey: z.string(), duplicate: z.boolean() }),
  },
  "chat.history": {
    scope: "read",
    sessions: "own",
    params: z.object({ thread: z.string().max(128).optional(), limit }),
    result: z.object({ sessionKey: z.string(), messages: z.array(chatMessage), working: z.boolean() }),
  },
  "chat.abort": {
    scope: "write",
    sessions: "own",
    params: z.object({ thread: z.string().max(128).optional() }),
    result: z.object({ stopped: z.boolean(), cancelled: z.number().int() }),
  },
} as const;

export type ChatMessage = z.infer<typeof chatMessage>;
