// A channel that sends nothing, for answers to programs. A program polls for its answer and gets what the
// outbox holds, so a delivery has arrived as soon as it is recorded. Text stays the agent's Markdown.
import type { Channel } from "@parley/channels";
import { accountKey, Fault, type Capabilities } from "@parley/protocol";
import { programAccount } from "./program-address.ts";

const capabilities: Capabilities = {
  dialect: "markdown",
  textChars: 1_000_000,
  captionChars: 1_000_000,
  uploadBytes: 0,
  downloadBytes: 0,
  media: false,
  polls: false,
  voice: false,
  silent: false,
  threads: false,
  pins: false,
  typing: false,
  reactions: false,
  edits: false,
  removals: false,
  replyTags: false,
  inlineButtons: false,
  menus: false,
  forms: false,
  idempotentSends: true,
};

function sink(name: "api" | "hook"): Channel {
  return {
    name,
    account: programAccount,
    capabilities,
    async start() {},
    async stop() {},
    health: () => ({ state: "ok" }),
    async send(_to, part, { idempotencyKey, signal }) {
      if (signal.aborted) throw new Fault("aborted", "aborted before it was sent");
      if (part.kind !== "text") throw new Fault("unsupported", `a program cannot be sent a ${part.kind}`);
      return { messageId: idempotencyKey };
    },
  };
}

/** By `<channel>:<account>`. */
export const programSinks: ReadonlyMap<string, Channel> = new Map(
  (["api", "hook"] as const).map((name) => [
    accountKey({ channel: name, account: programAccount }),
    sink(name),
  ]),
);
