// What hooks are told, in which order and how often, and what one that fails or hangs costs: nothing but its
// own call.
import { secret } from "@parley/config";
import { Fault, silentLog, sleep, type HookEvent } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Hook } from "../../src/hooks/judged-hook.ts";
import { hookMemory, hookRunner, type BundledHook } from "../../src/hooks/hook-runner.ts";
import { memoryStore } from "../receive/store.ts";

function hookNamed(name: string, more: Partial<Hook> = {}): Hook {
  return {
    name,
    key: name,
    description: "",
    emoji: null,
    homepage: null,
    source: "managed",
    agent: null,
    events: ["command"],
    file: `/hooks/${name}/HOOK.md`,
    handler: `/hooks/${name}/handler.ts`,
    exportName: "default",
    requires: [],
    always: false,
    eligible: true,
    timeoutMs: null,
    state: { status: "ready" },
    notes: [],
    ...more,
  };
}

type Code = (event: HookEvent, messages: string[]) => unknown;

async function running(
  hooks: { readonly [name: string]: Code },
  bundled: { [name: string]: BundledHook } = {},
  more: { readonly [name: string]: Partial<Hook> } = {},
  config: object = { hooks: {} },
) {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const memory = hookMemory();
  const counted: string[] = [];
  const lines: string[] = [];
  const limits: number[] = [];
  const claims: unknown[] = [];
  const all = [
    ...Object.keys(hooks).map((name) => hookNamed(name, more[name])),
    ...Object.keys(bundled).map((name) => hookNamed(name, { source: "bundled", handler: null })),
  ];
  const runner = hookRunner({
    config: config as never,
    registry: {
      hearing: async ({ action }) => {
        if (action === "unreadable") throw new Error("the folder cannot be read");
        return action === "unheard" ? [] : all;
      },
      envOf: ({ name }) => ({ OF: name }),
      settingsOf: ({ name }) => ({ of: name }),
    },
    processes: {
      async call(hook, env, event, limitMs) {
        limits.push(limitMs);
        const messages: string[] = [];
        const context = { ...event.context, env };
        const late = sleep(clock, limitMs).then(() => {
          throw new Fault("unavailable", `it took longer than ${limitMs} ms`);
        });
        late.catch(() => {}); // Where the hook came first.
        const returned = await Promise.race([hooks[hook.name]?.({ ...event, context }, messages), late]);
        const { env: _own, ...left } = context;
        return { messages, context: left, ...(Array.isArray(returned) ? { returned } : {}) };
      },
    },
    bundled,
    memory,
    counted: (hook, result) => void counted.push(`${hook} ${result}`),
    cells: {
      put: async (key, value, how) => {
        claims.push([key, how]);
        return store.cells.put(key, value, how);
      },
    },
    clock,
    log: {
      ...silentLog,
      error: (about: object, words: string) => void lines.push(`${words} ${JSON.stringify(about)}`),
    },
  });
  return { runner, clock, memory, counted, lines, limits, claims };
}

const event: HookEvent = { type: "command", action: "new", sessionKey: "agent:main:main", context: { a: 1 } };
const never = (): Promise<void> => new Promise(() => {});

test("hooks of an awaited event run one after the other; each sees what the one before left, and what they say is kept in order", async () => {
  const { runner } = await running({
    first: ({ context }, say) => {
      (context as { a: number }).a += 1;
      say.push("one");
    },
    throws: () => {
      throw new Error("broken");
    },
    last: ({ context }, say) => void say.push(`a is ${String(context["a"])}`),
  });
  expect(await runner.ask(event)).toMatchObject({ messages: ["one", "a is 2"], context: { a: 2 } });
});

const timed = async (clock: ReturnType<typeof virtualClock>, work: Promise<unknown>): Promise<number> => {
  const begun = clock.now();
  let took = -1;
  void work.then(() => (took = clock.now() - begun));
  await clock.advance(60_000);
  return took;
};

test("of several that hang a person waits three seconds in all, and the others say what they say in time", async () => {
  const say =
    (word: string): Code =>
    (_event, said) =>
      void said.push(word);
  const { runner, clock, counted } = await running({
    one: never,
    two: never,
    good: say("saved"),
    three: never,
  });
  const asked = runner.ask(event);
  expect(await timed(clock, asked)).toBe(3_000);
  expect(await asked).toMatchObject({ messages: ["saved"] });
  expect(counted.toSorted()).toEqual(["good ok", "one timed_out", "three timed_out", "two timed_out"]);
});

test("what one says after that comes later, once", async () => {
  const { runner, clock } = await running({
    slow: async (_event, say) => {
      await sleep(clock, 4_000);
      say.push("late");
    },
    quick: (_event, say) => void say.push("in time"),
  });
  const later: (readonly string[])[] = [];
  const asked = runner.ask(event, (said) => void later.push(said));
  await clock.advance(60_000);
  expect([await asked, later]).toMatchObject([{ messages: ["in time"] }, [["late"]]]);
});

