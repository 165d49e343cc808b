// Model calls beside a turn: their limits and their cost, pictures that a session showed, and side questions.
import type { Model, ModelEvent, ModelRequest } from "@parley/models";
import { cooldowns } from "@parley/models";
import { parseContent, noUsage, silentLog, type ImageContent, type SessionKey } from "@parley/protocol";
import type { Cell, CellWrite, NewDelivery, SqliteStore } from "@parley/store";
import { directMessage, seededIds, virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createSideQuestions } from "../src/side-questions.ts";
import { seenPictures } from "../src/tools/seen-pictures.ts";
import { spendBeside, storeSpent } from "../src/usage/beside-turn.ts";
import { memoryStore } from "./store.ts";

const session = "agent:main:telegram:dm:5" as SessionKey;
const scope = {
  turn: "t1",
  callId: "c1",
  session,
  conversation: "telegram:work:dm:5",
  signal: new AbortController().signal,
} as never;

let clock: VirtualClock;
let store: SqliteStore;
let did: string[];
beforeEach(async () => {
  clock = virtualClock();
  store = await memoryStore(clock);
  onTestFinished(() => store.close());
  did = [];
});

/** `refuses`: why no call may be made. */
function ledgerOf(refuses: () => string | null = () => null) {
  return {
    forTurn(turn: object, how?: object) {
      did.push(`limits of ${JSON.stringify(turn)} ${JSON.stringify(how)}`);
      return {
        mayCall: async () => {
          const reason = refuses();
          return reason === null ? { ok: true } : { ok: false, reason };
        },
        sideModel: (model: Model) => model,
        note: async (end: object, model: { readonly id: string }): Promise<readonly CellWrite[]> => {
          did.push(`noted ${JSON.stringify(end)} for ${model.id}`);
          return [{ key: "spent", value: model.id }];
        },
        committed: () => did.push("committed"),
        close: () => did.push("closed"),
      };
    },
  } as never;
}

describe("spending beside a turn", () => {
  const inbox = { find: async (what: unknown) => (did.push(`find ${JSON.stringify(what)}`), ["r"]) } as never;
  const usage = { ...noUsage, inputTokens: 3 };

  test("asks the limits of the turn's rows under the call's name, and writes what was used at once", async () => {
    const needs = { ledger: ledgerOf(), inbox, cells: store.cells };
    const made = await spendBeside(needs, scope, async ({ used }) => {
      await used(usage, { id: "a/b" });
      did.push(`stored ${(await store.cells.get("spent"))?.value}`);
      return 7;
    });
    expect(made).toBe(7);
    expect(did).toEqual([
      'find {"turn":"t1","limit":200}',
      `limits of {"id":"t1 c1","lane":"${session}","conversation":"telegram:work:dm:5","rows":["r"]} {"beside":true}`,
      `noted {"entries":[],"usage":${JSON.stringify(usage)}} for a/b`,
      "committed",
      "stored a/b",
      "closed",
    ]);
  });

  test("a limit that is reached denies it, and its place is given back then and after a failure", async () => {
    let refusal: string | null = "the day's limit";
    const needs = { ledger: ledgerOf(() => refusal), inbox, cells: store.cells };
    await expect(spendBeside(needs, scope, async () => did.push("ran"))).rejects.toMatchObject({
      code: "denied",
      message: "the day's limit",
    });
    refusal = null;
    await expect(
      spendBeside(needs, scope, async () => {
        throw new Error("broke");
      }),
    ).rejects.toThrow("broke");
    expect(did.filter((line) => line === "closed" || line === "ran")).toEqual(["closed", "closed"]);
  });

  test("a cell that another process wrote meanwhile is made anew until it fits", async () => {
    await store.cells.put("day", "others", {});
    const version = (await store.cells.get("day"))?.version ?? 0;
    const made: number[] = [];
    await storeSpent(store.cells, async () => {
      made.push(made.length);
      const expect_ = made.length < 3 ? version + 5 : version;
      return [{ key: "day", value: `n${made.length}`, expect: expect_, ttlMs: 1_000 }];
    });
    const kept = (): Promise<Cell | null> => store.cells.get("day");
    expect([made.length, (await kept())?.value]).toEqual([3, "n3"]);
    await clock.advance(1_001);
    expect(await kept()).toBeNull();
  });
});

