// How the message path is put together: what hooks hear of one talk and what they say into it, what /stop
// and /estop reach beside the turns, what a failed parent leaves, and what a start looks through.
import type { HookEvent } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import type { Answer } from "./scripted-model.ts";
import { stage, type Stage, type StageOptions } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const config = { commands: { ownerAllowFrom: ["telegram:olga"] } };
const lane = "agent:main:telegram:dm:olga";

/** One hook that hears everything, and is asked in this process. */
function hearing(says: (event: HookEvent) => readonly string[] = () => []) {
  const heard: HookEvent[] = [];
  const hook = {
    name: "all",
    key: "all",
    source: "managed",
    agent: null,
    events: [],
    file: "/h",
    handler: "/h",
    timeoutMs: null,
  };
  const parts = {
    registry: { hearing: async () => [hook], envOf: () => ({}), settingsOf: () => ({}) },
    processes: {
      call: async (_hook: object, _env: object, event: HookEvent) => {
        const { cfg: _config, ...context } = event.context;
        heard.push({ ...event, context });
        const files = context["bootstrapFiles"];
        if (!Array.isArray(files)) return { messages: says(event), context };
        const added = { name: "TOOLS.md", path: "/TOOLS.md", missing: false, content: "The hook was here." };
        return { messages: [], context: { ...context, bootstrapFiles: [...(files as object[]), added] } };
      },
      close: () => {},
    },
    counted: () => {},
    home: "/h",
  } as unknown as NonNullable<StageOptions["hookParts"]>;
  return { heard, parts };
}

test("hooks hear a talk from its first word to its last in order, add to the prompt, and say something to the end of a conversation", async () => {
  const { heard, parts } = hearing(({ action }) => (action === "new" ? ["It was saved."] : []));
  s = await stage({ config, hookParts: parts });
  const olga = s.person("olga");
  await olga.says("hello").gets("re: hello");
  await olga.says("/whoami").gets(/an owner/);
  await olga.says("/new").gets(/^A new conversation\.[\s\S]*\n\nIt was saved\.$/);
  await s.pass(1_000);
  const [asked] = s.model.asked;
  expect(`${asked?.request.system.stable}${asked?.request.system.volatile}`).toContain("The hook was here.");
  expect(heard.map(({ type, action, sessionKey }) => `${type}:${action} ${sessionKey}`)).toEqual(
    [
      "message:received",
      "agent:bootstrap",
      "message:preprocessed",
      "message:sent",
      "command:whoami",
      "message:sent",
      "command:new",
      "message:sent",
    ].map((name) => `${name} ${lane}`),
  );
});

test("a newer message ends the running answer at once where the config says so", async () => {
  s = await stage({ config: { ...config, messages: { queue: { mode: "interrupt" } } } });
  s.model.answers(({ text }) => (text === "one" ? { afterMs: 600_000, says: ["late"] } : `re: ${text}`));
  const olga = s.person("olga");
  olga.says("one");
  await s.until(() => s.model.asked.length === 1, "the first question");
  const from = s.clock.mono();
  await olga.says("two").gets(/two$/);
  expect(s.clock.mono() - from).toBe(0);
});

test("a platform that shows that an answer is awaited hears it of a message that /stop drops, of its own command alone", async () => {
  const settled: unknown[] = [];
  s = await stage({
    config: { ...config, messages: { queue: { mode: "followup" } } },
    hooks: (channels) => {
      const channel = channels.get("telegram:default");
      if (channel === undefined) throw new Error("there is one");
      const settle = async (events: readonly string[]) => void settled.push(events);
      channels.set("telegram:default", Object.assign(Object.create(channel) as typeof channel, { settle }));
      return [];
    },
  });
  s.model.answers(() => ({ afterMs: 600_000, says: ["late"] }));
  const olga = s.person("olga");
  olga.says("one");
  await s.until(() => s.model.asked.length === 1, "the first question");
  const { event } = olga.says("/dance", { kind: "command" });
  olga.says("plain words");
  await s.pass(100);
  await olga.says("/stop").gets("Stopped. 2 waiting messages were dropped.");
  await s.pass(5_000);
  expect((await s.deliveries()).map(({ id }) => id).filter((id) => id.endsWith("/unanswered"))).toEqual([
    `${event.id}/unanswered`,
  ]);
  expect(settled).toContainEqual([event.id]);
});

test("what speaks here is what the machine has", async () => {
  const speech = { voice: () => ({ unavailable: "the voice is hoarse" }) };
  s = await stage({ config, catalogue: true, ports: () => ({ speech }) as never });
  await s
    .person("olga")
    .says("/tts")
    .gets(/^Replies here are not spoken\.\nBut the voice is hoarse\.\n/);
});

test("/stop ends the background commands of its own session, /estop those of all", async () => {
  const ended: unknown[] = [];
  const commands = {
    list: async () => [{ id: "c1", state: "running" }],
    end: async (...of: readonly unknown[]) => void ended.push(of),
  };
  s = await stage({ config, catalogue: true, ports: () => ({ exec: { commands } }) as never });
  const olga = s.person("olga");
  await olga.says("/stop").gets("Stopped.");
  await olga.says("/estop").gets(/^🛑 All tools are held/);
  expect(ended).toEqual([[lane], []]);
});

test("what a sub-agent that failed had begun ends with it, and says why", async () => {
  s = await stage({ config, catalogue: true });
  const spawn = (task: string): Answer => ({
    calls: { name: "sessions_spawn", args: { task, label: task } },
  });
  s.model.answers(({ messages, users, text }) => {
    const task = /Task from session \S+: (\S+)/.exec(users[0] ?? "")?.[1];
    if (task === "below") return { afterMs: 600_000, says: ["too late"] };
    const isAnswered = messages.at(-1)?.role === "tool";
    if (task === "above") return isAnswered ? { afterMs: 5_000, fails: "refused" } : spawn("below");
    return isAnswered || text.includes("Sub-agent") ? "begun" : spawn("above");
  });
  await s.person("olga").says("begin").gets("begun");
  const ends = async () =>
    (await s.store().cells.list("child:", 10)).map(({ value }) => {
      const { label, end } = JSON.parse(value) as {
        readonly label: string;
        readonly end: { readonly state: string; readonly reason: string } | null;
      };
      return `${label} ${end?.state} ${end?.reason}`;
    });
  await s.until(async () => (await ends()).every((end) => !end.includes("undefined")), "both ends", 60_000);
  expect((await ends()).toSorted()).toEqual([
    expect.stringMatching(/^above failed refused/),
    "below stopped its parent failed",
  ]);
});

test.each(["memory-proposal:", "approval:", "question:", "child:"])(
  "a start that cannot look through %s says so in the log, and the chat is answered",
  async (prefix) => {
    s = await stage({
      config,
      store: (store) => ({
        ...store,
        cells: {
          ...store.cells,
          list: async (of, limit) => {
            if (of.startsWith(prefix)) throw new Error(`${prefix} cannot be read`);
            return store.cells.list(of, limit);
          },
        },
      }),
    });
    await s.person("olga").says("hello").gets("re: hello");
    const said = s.logged.filter(({ words }) => words.startsWith("what waited before the start"));
    expect(said).toMatchObject([
      { level: "warn", words: "what waited before the start could not be looked through" },
    ]);
  },
);