test("a prompt's hooks have the limit of one together, and one behind a hang still has a second", async () => {
  const { runner, clock } = await running({
    one: never,
    two: never,
    good: ({ context }) => void ((context as { a: number }).a += 1),
  });
  const asked = runner.ask({ ...event, type: "agent", action: "bootstrap" });
  expect(await timed(clock, asked)).toBe(6_000);
  expect(await asked).toMatchObject({ context: { a: 2 } });
});

test("at the gateway's end one that hangs keeps no other from hearing of it", async () => {
  const heard: number[] = [];
  const { runner, clock } = await running({ hangs: never, good: () => void heard.push(clock.now()) });
  const begun = clock.now();
  expect(await timed(clock, runner.ask({ ...event, type: "gateway", action: "shutdown" }))).toBe(5_000);
  expect(heard.map((atMs) => atMs - begun)).toEqual([1_000]);
});

test("one that hangs costs its limit, and after three times in a row nothing for ten minutes", async () => {
  const { runner, clock, counted, memory } = await running({ hangs: never });
  for (const _nth of [1, 2, 3]) expect(await timed(clock, runner.ask(event))).toBe(3_000);
  await runner.ask(event);
  expect(counted).toEqual(["hangs timed_out", "hangs timed_out", "hangs timed_out", "hangs dropped"]);
  expect(memory.counts.get("hangs")).toMatchObject({
    runs: 3,
    timedOut: 3,
    dropped: 1,
    lastError: "it took longer than 5000 ms",
  });
  await clock.advance(600_000);
  const asked = runner.ask(event);
  await clock.advance(5_000);
  await asked;
  expect(counted.at(-1)).toBe("hangs timed_out");
});

test("one that hung three times is left alone for ten minutes to the millisecond, and alone: others hear all", async () => {
  const { runner, clock, counted } = await running({ hangs: never, good: () => {} });
  const ask = async (ms: number) => {
    const asked = runner.ask(event);
    await clock.advance(ms);
    await asked;
    return counted.splice(0).toSorted();
  };
  const both = ["good ok", "hangs timed_out"];
  expect([await ask(5_000), await ask(5_000), await ask(5_000)]).toEqual([both, both, both]);
  // It hung last just now.
  await clock.advance(599_999);
  expect(await ask(0)).toEqual(["good ok", "hangs dropped"]);
  await clock.advance(1);
  expect(await ask(5_000)).toEqual(both);
  expect(await ask(0)).toEqual(["good ok", "hangs dropped"]);
});

test("what has an id is told once, also to a process after a crash; what has none is told each time", async () => {
  const seen: string[] = [];
  const { runner } = await running({ one: ({ id }) => void seen.push(id ?? "none") });
  for (const id of ["x", "x", "y"]) await runner.ask({ ...event, id });
  await runner.ask(event);
  await runner.ask(event);
  expect(seen).toEqual(["x", "y", "none", "none"]);
});

test("nobody waits for a told event; its hook hears them in order, and at most 256 wait", async () => {
  const seen: unknown[] = [];
  const { runner, clock, counted } = await running({
    slow: async ({ context }) => {
      await sleep(clock, 1_000);
      seen.push(context["nth"]);
    },
  });
  for (let nth = 0; nth < 300; nth += 1) runner.tell({ ...event, context: { nth } });
  await clock.advance(400_000);
  expect(seen).toEqual(Array.from({ length: 256 }, (_, nth) => nth));
  expect(counted.filter((each) => each === "slow dropped")).toHaveLength(44);
});

test("events that come one after the other are all heard, however many", async () => {
  const seen: unknown[] = [];
  const { runner, clock, counted } = await running({ one: ({ context }) => void seen.push(context["nth"]) });
  for (let nth = 0; nth < 300; nth += 1) {
    runner.tell({ ...event, context: { nth } });
    await clock.advance(0);
  }
  expect([seen.length, counted.filter((each) => each !== "one ok")]).toEqual([300, []]);
});

test("a hook that only bears the name of one of Parley's own runs in its own process, and is waited for", async () => {
  const seen: string[] = [];
  const { runner, clock, limits } = await running(
    { own: (_event, say) => void (seen.push("theirs"), say.push("said")) },
    { own: async () => void seen.push("Parley's") },
  );
  expect(await runner.ask(event)).toMatchObject({ messages: ["said"] });
  await clock.advance(0);
  expect([seen.toSorted(), limits]).toEqual([["Parley's", "theirs"], [5_000]]);
});

test("one of Parley's own is never waited for", async () => {
  const { runner, clock, counted } = await running({}, { own: never });
  await runner.ask(event);
  expect(counted).toEqual([]);
  await clock.advance(60_000);
  expect(counted).toEqual(["own timed_out"]);
});

test("a prompt waits for the files of Parley's own hooks, each of which sees what the one before left", async () => {
  const adds =
    (name: string): BundledHook =>
    async ({ context }) => ({ context: { ...context, said: [context["said"], name].join("") } });
  const { runner } = await running({}, { one: adds("1"), two: adds("2") });
  const asked = { ...event, type: "agent", action: "bootstrap" } as const;
  expect(await runner.ask(asked)).toMatchObject({ context: { a: 1, said: "12" } });
  // Of any other event nobody waits for them.
  expect(await runner.ask(event)).toMatchObject({ context: { a: 1 } });
  expect((await runner.ask(event))?.context).not.toHaveProperty("said");
});