const requests: ModelRequest[] = [];
/** `ends`: what the model's stream yields last. */
function modelOf(id: string, ends: (request: ModelRequest) => Partial<ModelEvent & { type: "end" }> | null) {
  return {
    id,
    contextWindow: 100_000,
    maxTokens: 1_500,
    vision: true,
    reasoning: false,
    async *stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
      requests.push(request);
      const end = ends(request);
      if (end !== null)
        yield { type: "end", stop: "stop", usage: noUsage, content: [], ...end } as ModelEvent;
    },
  } as Model;
}
const says = (text: string) => ({ content: [{ type: "text", text }] }) as never;

describe("the image tool", () => {
  const image = (path: string): ImageContent =>
    ({ type: "image", path, mediaType: "image/png" }) as unknown as ImageContent;
  const seen = (
    imageModel: object | undefined,
    models: readonly Model[] = [],
    blind: readonly string[] = [],
    more: object = {},
  ) =>
    seenPictures({
      config: { agents: { defaults: { imageModel } } },
      models: {
        get: async (id: string) => models.find((model) => model.id === id),
        list: () =>
          models.map(({ id }) => ({ id, input: blind.includes(id) ? ["text"] : ["text", "image"] })),
      },
      cooldowns: cooldowns(clock),
      ledger: ledgerOf(),
      inbox: { find: async () => [] },
      sessions: store.sessions,
      cells: store.cells,
      clock,
      ids: seededIds(1),
      log: silentLog,
      ...more,
    } as never);

  test("sees the pictures of what was said and of tools' results, oldest first, then those of its own turn", async () => {
    const entries = [
      { type: "user", content: [{ type: "text", text: "x" }, image("/1"), image("/2")], rows: [], atMs: 0 },
      { type: "toolResult", content: [image("/3")], callId: "c", name: "n", atMs: 0 },
    ];
    const sessions = {
      open: async () => ({ key: session, epoch: 1, lastSeq: 9, fields: {} }),
      transcript: async () =>
        entries.map((entry, at) => ({ seq: at + 8, epoch: 1, body: JSON.stringify(entry) })),
    };
    const attachments = ["photo", "file", "lost"].map((ref) => ({ kind: "image", ref }));
    const asked: string[] = [];
    const readings: { [n: number]: object } = {
      1: { kind: "picture", path: "/4", mediaType: "image/jpeg" },
      2: { kind: "spoken", text: "words" },
    };
    const pictures = await seen(undefined, [], [], {
      sessions,
      inbox: {
        find: async () =>
          [4, 5].map((seq) => ({
            seq,
            payload: JSON.stringify({
              v: 1,
              inbound: directMessage({ attachments: seq === 4 ? (attachments as never) : [] }),
              owner: true,
            }),
          })),
      },
      cells: {
        get: async (key: string) => {
          asked.push(key);
          const reading = readings[asked.length];
          return reading === undefined ? null : { value: JSON.stringify(reading) };
        },
      },
    }).shown(scope);
    expect(pictures).toEqual([
      { type: "image", path: "/1", mediaType: "image/png", message: 8 },
      { type: "image", path: "/2", mediaType: "image/png", message: 8 },
      { type: "image", path: "/3", mediaType: "image/png", message: 9 },
      { type: "image", path: "/4", mediaType: "image/jpeg", message: 14 },
    ]);
    expect(asked.map((key) => key.slice(0, 20))).toEqual(
      Array.from({ length: 3 }, () => "media:telegram:work:"),
    );
  });

  test("has a describer where the config names one that sees, in any of its places", () => {
    const [a, b] = [modelOf("a", () => null), modelOf("b", () => null)];
    const chain = { primary: "a", fallbacks: ["b"] };
    expect([
      seen(undefined).describer(),
      seen({ primary: "a" }, [a]).describer(),
      seen(chain, [a, b]).describer(),
      seen(chain, [a, b], ["b"]).describer(),
      seen({ primary: "a" }, [a, b], ["b"]).describer(),
      seen({ fallbacks: ["b"] }, [a, b]).describer(),
    ]).toEqual([
      { unavailable: "the model sees no images, and agents.defaults.imageModel is not set" },
      { model: "a" },
      { model: "a" },
      { unavailable: "agents.defaults.imageModel names b, which sees no images (input)" },
      { model: "a" },
      { model: "b" },
    ]);
  });

  test("asks the configured models in their order, tells which answered, and pays by its price", async () => {
    requests.length = 0;
    const pictures = [image("/1"), image("/2")] as never;
    const down = modelOf(
      "a",
      () =>
        ({
          stop: "error",
          error: { kind: "auth", message: "wrong key" },
        }) as never,
    );
    const up = modelOf("b", () => says(" a cat \n"));
    const chain = { primary: "a", fallbacks: ["b"] };
    const ask = (by: ReturnType<typeof seen>) => by.describe(scope, { prompt: "What is it?", pictures });
    expect(await ask(seen(chain, [down, up]))).toEqual({ text: "a cat", model: "b" });
    expect(requests.at(-1)).toMatchObject({
      messages: [
        { role: "user", content: [{ type: "text", text: "What is it?" }, image("/1"), image("/2")] },
      ],
      tools: [],
      thinking: "off",
      maxTokens: 1_500,
      cacheKey: `${session}#image`,
    });
    expect(did.filter((line) => line.startsWith("noted"))).toEqual([expect.stringMatching(/ for b$/)]);
    await expect(ask(seen({ primary: "a" }, [down]))).rejects.toMatchObject({
      code: "unavailable",
      message: "a did not look at it: wrong key",
    });
    const blank = modelOf("c", () => says(" "));
    await expect(ask(seen({ primary: "c" }, [blank]))).rejects.toThrow("c said nothing about it");
    await expect(ask(seen({ primary: "d" }, [modelOf("d", () => null)]))).rejects.toThrow(/^d /);
    await expect(ask(seen(undefined))).rejects.toMatchObject({
      code: "unsupported",
      message: "agents.defaults.imageModel is not set",
    });
    // What a failed look cost is paid too.
    expect(did.filter((line) => line === "closed")).toHaveLength(5);
  });
});

