// The message path on a stage: the real core over a real database, virtual time, platforms and a model that
// the test plays. `await alice.says("hello").gets("re: hello")`; the process can be killed, drained and
// started again in between.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { conversationBindings } from "@parley/access";
import type { Channel } from "@parley/channels";
import { loadConfig, type Config } from "@parley/config";
import {
  parseSessionKey,
  sleep,
  type Clock,
  type Entry,
  type Inbound,
  type Log,
  type LogFields,
  type SessionKey,
} from "@parley/protocol";
import { noRedaction } from "@parley/agent";
import { forgetting, memoryEngine, personFolder, scopeOfPlace } from "@parley/memory";
import { sqliteStore, type DeliveryView, type RowView, type SqliteStore } from "@parley/store";
import { folderInMemory, seededIds, virtualClock, type VirtualClock } from "@parley/testkit";
import type { MachinePorts, Tool } from "@parley/tools";
import { messagePath, type MessagePath } from "../../src/message-path.ts";
import type { MessagePathParts } from "../../src/message-path/parts.ts";
import { noDaemon } from "../no-daemon.ts";
import type { Pools } from "@parley/queue";
import { mediaFolder, noSkills, settleTrial, type SkillRegistry } from "@parley/runner";
import { atRest, life, type Life } from "./life.ts";
import { plainParts } from "../plain-parts.ts";
import { platform, type Platform } from "./platform.ts";
import { keptLog, traceOf, type KeptLine } from "./trace.ts";
import { scriptedModel, type ScriptedModel } from "./scripted-model.ts";

export interface StageOptions {
  /** More of the config file, laid over one in which everybody may write and nothing is paced or streamed. */
  readonly config?: { readonly [key: string]: unknown };
  readonly telegram?: object;
  /** The name of the second platform; default "loopback", which no config knows. */
  readonly second?: string;
  readonly tools?: readonly Tool[];
  /** The catalogue's tools, with files and without commands; absent: only `tools`. */
  readonly catalogue?: boolean;
  /** The open web of the catalogue's tools: texts by address. */
  readonly web?: { readonly [url: string]: string };
  /** More ports of the catalogue's tools, made anew for every process. */
  readonly ports?: (
    store: SqliteStore,
    clock: Clock,
  ) => Partial<NonNullable<MessagePathParts["machinePorts"]>>;
  /** That the config knows. */
  readonly secrets?: readonly string[];
  readonly daemon?: MessagePathParts["daemon"];
  /** Absent: there are none. */
  readonly skills?: (config: Config) => SkillRegistry;
  /**
   * Hooks that run while a turn is prepared. They may put another channel in an account's place, as a reload
   * does.
   */
  readonly hooks?: (channels: Map<string, Channel>) => MessagePathParts["hooks"];
  /** Hooks that hear what happens; absent: there are none. */
  readonly hookParts?: NonNullable<MessagePathParts["hookParts"]>;
  /** In place of the scripted model. */
  readonly models?: () => MessagePathParts["models"];
  /** Files for chats are kept; absent: none can be. */
  readonly mediaFolder?: MessagePathParts["mediaFolder"];
  /** A store that is broken in some way, in the place of the real one. */
  readonly store?: (store: SqliteStore) => SqliteStore;
  /** What looks on from outside, made anew for every process. */
  readonly views?: (clock: Clock) => {
    store(store: SqliteStore): SqliteStore;
    models(models: MessagePathParts["models"]): MessagePathParts["models"];
  };
  /** Of the model, tokens. */
  readonly contextWindow?: number;
}

export interface Said {
  readonly event: Inbound;
  /** Lets time pass until the next messages that the person has not seen are these. */
  gets(...texts: readonly (string | RegExp)[]): Promise<void>;
}

export interface Person {
  says(text: string, fields?: Partial<Inbound>): Said;
  /** As `Said.gets`. */
  gets(...texts: readonly (string | RegExp)[]): Promise<void>;
  /** Everything that stands in the chat now. */
  sees(): readonly string[];
}

