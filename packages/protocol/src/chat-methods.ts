// The control plane's methods for one web conversation: send, read history, stop. The gateway answers a send
// once the message is durable; a repeat under the same key stores nothing.
import { z } from "zod";
import { chatTextChars } from "./wire.ts";

const key = z.string().min(1).max(128);
const limit = z.number().int().min(1).max(1000).default(100);

const chatMessage = z.object({
  seq: z.number().int(),
  /** Id of an answer; absent on what a person said. */
  id: z.string().optional(),
  /** Id of an earlier answer that this one replaces; clients drop the buttons of the replaced one. */
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
  atMs: z.number(),
});

export const chatMethods = {
  "chat.send": {
    scope: "write",
    sessions: "own",
    needs: "daemon",
    params: z.object({
      text: z.string().min(1).max(chatTextChars),
      thread: z.string().max(128).optional(),
      idempotencyKey: key,
    }),
    /** Sent once the message is durable. `duplicate` means the key was known, so nothing new was stored. */
    result: z.object({ id: z.string(), sessionKey: z.string(), duplicate: z.boolean() }),
  },
  "chat.history": {
    scope: "read",
    sessions: "own",
    needs: "daemon",
    params: z.object({ thread: z.string().max(128).optional(), limit }),
    result: z.object({ sessionKey: z.string(), messages: z.array(chatMessage), working: z.boolean() }),
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