test("a look at a picture ends with its call or after two minutes, and what it cost by then is no secret", async () => {
  const signals: AbortSignal[] = [];
  const slow = {
    ...modelOf("slow", () => null),
    async *stream(_request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
      signals.push(signal);
      await new Promise<void>((go) => signal.addEventListener("abort", () => go()));
      const error = { kind: "aborted", message: "told to stop" } as const;
      yield { type: "end", stop: "aborted", usage: noUsage, content: [], error };
    },
  } as Model;
  const pictures = seenPictures({
    config: { agents: { defaults: { imageModel: { primary: "slow" } } } },
    models: { get: async () => slow, list: () => [] },
    cooldowns: cooldowns(clock),
    ledger: ledgerOf(),
    inbox: { find: async () => [] },
    sessions: store.sessions,
    cells: store.cells,
    clock,
    ids: seededIds(1),
    log: silentLog,
  } as never);
  const stop = new AbortController();
  const look = (signal: AbortSignal) => {
    const looking = pictures.describe({ ...(scope as object), signal } as never, {
      prompt: "?",
      pictures: [],
    });
    return expect(looking).rejects.toMatchObject({ code: "unavailable" });
  };
  const first = look(new AbortController().signal);
  await clock.advance(119_999);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await clock.advance(1);
  await first;
  const second = look(stop.signal);
  await clock.advance(1_000);
  expect(signals[1]?.aborted).toBe(false);
  stop.abort();
  await second;
  expect([did.filter((line) => line === "closed").length, clock.armed()]).toEqual([2, 0]);
});