export interface Stage {
  /** The state folder; the agent's workspace is `workspace/` in it. */
  readonly home: string;
  readonly clock: VirtualClock;
  readonly model: ScriptedModel;
  readonly telegram: Platform;
  /** A second platform. */
  readonly loopback: Platform;
  store(): SqliteStore;
  core(): MessagePath;
  pools(): Pools;
  person(name: string, where?: { readonly on?: Platform; readonly chat?: string }): Person;
  /** Lets this much time pass. */
  pass(ms: number): Promise<void>;
  /** Lets time pass until it is so; fails after an hour of it, or after `withinMs`. */
  until(so: () => boolean | Promise<boolean>, what: string, withinMs?: number): Promise<void>;
  /** kill -9, and nothing runs until `start`. */
  kill(): Promise<void>;
  /**
   * The process dies of its nth write from now on: what it wrote is durable, and nobody in the process
   * learned of it. `kill` and `start` begin the next one. Returns whether it died.
   */
  dieAtWrite(nth: number): () => boolean;
  start(): Promise<void>;
  /** What a row carries becomes something that no build can read; while nothing runs. */
  spoil(row: string): Promise<void>;
  /** SIGTERM: what runs may take `turnsMs`; then nothing runs until `start`. */
  terminate(turnsMs?: number): Promise<void>;
  /** What the log says. */
  readonly logged: readonly KeptLine[];
  /** What admission refused, each with its reason. */
  readonly refused: readonly LogFields[];
  /** What the status says of turns. */
  reasons(): readonly string[];
  rows(filter?: Partial<Parameters<SqliteStore["inbox"]["find"]>[0]>): Promise<readonly RowView[]>;
  deliveries(
    filter?: Partial<Parameters<SqliteStore["outbox"]["find"]>[0]>,
  ): Promise<readonly DeliveryView[]>;
  /** Lets a minute pass; then all that was done and is left, see `traceOf`. */
  trace(): Promise<string>;
  /** What every session keeps, oldest first. */
  transcript(session: string, epoch?: number): Promise<readonly Entry[]>;
  close(): Promise<void>;
}

const hourMs = 3_600_000;

