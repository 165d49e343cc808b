// The message path in real time and without sockets, for measuring: the real core over a database file,
// people and a model in memory.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loopback, type Channel } from "@parley/channels";
import type { Model } from "@parley/models";
import { noUsage, silentLog, sleep, systemClock, type Inbound } from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { seededIds } from "@parley/testkit";
import { plainParts } from "../plain-parts.ts";
import { messagePath } from "../../src/message-path.ts";
import { configIn } from "./stage.ts";

export interface Course {
  /** Says something in a chat; resolves when the answer was sent there. */
  ask(chat: string, text: string): Promise<void>;
  close(): Promise<void>;
}

/** `turns` may run at once; the model needs `modelMs` for an answer. */
export async function course({
  modelMs,
  turns,
}: {
  readonly modelMs: number;
  readonly turns: number;
}): Promise<Course> {
  const home = await mkdtemp(join(tmpdir(), "parley-course-"));
  const clock = systemClock();
  const waiting = new Map<string, () => void>();
  const chats = loopback({ account: "default", clock });
  const channel: Channel = {
    ...chats,
    async send(to) {
      waiting.get(to.peer)?.();
      waiting.delete(to.peer);
      return { messageId: to.peer };
    },
  };
  const store = await sqliteStore({
    path: join(home, "state.db"),
    clock,
    log: silentLog,
    bootId: "course",
    exclusive: true,
    onFatal: (error) => {
      throw error;
    },
  });
  const model: Model = {
    id: "course/one",
    contextWindow: 200_000,
    maxTokens: 8_000,
    vision: false,
    reasoning: false,
    async *stream() {
      if (modelMs > 0) await sleep(clock, modelMs);
      yield {
        type: "end",
        stop: "stop",
        usage: noUsage,
        content: [{ type: "text", text: "Here is an answer." }],
      };
    },
  };
  const core = messagePath(
    plainParts({
      config: await configIn(home, { config: { agents: { defaults: { maxConcurrent: turns } } } }),
      store,
      channels: new Map([["loopback:default", channel]]),
      models: { get: async () => model, list: () => [] },
      bootId: "course",
      clock,
      ids: seededIds(1),
      log: silentLog,
    }),
  );
  const pools = core.start();
  let said = 0;

  return {
    async ask(chat, text) {
      said += 1;
      const event: Inbound = {
        id: `loopback:default:${said}`,
        channel: "loopback",
        account: "default",
        address: { channel: "loopback", account: "default", kind: "dm", peer: chat },
        sender: { id: chat, name: chat, isBot: false },
        messageId: `${said}`,
        kind: "message",
        text,
        attachments: [],
        mentions: [],
        addressed: true,
        atMs: clock.now(),
      };
      const answered = new Promise<void>((resolve) => waiting.set(chat, resolve));
      await core.receive([event]);
      await answered;
    },
    async close() {
      await pools.drain({ turnsMs: 5_000, flushMs: 1_000 });
      await store.close();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