describe("a side question", () => {
  interface Odds {
    readonly end?: (signal: AbortSignal) => Promise<object | null>;
    readonly refuses?: string;
    readonly post?: () => void;
  }
  function questionsOf({ end = async () => says("blue"), refuses, post = () => {} }: Odds = {}) {
    const posted: (NewDelivery & { readonly passes?: boolean })[] = [];
    const prepared: object[] = [];
    const model = {
      ...modelOf("a/b", () => null),
      async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
        requests.push(request);
        const made = await end(signal);
        if (made !== null)
          yield { type: "end", stop: "stop", usage: noUsage, content: [], ...made } as ModelEvent;
      },
    };
    const questions = createSideQuestions({
      cells: store.cells,
      outbox: {
        post: async (deliveries: readonly NewDelivery[]) => {
          post();
          posted.push(...deliveries);
        },
      },
      sessions: store.sessions,
      turnPreparer: {
        forTurn: async (request: object) => {
          prepared.push(request);
          return {
            model,
            system: { stable: "s", volatile: "v" },
            tools: [
              { name: "write", description: "w", parameters: {} },
              { name: "later", description: "l", parameters: {}, deferred: true },
              { name: "read", description: "d", parameters: {}, parse: () => {} },
            ],
            thinking: "low",
            finalOnly: () => false,
          };
        },
      },
      ledger: ledgerOf(() => refuses ?? null),
      redaction: { secrets: ["hunter2-secret"], stateDirs: [], workspaces: [] },
      clock,
      log: {
        ...silentLog,
        warn: (_fields: unknown, message: string) => void did.push(`warn ${message}`),
        error: (_fields: unknown, message: string) => void did.push(`error ${message}`),
      },
    } as never);
    const told = () =>
      posted.map(({ id, lane, cause, passes, parts }) => {
        const content = parseContent(parts[0]?.content ?? "");
        const [part] = content.kind === "reply" ? content.parts : [];
        return [id, lane, cause, passes, part?.kind === "text" ? part.markdown : content];
      });
    return { questions, told, prepared, posted };
  }
  const ask = (nth: number, more: object = {}) => ({
    inbound: directMessage({ id: `m${nth}`, guild: "g", parent: "p" }),
    args: "which colour?",
    route: { agent: "main", session: `agent:main:telegram:dm:${nth}` as SessionKey },
    owner: true,
    authority: "owner",
    ...more,
  });
  const quiet = async (): Promise<void> => {
    for (let n = 0; n < 200; n += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const left = async (): Promise<readonly string[]> =>
    (await store.cells.list("btw:", 10)).map(({ key, value }) => `${key} ${JSON.parse(value).tries}`);

  test("goes to the model with the place and rights of who asks, without tools, and is told past what waits", async () => {
    requests.length = 0;
    const { questions, told, prepared } = questionsOf({ end: async () => says("the key is hunter2-secret") });
    expect(await questions.ask(ask(1))).toBeNull();
    await quiet();
    expect(told()).toEqual([
      ["btw:m1", "telegram:default:dm:5", "m1", true, expect.stringMatching(/^💭 the key is (?!hunter2)/)],
    ]);
    expect(await left()).toEqual([]);
    expect(prepared).toMatchObject([
      {
        agent: "main",
        by: { owner: true, senders: ["telegram:5"] },
        address: { peer: "5" },
        guild: "g",
        parent: "p",
      },
    ]);
    const lane = "agent:main:telegram:dm:1";
    expect(requests).toMatchObject([
      {
        system: { stable: "s", volatile: "v" },
        // As the conversation's own questions are, so that the provider has their beginning in its cache.
        tools: [
          { name: "read", description: "d", parameters: {} },
          { name: "write", description: "w", parameters: {} },
        ],
        toolChoice: "none",
        thinking: "low",
        cacheKey: lane,
      },
    ]);
    expect(requests[0]?.tools[0]).not.toHaveProperty("parse");
    expect(JSON.stringify(requests[0]?.messages)).toContain(
      "A question beside the conversation. Answer it briefly, in words only; it is not remembered.\\n\\nwhich colour?",
    );
    expect(did.map((line) => line.split(" ")[0])).toEqual(["limits", "noted", "committed", "closed"]);
    expect(did[0]).toMatch(
      /^limits of \{"id":"btw:m1","lane":"agent:main:telegram:dm:1",.*\{"beside":true\}$/,
    );
  });

  const ends: readonly (readonly [what: string, odds: Odds, words: string])[] = [
    ["a limit that is reached", { refuses: "the day's limit" }, "💭 the day's limit"],
    ["no words", { end: async (): Promise<object> => says(" ") }, "💭 I have nothing to say to that."],
    ["no end", { end: async () => null }, "💭 ⚠️ The model gave no answer."],
    [
      "a refusal with words",
      { end: async () => ({ error: { kind: "refused", message: "I may not." } }) },
      "💭 I may not.",
    ],
    [
      "a refusal without",
      { end: async () => ({ error: { kind: "refused", message: "" } }) },
      "💭 ⚠️ The model gave no answer.",
    ],
    [
      "an outage",
      { end: async () => ({ error: { kind: "overloaded", message: "secret cause" } }) },
      "💭 ⚠️ The model gave no answer.",
    ],
    [
      "a bug",
      {
        end: async () => {
          throw new Error("a bug");
        },
      },
      "💭 ⚠️ I could not answer that. The operator can see why in the log.",
    ],
  ];
  test.for(ends)("with %s is told so, and is over", async ([, odds, words]) => {
    const { questions, told } = questionsOf(odds);
    await questions.ask(ask(1));
    await quiet();
    expect(told().map((line) => line[4])).toEqual([words]);
    expect([await left(), did.at(-1)]).toEqual([[], "closed"]);
  });

  test("that takes longer than three minutes is given up, and nothing of it goes on", async () => {
    const { questions, told } = questionsOf({
      end: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(null))),
    });
    await questions.ask(ask(1));
    await quiet();
    await clock.advance(179_999);
    await quiet();
    expect(told()).toEqual([]);
    await clock.advance(1);
    await quiet();
    expect([told().map((line) => line[4]), clock.armed()]).toEqual([["💭 ⚠️ The model gave no answer."], 0]);
  });

  test("that the store would not take stays for the next start, twice in all; then its person is told", async () => {
    let isDown = true;
    const { questions, told } = questionsOf({
      post: () => {
        if (isDown) throw new Error("no store");
      },
    });
    await questions.ask(ask(1));
    await quiet();
    expect([await left(), did.at(-1)]).toEqual([["btw:m1 1"], "warn a side question could not be answered"]);
    await questions.heal();
    await quiet();
    expect(await left()).toEqual(["btw:m1 2"]);
    isDown = false;
    requests.length = 0;
    await questions.heal();
    await quiet();
    expect([told().map((line) => line[4]), await left(), requests]).toEqual([
      ["💭 ⚠️ I could not answer that."],
      [],
      [],
    ]);
  });

  test("is one at a time in a session, eight in all, and a place is free again after the answer", async () => {
    const waiting: (() => void)[] = [];
    const end = (): Promise<object> =>
      new Promise((resolve) => {
        waiting.push(() => resolve(says("done")));
      });
    const { questions, told } = questionsOf({ end });
    for (let n = 1; n <= 8; n += 1) expect(await questions.ask(ask(n))).toBeNull();
    await quiet();
    expect([await questions.ask(ask(1, { args: "again" })), await questions.ask(ask(9))]).toEqual([
      "One question at a time: I am still at the last one.",
      "Too many such questions are being answered just now; try again.",
    ]);
    // A start that looks for what was left does not begin what runs.
    await questions.heal();
    await quiet();
    expect(waiting).toHaveLength(8);
    waiting[0]?.();
    await quiet();
    expect(told().map(([id]) => id)).toEqual(["btw:m1"]);
    expect([await questions.ask(ask(9)), await questions.ask(ask(10))]).toEqual([
      null,
      "Too many such questions are being answered just now; try again.",
    ]);
    for (const finish of waiting.splice(1)) finish();
    await quiet();
  });
});