export async function stage(options: StageOptions = {}): Promise<Stage> {
  const home = folderInMemory("on-path");
  const config = await configIn(home, options);
  const refused: LogFields[] = [];
  let now: { store: SqliteStore; core: MessagePath; pools: Pools; life: Life } | null = null;
  let boots = 0;
  let killed = false;
  let writesLeft = Infinity;
  const clock = virtualClock({ settle: () => atRest(() => now?.life.underWay() ?? 0) });
  const model = scriptedModel(options.contextWindow);
  const telegram = platform("telegram", clock);
  const loopback = platform(options.second ?? "loopback", clock);
  const kept: KeptLine[] = [];
  const log = process.env["PARLEY_PATH_LOG"] === "1" ? consoleLog(clock) : keptLog(clock, kept);
  const progress: (readonly unknown[])[] = [];

  function running(): NonNullable<typeof now> {
    if (now === null) throw new Error("nothing runs");
    return now;
  }

  async function start(): Promise<void> {
    boots += 1;
    const bootId = `boot-${boots}`;
    const own = life(clock);
    const store = await sqliteStore({
      path: join(home, "state.db"),
      clock,
      log,
      bootId,
      exclusive: true,
      onFatal: (error) => {
        throw error;
      },
    });
    await settleTrial(store.cells, `boot-${boots - 1}`, killed ? clock.now() : null);
    const channels = [telegram, loopback].map((each) => each.channel());
    const byAccount = new Map(
      channels.map((channel): [string, Channel] => [
        `${channel.name}:${channel.account}`,
        own.mortal(channel),
      ]),
    );
    const views = options.views?.(own.clock);
    const broken = options.store?.(store) ?? store;
    const models = options.models?.() ?? model.models(own.clock);
    const handOvers = conversationBindings(store.cells);
    await handOvers.load();
    const stored = own.awaited(
      countingWrites(
        views?.store(broken) ?? broken,
        () => writesLeft !== Infinity,
        () => {
          writesLeft -= 1;
          if (writesLeft === 0) own.end();
        },
      ),
    );
    const core = messagePath({
      ...plainParts({
        config,
        store: stored,
        channels: byAccount,
        models: views?.models(models) ?? models,
        bootId,
        clock: own.clock,
        ids: seededIds(boots),
        log,
      }),
      handOvers,
      hooks: options.hooks?.(byAccount) ?? [],
      tools: options.tools ?? [],
      ...(options.catalogue === true
        ? {
            machinePorts: {
              home: join(home, "state"),
              userHome: join(home, "person"),
              memory: { engine: memoryEngine({ clock: own.clock }), personFolder, scopeOfPlace, forgetting },
              ...(options.web === undefined ? {} : { web: webOf(options.web) }),
              ...options.ports?.(stored, own.clock),
            },
            mediaFolder: mediaFolder(join(home, "media")),
          }
        : {}),
      ...(options.mediaFolder === undefined ? {} : { mediaFolder: options.mediaFolder }),
      ...(options.hookParts === undefined ? {} : { hookParts: options.hookParts }),
      daemon: options.daemon ?? noDaemon,
      showProgress: (conversation) => {
        const tell =
          (what: string) =>
          (...told: readonly unknown[]): void =>
            void progress.push([conversation, what, ...told]);
        return { begin: tell("begin"), text: tell("text"), tool: tell("tool"), end: tell("end") };
      },
      skills: options.skills?.(config) ?? noSkills,
      ...(options.secrets === undefined ? {} : { redaction: { ...noRedaction, secrets: options.secrets } }),
      refusals: { note: (reason, source, fields) => void refused.push({ reason, source, ...fields }) },
    });
    now = { store, core, pools: core.start(), life: own };
    receive = core.receive;
    offering.clear();
    for (const each of [telegram, loopback]) void offer(each);
  }

  // What people said and no process has accepted yet, in order: a platform offers it again.
  const offered = new Map<Platform, Inbound[]>([
    [telegram, []],
    [loopback, []],
  ]);
  const offering = new Set<Platform>();
  let receive: MessagePath["receive"] | null = null;

  async function offer(on: Platform): Promise<void> {
    const waiting = offered.get(on) ?? [];
    const to = receive;
    if (to === null || offering.has(on)) return;
    offering.add(on);
    while (waiting.length > 0 && to === receive) {
      const batch = [...waiting];
      // Not durable: offered again after a while, as platforms do.
      const durable = await to(batch).then(
        () => true,
        () => false,
      );
      if (!durable) {
        await sleep(clock, 1_000);
        continue;
      }
      waiting.splice(0, batch.length);
    }
    offering.delete(on);
  }

  async function stop(): Promise<void> {
    const { store, life: own } = running();
    own.end();
    receive = null;
    await atRest(own.underWay);
    await store.close();
    now = null;
  }

  async function until(so: () => boolean | Promise<boolean>, what: string, withinMs = hourMs): Promise<void> {
    const untilMs = clock.mono() + withinMs;
    await clock.advance(0);
    while (!(await so())) {
      if (clock.mono() >= untilMs || !(await clock.advanceToNext()))
        throw new Error(`did not happen: ${what}`);
    }
  }

  function person(
    name: string,
    { on = telegram, chat = name }: { readonly on?: Platform; readonly chat?: string } = {},
  ): Person {
    let seen = 0;
    let said = 0;
    const gets = async (...texts: readonly (string | RegExp)[]): Promise<void> => {
      const fresh = (): readonly string[] => on.shown(chat).slice(seen);
      await until(
        () => fresh().length >= texts.length,
        `${name} gets ${texts.join(" | ")}; shown: ${JSON.stringify(on.shown(chat))}`,
      );
      for (const [index, text] of texts.entries()) {
        const got = fresh()[index] ?? "";
        if (typeof text === "string" ? got !== text : !text.test(got)) {
          throw new Error(
            `${name} got ${JSON.stringify(got)} in place of ${String(text)}; shown: ${JSON.stringify(on.shown(chat))}`,
          );
        }
      }
      seen += texts.length;
    };
    return {
      says(text, fields) {
        said += 1;
        const id = `${chat}-${name}-${said}`;
        const event: Inbound = {
          id: `${on.name}:default:${id}`,
          channel: on.name,
          account: "default",
          address: { channel: on.name, account: "default", kind: "dm", peer: chat },
          sender: { id: name, name, isBot: false },
          messageId: id,
          kind: "message",
          text,
          attachments: [],
          mentions: [],
          addressed: true,
          atMs: clock.now(),
          ...fields,
        };
        offered.get(on)?.push(event);
        void offer(on);
        return { event, gets };
      },
      gets,
      sees: () => on.shown(chat),
    };
  }

  await start();
  return {
    home,
    clock,
    model,
    telegram,
    loopback,
    store: () => running().store,
    core: () => running().core,
    pools: () => running().pools,
    person,
    pass: (ms) => clock.advance(ms),
    until,
    start,
    dieAtWrite(nth) {
      writesLeft = nth;
      return () => writesLeft <= 0;
    },
    async kill() {
      killed = true;
      writesLeft = Infinity;
      await stop();
    },
    async terminate(turnsMs = 0) {
      let drained = false;
      receive = null;
      void running()
        .pools.drain({ turnsMs, flushMs: 1_000 })
        .then(() => {
          drained = true;
        });
      await until(() => drained, "the drain");
      killed = false;
      await stop();
    },
    logged: kept,
    refused,
    async spoil(row) {
      const db = new DatabaseSync(join(home, "state.db"));
      db.prepare("update rows set payload = 'spoilt' where id = ?").run(row);
      db.close();
    },
    reasons: () => running().core.quarantine.reasons(),
    rows: (filter = {}) => running().store.inbox.find({ limit: 1_000, ...filter }),
    deliveries: (filter = {}) => running().store.outbox.find({ limit: 1_000, ...filter }),
    async trace() {
      await clock.advance(60_000);
      return traceOf({
        home,
        path: join(home, "state.db"),
        lines: kept,
        model,
        platforms: [telegram, loopback],
        refused,
        progress,
      });
    },
    async transcript(session, epoch) {
      const stored = await running().store.sessions.transcript(keyOf(session), {
        limit: 1_000,
        ...(epoch === undefined ? {} : { epoch }),
      });
      return stored.map((entry) => JSON.parse(entry.body) as Entry);
    },
    async close() {
      if (now !== null) await stop();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Verbs of the store that only look. */
const looking: readonly string[] = [
  "find",
  "list",
  "get",
  "open",
  "newest",
  "transcript",
  "extend",
  "check",
  "troubled",
  "onReady",
];

/**
 * Calls `wrote` when a write is durable, before whoever asked hears; while nobody counts, it stands aside.
 */
function countingWrites<T extends object>(port: T, counts: () => boolean, wrote: () => void): T {
  return new Proxy(port, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member === "object" && member !== null && !Array.isArray(member))
        return countingWrites(member, counts, wrote);
      if (typeof member !== "function" || looking.includes(String(name))) return member;
      return (...args: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, args);
        return counts() && result instanceof Promise
          ? result.then((value: unknown) => {
              const isIdle = typeof value === "object" && value !== null && "idle" in value;
              if (!isIdle) wrote();
              return value;
            })
          : result;
      };
    },
  });
}

