// The real core, store and Telegram driver before the strict fake, in a time that runs four times faster than
// ours: pauses, pacing and deadlines keep their proportions, sockets are real.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { telegram } from "@parley/channels";
import { loadConfig } from "@parley/config";
import type { Model, ModelEvent } from "@parley/models";
import { noUsage, silentLog, sleep, type Clock } from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { fakeTelegram, seededIds, type FakeTelegram } from "@parley/testkit";
import { plainParts } from "../plain-parts.ts";
import { messagePath } from "../../src/message-path.ts";

const times = 4;

function rushingClock(): Clock {
  const startMs = Date.now();
  return {
    now: () => startMs + performance.now() * times,
    mono: () => performance.now() * times,
    after(afterMs, run) {
      const timer = setTimeout(run, afterMs / times);
      return { cancel: () => clearTimeout(timer) };
    },
  };
}

/** An answer as a model streams it: pieces, each after a pause. */
export interface Stream {
  readonly pieces: readonly string[];
  readonly pausesMs: readonly number[];
}

export interface Rush {
  readonly fake: FakeTelegram;
  readonly clock: Clock;
  /** Asks in a private chat of its own and waits for the answer's end; returns what is shown then. */
  answer(chat: number, how: "edit" | "block", stream: Stream): Promise<readonly string[]>;
  close(): Promise<void>;
}

const tokens = { edit: "1000001:edit", block: "1000002:block" } as const;

export async function rush(): Promise<Rush> {
  const clock = rushingClock();
  const home = await mkdtemp(join(tmpdir(), "parley-rush-"));
  const fake = await fakeTelegram({ clock });
  for (const token of Object.values(tokens)) fake.bot(token);
  const account = (botToken: string, streaming: string): object => ({
    botToken,
    apiRoot: fake.url,
    streaming,
    dmPolicy: "open",
    allowFrom: ["*"],
  });
  const file = {
    channels: {
      telegram: { accounts: { edit: account(tokens.edit, "edit"), block: account(tokens.block, "block") } },
    },
    agents: { defaults: { maxConcurrent: 100 } },
  };
  const { config } = await loadConfig({ env: {}, home, readFile: async () => JSON.stringify(file) });
  const store = await sqliteStore({
    path: join(home, "state.db"),
    clock,
    log: silentLog,
    bootId: "boot",
    exclusive: true,
    onFatal: (error) => {
      throw error;
    },
  });
  const ids = seededIds(1);
  const channels = await Promise.all(
    Object.entries(tokens).map(([name, token]) =>
      telegram({ account: name, token, apiRoot: fake.url, mediaFolder: home, clock, ids, log: silentLog }),
    ),
  );
  const streams = new Map<string, Stream>();
  const core = messagePath(
    plainParts({
      config,
      store,
      channels: new Map(channels.map((channel) => [`telegram:${channel.account}`, channel])),
      models: { get: async () => streamingModel(streams, clock), list: () => [] },
      bootId: "boot",
      clock,
      ids,
      log: silentLog,
    }),
  );
  const pools = core.start();
  for (const channel of channels) await channel.start(core.receive);

  return {
    fake,
    clock,
    async answer(chat, how, stream) {
      streams.set(`ask ${chat}`, stream);
      const row = fake.as(chat, tokens[how]).says(`ask ${chat}`);
      for (;;) {
        await sleep(clock, 200);
        const [asked] = await store.inbox.find({
          message: String(row.message_id),
          text: `ask ${chat}`,
          limit: 1,
        });
        if (asked === undefined || asked.turn === null || asked.outcome === null) continue;
        const deliveries = await store.outbox.find({ cause: asked.turn, limit: 100 });
        if (deliveries.length > 0 && deliveries.every((delivery) => delivery.done)) break;
      }
      return fake
        .visible(chat)
        .filter((message) => message.byBot)
        .map((message) => message.text);
    },
    async close() {
      await Promise.all(channels.map((channel) => channel.stop()));
      await pools.drain({ turnsMs: 0, flushMs: 0 });
      await store.close();
      await fake.close();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function streamingModel(streams: ReadonlyMap<string, Stream>, clock: Clock): Model {
  return {
    id: "test/streaming",
    contextWindow: 100_000,
    maxTokens: 10_000,
    vision: false,
    reasoning: false,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      const asked = request.messages.findLast((message) => message.role === "user")?.content[0];
      const stream = streams.get(asked?.type === "text" ? asked.text : "");
      const text = stream?.pieces.join("") ?? "";
      for (const [index, delta] of (stream?.pieces ?? []).entries()) {
        await sleep(clock, stream?.pausesMs[index] ?? 0, signal);
        if (signal.aborted)
          return yield {
            type: "end",
            stop: "aborted",
            usage: noUsage,
            content: [],
            error: { kind: "aborted", message: "stopped" },
          };
        yield { type: "text", delta };
      }
      yield { type: "end", stop: "stop", usage: noUsage, content: [{ type: "text", text }] };
    },
  };
}