test("each call is counted under its hook with its last error, and what fails stands in the log", async () => {
  let how = "ok";
  const { runner, clock, memory, counted, lines } = await running(
    {
      odd: () => {
        if (how === "throw") throw new Error("broken");
        if (how === "abort") throw new Fault("aborted", "the gateway stops");
        return how === "hang" ? never() : undefined;
      },
    },
    {},
    { odd: { source: "config" } },
  );
  const ask = async (next: string) => {
    how = next;
    const asked = runner.ask(event);
    await clock.advance(5_000);
    await asked;
  };
  // One that works in between is not left alone: it does not hang each time.
  for (const next of ["hang", "hang", "ok", "hang", "throw", "abort", "ok"]) await ask(next);
  expect(counted).toEqual([
    "config timed_out",
    "config timed_out",
    "config ok",
    "config timed_out",
    "config failed",
    "config ok",
  ]);
  expect([...memory.counts]).toEqual([
    [
      "odd",
      { runs: 6, failed: 1, timedOut: 3, dropped: 0, lastAtMs: clock.now() - 5_000, lastError: "broken" },
    ],
  ]);
  const failed = (reason: string) =>
    `a hook failed ${JSON.stringify({ hook: "odd", file: "/hooks/odd/HOOK.md", event: "command:new", reason })}`;
  const late = failed("it took longer than 5000 ms");
  expect(lines).toEqual([late, late, late, failed("broken")]);
});

test("a hook has its own variables and the config without its secrets, of which nothing is passed on; what it returns is", async () => {
  const seen: unknown[] = [];
  const { runner } = await running({
    one: ({ context }) => {
      seen.push(context);
      return ["first"];
    },
    two: ({ context }) => void seen.push(context),
  });
  const answer = await runner.ask({ ...event, type: "agent", action: "bootstrap" });
  expect(seen).toEqual([
    { a: 1, cfg: { hooks: {} }, env: { OF: "one" } },
    { a: 1, cfg: { hooks: {} }, returned: ["first"], env: { OF: "two" } },
  ]);
  expect(answer).toEqual({ messages: [], context: { a: 1, returned: ["first"] } });
});

test("a hook sees what the config says, and of a secret only that there is one", async () => {
  const seen: unknown[] = [];
  const config = {
    gateway: { port: 1, token: secret("hunter2-hunter2") },
    agents: { list: [{ id: "main" }] },
  };
  const { runner } = await running({ one: ({ context }) => void seen.push(context["cfg"]) }, {}, {}, config);
  await runner.ask(event);
  expect(seen).toMatchObject([{ gateway: { port: 1 }, agents: { list: [{ id: "main" }] } }]);
  expect(JSON.stringify(seen)).not.toContain("hunter2");
});

test("one of Parley's own gets its settings and the event as it is", async () => {
  const seen: unknown[] = [];
  const { runner, clock } = await running({}, { own: async (...given) => void seen.push(given) });
  await runner.ask(event);
  await clock.advance(0);
  expect(seen).toEqual([[event, { of: "own" }]]);
});

test("a hook's own limit counts where somebody waits, up to half a minute, and where nobody does; the gateway's end has its own", async () => {
  const limitsOf = async (timeoutMs: number | null) => {
    const { runner, clock, limits } = await running({ one: () => {} }, {}, { one: { timeoutMs } });
    await runner.ask(event);
    runner.tell(event);
    await clock.advance(0);
    for (const action of ["shutdown", "pre-restart", "startup"])
      await runner.ask({ ...event, type: "gateway", action });
    return limits;
  };
  expect([await limitsOf(null), await limitsOf(2_000), await limitsOf(90_000)]).toEqual([
    [5_000, 60_000, 5_000, 10_000, 5_000],
    [2_000, 2_000, 5_000, 10_000, 2_000],
    [30_000, 90_000, 5_000, 10_000, 30_000],
  ]);
});

test("an event with an id is claimed for a week by its kind, before a hook hears of it; one that nobody hears is not", async () => {
  const { runner, claims, lines, clock } = await running({ one: () => {} });
  await runner.ask({ ...event, id: "x" });
  await runner.ask({ ...event, id: "x", action: "reset" });
  expect(await runner.ask({ ...event, id: "x", action: "unheard" })).toBeNull();
  expect(claims).toEqual([
    ["hook:command:new:x", { expect: 0, ttlMs: 604_800_000 }],
    ["hook:command:reset:x", { expect: 0, ttlMs: 604_800_000 }],
  ]);
  expect(await runner.ask({ ...event, action: "unreadable" })).toBeNull();
  runner.tell({ ...event, action: "unreadable" });
  await clock.advance(0);
  expect(lines).toEqual(
    Array.from(
      { length: 2 },
      () => 'hooks could not be told of an event {"event":"command:unreadable","error":{}}',
    ),
  );
});