function webOf(texts: { readonly [url: string]: string }): NonNullable<MachinePorts["web"]> {
  return {
    files: () => ({ unavailable: "no files are fetched here" }),
    pages: () => ({
      maxChars: 20_000,
      read: async (url) => ({
        url,
        status: 200,
        contentType: "text/html",
        title: null,
        byline: null,
        text: texts[url] ?? "",
        truncated: false,
        cached: false,
      }),
    }),
    search: () => ({ unavailable: "nobody searches here" }),
  };
}

function keyOf(session: string): SessionKey {
  parseSessionKey(session);
  return session as SessionKey;
}

export async function configIn(
  home: string,
  options: Pick<StageOptions, "config" | "telegram">,
): Promise<Config> {
  const file = {
    channels: {
      telegram: {
        botToken: "1:x",
        dmPolicy: "open",
        allowFrom: ["*"],
        pacing: "off",
        streaming: "off",
        ...options.telegram,
      },
    },
    ...options.config,
  };
  const { config } = await loadConfig({ env: {}, home, readFile: async () => JSON.stringify(file) });
  return config;
}

function consoleLog(clock: VirtualClock): Log {
  const line = (fields: object, message: string): void =>
    console.log(clock.mono(), message, JSON.stringify(fields));
  const log: Log = { debug() {}, info: line, warn: line, error: line, child: () => log };
  return log;
}
