// What chat commands that look and set answer word for word, on both sides of their limits and with several
// members, and what they leave behind: the ports are what a test says.
import { Fault, type Inbound, version } from "@parley/protocol";
import { canvasId, startupDue } from "@parley/runner";
import { directMessage } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { activation } from "../../src/commands/answers/activation.ts";
import { model } from "../../src/commands/answers/model.ts";
import { reasoning } from "../../src/commands/answers/reasoning.ts";
import { think } from "../../src/commands/answers/think.ts";
import { tts } from "../../src/commands/answers/tts.ts";
import { verbose } from "../../src/commands/answers/verbose.ts";
import type { ChatCommand } from "../../src/commands/chat-command.ts";
import { exportSession } from "../../src/commands/conversation/export-session.ts";
import { forget } from "../../src/commands/conversation/forget.ts";
import { name } from "../../src/commands/conversation/name.ts";
import { newConversation, reset } from "../../src/commands/conversation/new.ts";
import { stop } from "../../src/commands/conversation/stop.ts";
import { unfocus } from "../../src/commands/conversation/unfocus.ts";
import { cron } from "../../src/commands/decide/cron.ts";
import { estop } from "../../src/commands/decide/estop.ts";
import { mcp } from "../../src/commands/decide/mcp.ts";
import { update } from "../../src/commands/decide/update.ts";
import { agents } from "../../src/commands/look/agents.ts";
import { canvas } from "../../src/commands/look/canvas.ts";
import { commandsOn } from "../../src/commands/look/commands.ts";
import { helpOn } from "../../src/commands/look/help.ts";
import { start } from "../../src/commands/look/start.ts";
import { status } from "../../src/commands/look/status.ts";
import { subagents } from "../../src/commands/look/subagents.ts";
import { tasks } from "../../src/commands/look/tasks.ts";
import { tools } from "../../src/commands/look/tools.ts";
import { whoami } from "../../src/commands/look/whoami.ts";

const lane = "agent:main:telegram:dm:7";
const inbound: Inbound = directMessage({ sender: { id: "7", name: "Olga" } });
const dm = inbound.address;
const group = { address: { ...dm, kind: "group" as const, peer: "-5" } };
const run = async (
  command: ChatCommand,
  args: string,
  ports: object,
  more: { readonly inbound?: object; readonly owner?: boolean; readonly route?: object } = {},
): Promise<string | null> => {
  const call = {
    args,
    key: lane,
    name: command.name,
    owner: more.owner ?? false,
    authority: "telegram:7",
    route: { session: lane, agent: "main", ...more.route },
    inbound: { ...inbound, ...more.inbound },
  };
  const said = await command.run(call as never, ports as never);
  return said as string | null;
};
const boss = { owner: true };

/** Sessions that remember what was set. Every command is about its own, and no other. */
function sessionsOf(fields: { [field: string]: unknown } = {}) {
  const patches: object[] = [];
  const isOwn = (key: string): void => {
    if (key !== lane) throw new Error(`another session: ${key}`);
  };
  return {
    patches,
    open: async (key: string) => (isOwn(key), { key, epoch: 3, fields }),
    patch: async (key: string, patch: object) => (
      isOwn(key),
      patches.push(patch),
      { fields: { ...fields, ...patch } }
    ),
  };
}
/** What belongs to the session that is asked for: of another one nothing. */
const ofOwn =
  <T>(found: readonly T[]) =>
  async (session: string): Promise<readonly T[]> =>
    session === lane ? found : [];

describe("/subagents", () => {
  const child = (id: string, more: object = {}) => ({
    id,
    label: `label ${id}`,
    session: `agent:main:subagent:${id}`,
    parent: lane,
    model: null,
    startedAtMs: 0,
    end: null,
    turn: "t",
    ...more,
  });
  const ended = { state: "done", reason: null, atMs: 5_000, tokens: 9 };
  const stage = (
    children: readonly { readonly id: string }[],
    rights: { readonly [id: string]: string } = {},
  ) => {
    const did: unknown[] = [];
    const inbox = {
      find: async ({ id }: { readonly id: string }) => {
        const authority = rights[id.replace("task:", "")];
        return authority === undefined ? [] : [{ id, authority, payload: "{}" }];
      },
      accept: async (rows: readonly { readonly id: string }[]) => void did.push(rows.map(({ id }) => id)),
    };
    const ports = {
      beside: {
        children: ofOwn(children),
        kill: async (one: { readonly id: string }, why: string) => (did.push(["kill", one.id, why]), [one]),
      },
      store: {
        inbox,
        cells: { get: async (key: string) => (key.includes("wait") ? { value: "{}" } : null) },
        sessions: {
          transcript: async (key: string, how: object) => (
            did.push([key, how]),
            ["x".repeat(294), "x".repeat(295)].map((text) => ({
              body: JSON.stringify({ type: "user", rows: [], content: [{ type: "text", text }], atMs: 1 }),
            }))
          ),
        },
      },
      redaction: { secrets: [], stateDirs: [], workspaces: [] },
      clock: { now: () => 10_000 },
    };
    return { did, ports };
  };

  test("lists twenty by number, and says how many more", async () => {
    const lines = async (count: number) =>
      (
        (await run(subagents, "", stage(Array.from({ length: count }, (_, n) => child(`c${n}`))).ports)) ?? ""
      ).split("\n");
    expect(await lines(0)).toEqual(["I have no sub-agents here."]);
    expect((await lines(2))[1]).toBe("2. c1 label c1: running, agent main, 10 s");
    expect([(await lines(20)).length, (await lines(22)).at(-1)]).toEqual([20, "… and 2 more."]);
  });

  test("ends one by its number or its id, or all that run, and each is named", async () => {
    const s = stage([child("a"), child("b", { end: ended }), child("c")]);
    expect(await run(subagents, "kill all", s.ports, boss)).toBe("Killed: a (label a), c (label c).");
    expect(await run(subagents, "kill 3", s.ports, boss)).toBe("Killed: c (label c).");
    expect(await run(subagents, "kill a", s.ports, boss)).toBe("Killed: a (label a).");
    const why = "killed by /subagents";
    expect(s.did).toEqual(["a", "c", "c", "a"].map((id) => ["kill", id, why]));
    expect(await run(subagents, "kill all", stage([child("b", { end: ended })]).ports, boss)).toBe(
      "No sub-agent is running.",
    );
    expect(await run(subagents, "kill 4", s.ports, boss)).toBe(
      'I have no sub-agent "4" here. /subagents lists them.',
    );
    // An id that looks like a number is the id.
    expect(await run(subagents, "kill 1", stage([child("z"), child("1")]).ports, boss)).toBe(
      "Killed: 1 (label 1).",
    );
    for (const args of ["kill", "end a"])
      expect(await run(subagents, args, s.ports, boss)).toMatch(/^Usage: \/subagents \[list/);
  });

  test("beside owners only whoever has the rights that it works with may act, of all that are meant", async () => {
    const s = stage([child("mine"), child("theirs")], { mine: "telegram:7", theirs: "telegram:8" });
    const refused = "Only an owner may do that: it works with the rights of others.";
    expect(await run(subagents, "kill mine", s.ports)).toBe("Killed: mine (label mine).");
    for (const args of ["kill theirs", "kill all", "log theirs", "steer theirs x"])
      expect(await run(subagents, args, s.ports)).toBe(refused);
    expect(await run(subagents, "kill gone", stage([child("gone")]).ports)).toBe(refused);
    expect(s.did).toHaveLength(1);
  });

  test("shows the newest of what one did, each line cut, below what it is now", async () => {
    const s = stage([child("a", { end: ended })]);
    const lines = ((await run(subagents, "log a", s.ports, boss)) ?? "").split("\n");
    expect(lines[0]).toBe("a label a: done, agent main, 5 s, 9 tokens");
    expect(lines.slice(1)).toEqual([`user: ${"x".repeat(294)}`, `user: ${"x".repeat(294)}…`]);
    expect(s.did).toEqual([["agent:main:subagent:a", { newest: true, limit: 12 }]]);
  });

  test("guides one that runs, and says why another cannot be", async () => {
    const s = stage([child("a"), child("b", { end: ended }), child("wait")]);
    expect(await run(subagents, "steer a", s.ports, boss)).toMatch(/^Usage/);
    expect(await run(subagents, "steer b go on", s.ports, boss)).toMatch(/^It has ended: ask me/);
    expect(await run(subagents, "steer wait go on", s.ports, boss)).toMatch(/^Its thread is not open yet/);
    expect(await run(subagents, "steer a go on", s.ports, boss)).toBe("It can no longer be reached.");
  });

  test("offers what can be done with eight of them, of one that ended its log alone", async () => {
    const many = Array.from({ length: 9 }, (_, n) => child(`c${n}`, n === 1 ? { end: ended } : {}));
    const { ports } = stage(many);
    const by = { route: { session: lane, agent: "main" }, inbound, owner: true } as never;
    const offered = (await subagents.suggests?.(by, ports as never)) ?? [];
    expect(offered.slice(0, 6).map(({ value }) => value)).toEqual([
      "list",
      "kill all",
      "kill c0",
      "log c0",
      "steer c0",
      "log c1",
    ]);
    expect(offered[2]).toEqual({ label: "kill label c0", value: "kill c0" });
    expect(offered.at(-1)?.value).toBe("steer c7");
  });
});

test("/tasks lists what still works, sub-agents first, twenty lines of them", async () => {
  const child = { label: "l", session: "agent:main:subagent:a", model: null, startedAtMs: 0, end: null };
  const command = (id: string, state = "running") => ({ id, command: "make", state, startedAtMs: 4_000 });
  const ports = (children: number, commands: readonly object[]) => ({
    beside: {
      children: ofOwn([
        { ...child, id: "over", end: { state: "done", reason: null, atMs: 1, tokens: 1 } },
        ...Array.from({ length: children }, (_, n) => ({ ...child, id: `a${n}` })),
      ]),
      commands: ofOwn(commands),
    },
    clock: { now: () => 10_000 },
  });
  expect(await run(tasks, "", ports(0, [command("c", "ended")]))).toBe(
    "Nothing works for this conversation now.",
  );
  expect(await run(tasks, "", ports(1, [command("c"), command("d", "ended")]))).toBe(
    "🤖 a0 l: running, agent main, 10 s\n⚙️ c make: running, 6 s",
  );
  const lines = ((await run(tasks, "", ports(19, [command("c"), command("d"), command("e")]))) ?? "").split(
    "\n",
  );
  expect([lines.length, lines[19]?.startsWith("⚙️ c"), lines.at(-1)]).toEqual([21, true, "… and 2 more."]);
  expect(((await run(tasks, "", ports(20, []))) ?? "").split("\n")).toHaveLength(20);
});

describe("/model", () => {
  const stage = (count = 2, own = "") => {
    const sessions = sessionsOf(own === "" ? {} : { model: own });
    const refs = Array.from({ length: count }, (_, n) => ({
      ref: `lab/m${n}`,
      alias: n === 1 ? "quick" : undefined,
    }));
    const ports = {
      config: { agents: { list: [{ id: "other" }, { id: "main" }] } },
      store: { sessions },
      models: { get: async (id: string) => ({ id }) },
      modelCatalog: {
        of: (
          agent: { readonly id: string },
          { fields }: { readonly fields: { readonly model?: string | null } },
        ) => ({
          primary: fields.model ?? `lab/m1`,
          fallbacks: agent.id === "main" ? ["lab/x", "lab/y"] : [],
          own: typeof fields.model === "string",
        }),
        choices: ({ id }: { readonly id: string }) => (id === "main" ? refs : [{ ref: "lab/of-another" }]),
        find: async ({ id }: { readonly id: string }, word: string) =>
          id === "main" && word === "quick"
            ? { ref: "lab/m1" }
            : { nearest: word === "quik" ? ["quick", "lab/m1"] : [] },
      },
    };
    return { sessions, ports, set: (args: string) => run(model, args, ports) };
  };
  const usageLine = "Usage: /model list, /model NAME, or /model default.";
  const byDefault = `Model: \`lab/m1\` (the default).\nWhen it fails: \`lab/x\`, \`lab/y\`.\n${usageLine}`;

  test("offers the names of the conversation's own agent, each by its alias where it has one", async () => {
    const offered = async (agent: string) =>
      model.suggests?.(
        { route: { session: lane, agent }, inbound, owner: false } as never,
        stage().ports as never,
      );
    const plain = ["default", "list"].map((value) => ({ label: value, value }));
    expect([await offered("main"), await offered("other"), await offered("gone")]).toEqual([
      [{ label: "lab/m0", value: "lab/m0" }, { label: "quick (lab/m1)", value: "quick" }, ...plain],
      [{ label: "lab/of-another", value: "lab/of-another" }, ...plain],
      plain,
    ]);
  });

  test("tells which one answers, why, and what comes when it fails", async () => {
    for (const args of ["", "status", "-s"]) expect(await stage().set(args)).toBe(byDefault);
    expect(await stage(2, "lab/m0").set("")).toMatch(/^Model: `lab\/m0` \(chosen for this conversation\)/);
    for (const args of ["default", "reset"]) {
      const s = stage(2, "lab/m0");
      expect([await s.set(args), s.sessions.patches]).toEqual([byDefault, [{ model: null }]]);
    }
  });

  test("lists forty by number with the one in use, and says how many more", async () => {
    expect(await stage().set("LIST")).toBe(
      ["1. `lab/m0`", "2. `lab/m1` (quick) - in use", usageLine].join("\n"),
    );
    const lines = async (count: number) => ((await stage(count).set("list")) ?? "").split("\n");
    expect([(await lines(40)).length, (await lines(43)).slice(-2)]).toEqual([
      41,
      ["… and 3 more.", usageLine],
    ]);
  });

  test("sets one by a word that names it, and is told what is near; the config's own words are refused", async () => {
    const s = stage();
    expect(await s.set("quick")).toBe("Model: `lab/m1` for this conversation.");
    // What comes along as a message is answered by it.
    expect(await s.set("quick hello")).toBeNull();
    expect(s.sessions.patches).toEqual([{ model: "lab/m1" }, { model: "lab/m1" }]);
    expect(await s.set("quik")).toBe(
      'I know no model "quik". Did you mean `quick`, `lab/m1`? /model list shows all.',
    );
    expect(await s.set(`\`${"x".repeat(90)}`)).toBe(
      `I know no model "${"x".repeat(80)}". /model list shows all.`,
    );
    for (const args of ["-a quick", "quick -g"])
      expect(await s.set(args)).toMatch(/^For the agent or for all the model is set in the config/);
    expect(s.sessions.patches).toHaveLength(2);
  });
});

test("/verbose and /tts tell and set what is shown and spoken; in a shared place only for owners", async () => {
  const s = sessionsOf();
  const ports = (voice: object = { name: "v" }) => ({
    store: { sessions: s },
    config: { messages: { tts: { auto: "off" } } },
    speech: { voice: () => voice },
  });
  const off = "Tool calls are not shown here.";
  expect(await run(verbose, "", ports())).toBe(`${off}\nUsage: /verbose on|off|full.`);
  expect(await run(verbose, "FULL", ports())).toMatch(/results\. From the next message on\.$/);
  expect([await run(verbose, "default", ports()), await run(verbose, "off", ports())]).toEqual([off, off]);
  expect(s.patches.splice(0)).toEqual([{ verbose: "full" }, { verbose: null }, { verbose: null }]);
  expect(await run(verbose, "loud", ports())).toBe("Usage: /verbose on|off|full.");
  for (const command of [verbose, tts]) {
    const refused = "Only an owner may set that here.";
    expect(await run(command, "off", ports(), { inbound: group })).toBe(refused);
    expect(await run(command, "nonsense", ports(), { inbound: group })).toMatch(/^Usage/);
    expect(await run(command, "off", ports(), { inbound: group, owner: true })).not.toBe(refused);
  }
  s.patches.splice(0);
  const heard = await Promise.all(
    ["on", "always", "inbound", "default"].map((args) => run(tts, args, ports())),
  );
  expect(heard.map((said) => said?.endsWith("From the next message on."))).toEqual([true, true, true, true]);
  expect(s.patches.map((patch) => Object.values(patch)[0] as unknown)).toEqual([
    "always",
    "always",
    "inbound",
    null,
  ]);
  const spoken = {
    off: "Replies here are not spoken.",
    always: "Replies here are also spoken, as voice notes.",
    inbound: "Replies to voice messages are also spoken here, as voice notes.",
    tagged: "Replies here are also spoken where I choose so.",
  };
  for (const [mode, words] of Object.entries(spoken)) {
    expect(await run(tts, ` ${mode.toUpperCase()} `, ports())).toBe(`${words} From the next message on.`);
    const now = { ...ports(), store: { sessions: sessionsOf({ tts: mode }) } };
    expect(await run(tts, "", now)).toBe(`${words}\nUsage: /tts off|always|inbound|tagged|default.`);
  }
  const shown = {
    off: "Tool calls are not shown here.",
    on: "Tool calls are shown here, with short arguments.",
    full: "Tool calls are shown here, with short arguments and the beginning of their results.",
  };
  for (const [level, words] of Object.entries(shown)) {
    const now = { store: { sessions: sessionsOf({ verbose: level }) } };
    expect(await run(verbose, "", now)).toBe(`${words}\nUsage: /verbose on|off|full.`);
    const told = level === "off" ? words : `${words} From the next message on.`;
    expect(await run(verbose, level, now)).toBe(told);
  }
  // Without a choice of the conversation the config holds.
  const config = { messages: { tts: { auto: "inbound" } } };
  expect(await run(tts, "default", { ...ports(), config })).toBe(
    `${spoken.inbound} From the next message on.`,
  );
  expect(await run(tts, "Status", ports({ unavailable: "nothing is installed" }))).toMatch(
    /\nBut nothing is installed\.\nUsage: \/tts off\|always/,
  );
  expect(await run(tts, "on", { ...ports(), speech: undefined })).toMatch(/\nBut nothing speaks here\.$/);
});

test("/activation is for groups, takes its words in any case, and tells what holds", async () => {
  const s = sessionsOf({ activation: "always" });
  const set = (args: string, where: object = group) =>
    run(activation, args, { store: { sessions: s } }, { inbound: where });
  expect(await set("always", {})).toBe("In private I answer everything; /activation is for groups.");
  expect(await set(" Always ")).toBe("From now on I answer to everything here.");
  expect(await set("MENTION")).toBe("From now on I answer here only when I am mentioned.");
  expect(await set("default")).toBe("From now on I do here as the config says.");
  expect(s.patches).toEqual([{ activation: "always" }, { activation: "mention" }, { activation: null }]);
  expect(await set("")).toMatch(/^Activation: always\.\nUsage/);
  expect(await run(activation, "x", { store: { sessions: sessionsOf() } }, { inbound: group })).toMatch(
    /^Activation: as the config says\./,
  );
});

test("/name gives sixty characters on one line as a name, tells it, and takes it away", async () => {
  const s = sessionsOf({ name: "Taxes" });
  const set = (args: string) => run(name, args, { store: { sessions: s } });
  expect(await set("")).toBe('Its name is "Taxes".');
  expect(await set(` a\nb${"c".repeat(57)} `)).toBe(`This conversation is "a b${"c".repeat(57)}" now.`);
  await set("d".repeat(61));
  expect(await set("OFF")).toBe("This conversation has no name now.");
  expect(s.patches).toEqual([
    { name: `a b${"c".repeat(57)}` },
    { name: `${"d".repeat(59)}…` },
    { name: null },
  ]);
  expect(await run(name, "", { store: { sessions: sessionsOf() } })).toMatch(
    /^This conversation has no name\. Usage/,
  );
});

test("/stop says what it ended: one or several messages, of the queue and of an answer, or what runs beside", async () => {
  const ended: unknown[] = [];
  const asked: unknown[] = [];
  const stopped = (turn: string | null, rows: number, beside: number, unsent: number) =>
    run(stop, "", {
      store: {
        inbox: {
          stop: async (...what: readonly unknown[]) => (
            asked.push(what),
            { turn, rows: Array.from({ length: rows }, (_, n) => `${n}`) }
          ),
        },
      },
      stop: {
        turn: (id: string) => void ended.push(id),
        beside: async (...what: readonly unknown[]) => (asked.push(what), beside),
        answers: async (...what: readonly unknown[]) => (asked.push(what), unsent),
      },
    });
  expect([
    await stopped(null, 0, 0, 0),
    await stopped("t", 0, 0, 0),
    await stopped(null, 1, 0, 0),
    await stopped(null, 2, 0, 0),
    await stopped(null, 0, 1, 0),
    await stopped(null, 0, 0, 1),
    await stopped("u", 2, 1, 3),
  ]).toEqual([
    "Nothing to stop.",
    "Stopped.",
    "Nothing was running. 1 waiting message was dropped.",
    "Nothing was running. 2 waiting messages were dropped.",
    "Stopped.",
    "Stopped. 1 message of my answer is not sent.",
    "Stopped. 2 waiting messages were dropped. 3 messages of my answer are not sent.",
  ]);
  expect(ended).toEqual(["t", "u"]);
  expect(asked.slice(0, 3)).toEqual([
    [lane, { turn: "open", rows: "all", reason: "/stop" }],
    [lane],
    [lane, "telegram:default:dm:7"],
  ]);
});

test("/forget shows ten lines, each cut, asks in private alone, and tells what went after a yes in any case", async () => {
  const line = (n: number, text = `words ${n}`) => ({ path: "MEMORY.md", line: n, text });
  const stage = (count: number, done: object | null = null) => {
    const lines = Array.from({ length: count }, (_, n) => line(n + 1));
    const asked: unknown[] = [];
    return {
      asked,
      ports: {
        forgetting: {
          ask: async (...what: readonly unknown[]) => {
            asked.push(what);
            if (what[2] === "bad") throw new Fault("invalid", "too few letters");
            return {
              lines: what[2] === "long" ? [line(1, ` ${"x".repeat(121)} `), line(2, "y".repeat(120))] : lines,
            };
          },
          confirm: async (...what: readonly unknown[]) => (asked.push(what), done),
        },
      },
    };
  };
  const shown = async (count: number) => ((await run(forget, "x", stage(count).ports)) ?? "").split("\n");
  expect(await shown(0)).toEqual([
    "No note says that. Conversations that do would lose it too.",
    "To do it: /forget yes",
  ]);
  expect([(await shown(10)).length, (await shown(13)).slice(10, 12)]).toEqual([
    12,
    ["- MEMORY.md#L10: words 10", "and 3 more lines"],
  ]);
  const s = stage(1);
  const long = ((await run(forget, "long", s.ports)) ?? "").split("\n");
  expect(long.slice(1, 3)).toEqual([
    `- MEMORY.md#L1: ${"x".repeat(120)}…`,
    `- MEMORY.md#L2: ${"y".repeat(120)}`,
  ]);
  expect(await run(forget, "bad", s.ports)).toBe("⚠️ Too few letters.");
  expect(await run(forget, "x", s.ports, { inbound: group })).toMatch(/^Ask me that in private/);
  expect(await run(forget, "YES", s.ports)).toMatch(/^There is nothing to confirm\. Usage/);
  expect(s.asked).toEqual([
    [lane, "main", "long"],
    [lane, "main", "bad"],
    [lane, "main"],
  ]);
  const done = (lines: number, history: number | null) =>
    run(forget, "yes", stage(0, { lines: Array.from({ length: lines }), history, notes: ["n"] }).ports);
  expect([await done(1, null), await done(2, 0)]).toEqual([
    "Forgotten: 1 line of notes.\n- n",
    "Forgotten: 2 lines of notes and 0 stored texts of conversations.\n- n",
  ]);
});

test("/export_session sends two files of the epoch that goes on, in one delivery that the message caused", async () => {
  const posted: unknown[] = [];
  const asked: unknown[] = [];
  const ports = (media: boolean, entries: readonly object[]) => ({
    store: {
      sessions: {
        ...sessionsOf(),
        transcript: async (key: string, how: object) => (asked.push([key, how]), entries),
      },
      outbox: { post: async (deliveries: readonly unknown[]) => void posted.push(...deliveries) },
    },
    channel: (account: string) => (account === "telegram:default" ? { capabilities: { media } } : null),
    mediaFolder: { keep: async (bytes: Uint8Array, extension: string) => `${bytes.length > 0}.${extension}` },
    redaction: { secrets: [], stateDirs: [], workspaces: [] },
  });
  const entry = { seq: 1, body: JSON.stringify({ type: "notice", text: "hi", atMs: 1 }) };
  expect(await run(exportSession, "", ports(false, [entry]))).toMatch(/^No files can be sent here/);
  expect(await run(exportSession, "", ports(true, []))).toBe("There is nothing to export yet.");
  expect(await run(exportSession, "", ports(true, [entry, entry]))).toBe(
    "2 entries of this conversation, without secrets.",
  );
  expect(asked.at(-1)).toEqual([lane, { epoch: 3, newest: true, limit: 5_000 }]);
  expect(posted).toMatchObject([
    {
      id: `export:${inbound.id}`,
      pool: "telegram:default",
      lane: "telegram:default:dm:7",
      cause: inbound.id,
    },
  ]);
  const [{ parts }] = posted as [{ parts: readonly { content: string }[] }];
  const { parts: files } = JSON.parse(parts[0]?.content ?? "") as {
    parts: readonly { files: readonly object[] }[];
  };
  expect(files.map(({ files: [each] }) => each)).toMatchObject([
    { path: "true.jsonl", mediaType: "application/jsonl", name: "session.jsonl" },
    { path: "true.html", mediaType: "text/html", name: "session.html" },
  ]);
});

test("/unfocus is for owners and for whoever has the rights that the sub-agent works with", async () => {
  const left: string[] = [];
  const session = "agent:main:subagent:a";
  const ports = (worker: string | null, authority?: string) => ({
    handOvers: {
      worker: (at: object) => (at === dm ? worker : null),
      unbind: async (who: string) => void left.push(who),
    },
    store: {
      inbox: {
        find: async ({ id }: { readonly id: string }) =>
          authority === undefined || id !== "task:a" ? [] : [{ authority }],
      },
    },
  });
  expect(await run(unfocus, "", ports(null))).toBe("No sub-agent works in this thread.");
  expect(await run(unfocus, "", ports(session, "telegram:8"))).toMatch(/^Only an owner may do that/);
  expect(await run(unfocus, "", ports(session))).toMatch(/^Only an owner may do that/);
  expect(left).toEqual([]);
  for (const more of [{}, boss])
    expect(await run(unfocus, "", ports(session, more === boss ? "telegram:8" : "telegram:7"), more)).toMatch(
      /^The sub-agent has left this thread/,
    );
  expect(left).toEqual([session, session]);
});

test("/cron run is one run for one message; its maker is the person, where the person is", async () => {
  const did: unknown[] = [];
  const listed: unknown[] = [];
  const job = { id: "j", name: "n" };
  const schedules = {
    list: async (...what: readonly unknown[]) => (listed.push(...what), [job]),
    get: async (...what: readonly unknown[]) => (did.push(what[1]), { job }),
    run: async (...what: readonly unknown[]) => void did.push(what),
  };
  await run(cron, "run 1", { schedules, clock: { now: () => 0 } }, boss);
  const maker = {
    agent: "main",
    kind: "command",
    sender: "telegram:7",
    isOwner: true,
    conversation: dm,
    session: lane,
    turn: null,
    authority: "telegram:7",
    tools: null,
  };
  expect([listed, did]).toEqual([[maker], [maker, ["j", maker, inbound.id]]]);
  const program = { ...dm, channel: "api" };
  await run(
    cron,
    "run 1",
    { schedules, clock: { now: () => 0 } },
    { ...boss, inbound: { channel: "api", address: program } },
  );
  expect(did[2]).toMatchObject({ conversation: null });
});

test("/estop, /mcp and /update are an owner's word alone, and say what came of it", async () => {
  const did: unknown[] = [];
  let isHeld = false;
  const hold = {
    hold: async (by: string) => (did.push(by), !isHeld && (isHeld = true)),
    release: async () => isHeld && !(isHeld = false),
  };
  for (const command of [estop, mcp, update]) expect(await run(command, "", {})).toBeNull();
  const said = [];
  for (const args of ["", "ON", "off", "resume", "x"]) said.push(await run(estop, args, { hold }, boss));
  expect(said).toEqual([
    expect.stringContaining("All tools are held, in all conversations"),
    expect.stringContaining("All tools were held before, and are."),
    "Tools may be used again.",
    "Tools were not held.",
    "Usage: /estop (hold all tools), or /estop off (let them go on).",
  ]);
  expect(did).toEqual(["telegram:7", "telegram:7"]);

  const server = (of: string, more: object = {}) => ({
    name: of,
    enabled: true,
    state: "ready",
    tools: [1, 2],
    waiting: [],
    code: "c1",
    ...more,
  });
  const servers = (list: readonly object[]) => ({
    mcp: {
      list: async () => list,
      async approve(of: string, code: string) {
        if (code === "bad") throw new Fault("conflict", "they changed since");
        return { tools: of === "none" ? [] : ["a", "b"] };
      },
    },
  });
  const all = servers([
    server("one"),
    server("two", { state: "failed", reason: "no such program", waiting: [{ name: "x" }, { name: "y" }] }),
    server("three", { enabled: false, reason: "r" }),
  ]);
  expect(await run(mcp, "", servers([]), boss)).toBe("There are no MCP servers (mcp.servers in the config).");
  expect(await run(mcp, "list", all, boss)).toBe(
    [
      "- **one**: ready, 2 tools",
      "- **two**: failed (no such program), 2 tools\n  2 wait: `x`, `y`. `/mcp approve two c1`",
      "- **three**: off, 2 tools",
    ].join("\n"),
  );
  expect([
    await run(mcp, "approve one c1", all, boss),
    await run(mcp, "approve none c1", all, boss),
    await run(mcp, "approve one bad", all, boss),
  ]).toEqual([
    "✅ Approved, and used from the next turn on: `a`, `b`",
    'Nothing of "none" waits for an approval.',
    "⚠️ they changed since",
  ]);
  for (const args of ["approve", "approve one", "approve one c1 more", "list one", "start"])
    expect(await run(mcp, args, all, boss)).toMatch(/^Usage: \/mcp/);

  const asked: unknown[] = [];
  const daemon = {
    updateCheck: async () => "1.2.3 is there.",
    update: async ({ id }: Inbound, to: string | undefined) => (asked.push([id, to]), "I update."),
  };
  for (const args of ["check", "--check"])
    expect(await run(update, args, { daemon }, boss)).toBe("1.2.3 is there.");
  for (const args of ["", "1.2.3-rc.1+b", `v${"1".repeat(63)}`])
    expect(await run(update, args, { daemon }, boss)).toBe("I update.");
  for (const args of ["checkup", "recheck"])
    expect(await run(update, args, { daemon }, boss)).toBe("I update.");
  expect(asked.splice(-2)).toEqual([
    [inbound.id, "checkup"],
    [inbound.id, "recheck"],
  ]);
  for (const args of ["now please", "-x", "--checkup", "--check now", `v${"1".repeat(64)}`, "1;2"])
    expect(await run(update, args, { daemon }, boss)).toMatch(/^Write \/update/);
  expect(asked).toEqual([
    [inbound.id, undefined],
    [inbound.id, "1.2.3-rc.1+b"],
    [inbound.id, `v${"1".repeat(63)}`],
  ]);
});

test("/agents names to others only the one that answers; each by its own model, this conversation's by what was chosen", async () => {
  const ports = {
    config: { agents: { list: [{ id: "main" }, { id: "other" }] } },
    store: { sessions: sessionsOf({ model: "chosen" }) },
    modelCatalog: {
      of: (
        { id }: { readonly id: string },
        { fields }: { readonly fields: { readonly model?: string } },
      ) => ({
        primary: fields.model ?? `default of ${id}`,
      }),
    },
  };
  expect(await run(agents, "", ports)).toBe("main: `chosen` - answers here");
  expect(await run(agents, "", ports, boss)).toBe("main: `chosen` - answers here\nother: `default of other`");
});

test("/canvas links below the public address, on the page to its own, with a title that ends no link", async () => {
  const put: unknown[] = [];
  const asked: string[] = [];
  const ports = (publicUrl: string | undefined, canvasCell: object | null) => ({
    config: { gateway: { publicUrl } },
    store: {
      cells: {
        get: async (key: string) => (
          asked.push(key),
          canvasCell === null ? null : { value: JSON.stringify(canvasCell), version: 1 }
        ),
        put: async (...what: readonly unknown[]) => void put.push(what),
      },
    },
    ids: { code: () => "c".repeat(32) },
  });
  const shownCanvas = {
    v: 1,
    id: "i",
    session: lane,
    agent: "main",
    title: "A [b](c)\\d",
    version: 1,
    shown: true,
    atMs: 1,
  };
  const none = "I show no page here. Ask me for one.";
  expect(await run(canvas, "", ports("https://g.test", null))).toBe(none);
  expect(await run(canvas, "", ports("https://g.test", { ...shownCanvas, shown: false }))).toBe(none);
  expect(await run(canvas, "", ports(undefined, shownCanvas))).toMatch(/^There are no links here/);
  expect(put).toEqual([]);
  for (const [url, begins] of [
    ["https://g.test", "https://g.test/canvas.html#"],
    ["https://g.test/p/", "https://g.test/p/canvas.html#"],
  ] as const)
    expect(await run(canvas, "", ports(url, shownCanvas))).toContain(`[A b(c)d](${begins}`);
  const web = { address: { ...dm, channel: "web" } };
  expect(await run(canvas, "", ports(undefined, shownCanvas), { inbound: web })).toContain("](canvas.html#");
  expect(put).toHaveLength(3);
  expect(put[0]).toMatchObject([expect.any(String), expect.any(String), { ttlMs: expect.any(Number) }]);
  // Of this session's page, and for this chat.
  expect(new Set(asked)).toEqual(new Set([`canvas:${canvasId(lane as never)}`]));
  expect(JSON.stringify(put[0])).toContain("telegram:default:dm:7");
});

test("/help and /commands list each command once, for owners also theirs, and the nearest to a wrong word", async () => {
  const command = (of: string, aliases?: object) => ({ name: of, summary: `does ${of}`, aliases }) as never;
  const listed = (owner: boolean) => [
    command("help"),
    command("stop"),
    command("whoami", { id: "" }),
    command("extra"),
    ...(owner ? [command("restart")] : []),
  ];
  const help = helpOn(listed);
  expect(await run(help, "", {})).toBe("/stop - does stop\n/whoami - does whoami\n/extra - does extra");
  expect(await run(help, "", {}, boss)).toMatch(/\n\/restart - does restart$/);
  for (const args of ["ID", "/whoami", "whoami please", "whoami  please", "/WhoAmI\tplease"])
    expect(await run(help, args, {})).toBe("/whoami - does whoami");
  expect(await run(help, "help", {})).toBe("/help - does help");
  expect(await run(help, "q".repeat(41), {})).toBe(
    `There is no command /${"q".repeat(40)}. /help lists them.`,
  );
  expect(await run(help, "stpo", {})).toBe(
    "There is no command /stpo. Did you mean /stop? /help lists them.",
  );
  expect(await run(help, "constructor", {})).toMatch(/^There is no command \/constructor\./);
  expect(await run(help, "restart", {})).toMatch(/^There is no command \/restart\./);
  const skills = {
    menu: async (agent: string) => (agent === "main" ? [{ name: "plants", description: "waters" }] : []),
  };
  const all = commandsOn(listed);
  expect(await run(all, "", { skills }, boss)).toBe(
    [
      "**Conversation**\n/stop - does stop",
      "**Look**\n/help - does help",
      "**Decide**\n/restart - does restart",
      "**More**\n/whoami - does whoami\n/extra - does extra",
      "**Skills**\n/plants - waters",
    ].join("\n\n"),
  );
  expect(await run(all, "", { skills }, { route: { agent: "other" } })).not.toMatch(/Skills|Decide/);
});

test("/start and /whoami say who is who, and a session's name in private alone", async () => {
  expect(await run(start, "", {})).toMatch(/^Hello! I am an AI agent, here.*Just write what you want/);
  expect(await run(start, "", {}, { inbound: group, route: { agent: "ops" } })).toMatch(
    /^Hello! I am "ops", an AI agent, here.*Mention me/,
  );
  const channel = { address: { ...group.address, kind: "channel" as const } };
  expect(await run(start, "", {}, { inbound: channel })).toMatch(/Mention me, or reply to me, and I answer/);
  expect(await run(whoami, "", {}, boss)).toBe(
    `You are \`telegram:7\`, an owner.\nThis chat is \`7\`.\nSession: \`${lane}\``,
  );
  expect(await run(whoami, "", {}, { inbound: { address: { ...group.address, thread: "9" } } })).toBe(
    "You are `telegram:7`.\nThis chat is `-5`, thread `9`.",
  );
});

describe("/new and /reset", () => {
  const begin = async (
    command: ChatCommand,
    { args = "", model: word, said = [] }: { args?: string; model?: string; said?: readonly string[] } = {},
  ) => {
    const did: unknown[] = [];
    const begun = { session: { epoch: 4 }, previous: { epoch: 3 } };
    const ports = {
      config: { agents: { list: [{ id: "other" }, { id: "main" }] } },
      modelCatalog: {
        find: async ({ id }: { readonly id: string }, asked: string) => (
          did.push(["find", id, asked]),
          asked === "quick" ? { ref: "lab/quick" } : { nearest: [] }
        ),
      },
      heard: {
        beginAnew: async (...what: readonly unknown[]) => (did.push(["begin", ...what]), begun),
        ended: async (...what: readonly unknown[]) => (did.push(["ended", ...what]), said),
      },
    };
    const call = {
      args,
      key: lane,
      name: command.name,
      inbound,
      ...(word === undefined ? {} : { model: word }),
    };
    const end = (await command.run(call as never, ports as never)) as { readonly answer: string | null };
    return { end, did, begun };
  };
  const kept = "What was said before is kept, but I no longer look at it.";

  test("begin anew by their own name, tell the hooks, and answer with what these say below", async () => {
    for (const command of [newConversation, reset]) {
      const { end, did, begun } = await begin(command);
      expect(end).toEqual({ answer: `A new conversation. ${kept}`, patch: startupDue(4) });
      expect(did).toEqual([
        ["begin", lane, `/${command.name}`],
        ["ended", command.name, lane, inbound, begun],
      ]);
    }
    expect((await begin(newConversation, { said: ["one", "two"] })).end.answer).toBe(
      `A new conversation. ${kept}\n\none\n\ntwo`,
    );
  });

  test("with a model that the agent can call it answers from then on; another leaves it as it was", async () => {
    const { end, did } = await begin(newConversation, { args: "quick", model: "quick" });
    expect(end).toEqual({
      answer: `A new conversation with \`lab/quick\`. ${kept}`,
      patch: { model: "lab/quick", ...startupDue(4) },
    });
    expect(did[0]).toEqual(["find", "main", "quick"]);
    expect((await begin(newConversation, { args: "gone", model: "gone" })).end).toEqual({
      answer: `A new conversation. ${kept} \`gone\` cannot be used now: the model stays as it was.`,
      patch: startupDue(4),
    });
  });

  test("a message that comes along is answered by itself: only trouble and hooks are told before", async () => {
    const args = "quick hello";
    expect((await begin(newConversation, { args, model: "quick" })).end).toEqual({
      answer: null,
      patch: { model: "lab/quick" },
    });
    expect((await begin(newConversation, { args: "hello", said: ["saved"] })).end).toEqual({
      answer: "saved",
      patch: {},
    });
    expect(
      (await begin(newConversation, { args: "gone hello", model: "gone", said: ["saved"] })).end,
    ).toEqual({
      answer: "A new conversation. `gone` cannot be used now: the model stays as it was.\n\nsaved",
      patch: {},
    });
  });
});

describe("/think and /reasoning", () => {
  const levels = ["off", "low", "high"];
  const stage = (fields: { [field: string]: unknown } = {}, usual: object = { thinkingDefault: "low" }) => {
    const sessions = sessionsOf(fields);
    const did: unknown[] = [];
    const ports = {
      config: {
        agents: { defaults: { models: {} }, list: [{ id: "other" }, { id: "main", ...usual }] },
      },
      store: { sessions },
      models: {
        get: async (id: string) => (did.push(id), { id, reasoning: true, thinking: levels }),
      },
      modelCatalog: {
        of: ({ id }: { readonly id: string }, session: { readonly fields: { readonly model?: string } }) => ({
          primary: session.fields.model ?? `lab/of-${id}`,
        }),
      },
    };
    return { sessions, did, ports };
  };
  const offered = async (command: ChatCommand, ports: object, agent = "main") =>
    (
      (await command.suggests?.(
        { route: { session: lane, agent }, inbound, owner: false } as never,
        ports as never,
      )) ?? []
    ).map(({ value }) => value);

  test("offer what the conversation's own model takes, and the default; an agent that is gone offers nothing", async () => {
    const s = stage({ model: "lab/own" });
    const usual = await offered(think, s.ports);
    expect(usual.at(-1)).toBe("default");
    expect(usual).toEqual([...levels, "default"]);
    expect(s.did).toEqual(["lab/own"]);
    expect(await offered(think, s.ports, "gone")).toEqual([]);
    expect(await offered(reasoning, s.ports)).toEqual(["off", "on", "stream", "default"]);
  });

  test("tell what holds and whose word that is; the default again takes back only their own setting", async () => {
    const set = async (command: ChatCommand, args: string, fields: object) => {
      const s = stage({ ...fields });
      return [await run(command, args, s.ports), s.sessions.patches];
    };
    const usage = "Usage: /reasoning off|on|stream, or /reasoning default.";
    expect(await set(reasoning, "", {})).toEqual([`Reasoning: off (the default).\n${usage}`, []]);
    expect(await set(reasoning, "", { reasoning: "stream" })).toEqual([
      `Reasoning: stream (set for this conversation).\n${usage}`,
      [],
    ]);
    expect(await set(reasoning, "default", { reasoning: "stream", thinking: "high" })).toEqual([
      "Reasoning: off. My thoughts stay hidden.",
      [{ reasoning: null }],
    ]);
    const [told, patches] = await set(think, "DEFAULT", { thinking: "high", reasoning: "on" });
    expect([told, patches]).toEqual(["Thinking: low, the default.", [{ thinking: null }]]);
    expect((await set(think, "", { thinking: "high" }))[0]).toMatch(
      /^Thinking: high \(set for this conversation\)\.\nLevels of `lab\/of-main`: .*high\. Usage: \/think LEVEL, or \/think default\.$/,
    );
    expect((await set(think, "", {}))[0]).toMatch(/^Thinking: low \(the default\)\./);
  });

  test("a word that is no level is shown in forty characters, without marks, and nothing is set", async () => {
    const s = stage();
    expect(await run(think, `\`${"z".repeat(50)} more`, { ...s.ports })).toMatch(
      new RegExp(`^"${"z".repeat(40)}" is no level of thinking\\. Valid levels of \`lab/of-main\`: off, `),
    );
    expect(s.sessions.patches).toEqual([]);
  });
});

describe("/tools", () => {
  const stage = (more: object = {}, held: object | null = null) => {
    const asked: unknown[] = [];
    const here = {
      tools: [{ name: "read", summary: "reads", effect: "reads" }],
      refused: new Map(),
      decision: {
        removed: [
          { tool: "exec", rule: "tools.deny" },
          { tool: "write", rule: "a stranger asked" },
        ],
        reason: "nobody may",
      },
      unavailable: [{ tool: "browser", reason: "no browser is installed" }],
      ...more,
    };
    return {
      asked,
      ports: {
        store: { sessions: sessionsOf() },
        turnPreparer: { prompt: async (what: object) => (asked.push(what), { here }) },
        hold: { now: async () => held },
      },
    };
  };

  test("answers for the person who asks, in the place where they ask", async () => {
    const s = stage();
    expect(await run(tools, "", s.ports, { owner: true })).toMatch(
      /^Tools that I may use here: 1 of \d+\.\n\n\*\*[^*]+\*\*\n- `read`: .+\n\nWhy, or why not: \/tools NAME$/,
    );
    expect(s.asked).toMatchObject([
      {
        agent: "main",
        session: { key: lane },
        place: inbound,
        by: { owner: true, senders: ["telegram:7"] },
      },
    ]);
  });

  test("lists each section with its tools, as the catalogue has them", async () => {
    const tool = (name: string) => ({ name, summary: `does ${name}`, effect: "reads" });
    const many = stage({
      tools: ["web_search", "read", "exec", "write"].map(tool),
      decision: { removed: [] },
    });
    const told = ((await run(tools, "", many.ports)) ?? "").replace(/of \d+/, "of ALL");
    const lines = told.split("\n");
    expect(lines[0]).toBe("Tools that I may use here: 4 of ALL.");
    expect(lines.at(-1)).toBe("Why, or why not: /tools NAME");
    expect(lines.slice(1, -2).map((line) => line.replace(/: .*/, ""))).toEqual([
      "",
      "**fs**",
      "- `read`",
      "- `write`",
      "",
      "**runtime**",
      "- `exec`",
      "",
      "**web**",
      "- `web_search`",
    ]);
  });

  test("says why there is none at all, and that all are held", async () => {
    const none = stage({ tools: [] });
    expect(await run(tools, "", none.ports)).toBe("I may use no tool here: nobody may.");
    const plain = stage({ tools: [], decision: { removed: [] } }, { by: "x" });
    expect(await run(tools, "", plain.ports)).toBe(
      "I may use no tool here.\n🛑 All tools are held by /estop; an owner lets them go on with /estop off.",
    );
  });

  test("explains one by its name in any case; why the machine has none is an owner's to know", async () => {
    const said = (args: string, owner = false) => run(tools, args, stage().ports, { owner });
    expect(await said("  EXEC  please")).toBe("I may not use `exec` here: tools.deny.");
    expect(await said("write")).toBe("I may not use `write` here: a stranger asked.");
    expect(await said("read")).toMatch(
      /^I may use `read` here: it is there, and no rule takes it away\. .+\.$/,
    );
    const hidden = "`browser` cannot be had here. The operator sees why with `parley tools explain browser`.";
    expect(await said("browser")).toBe(hidden);
    expect(await said("browser", true)).toBe("`browser` cannot be had here: no browser is installed.");
    expect(await run(tools, "browser", stage({ unavailable: [] }).ports, boss)).toBe(hidden);
    expect(await said("exce")).toBe(
      'There is no tool "exce". Did you mean `exec`? /tools shows those that I may use.',
    );
    expect(await said(`\`${"q".repeat(41)}`)).toBe(
      `There is no tool "${"q".repeat(40)}". /tools shows those that I may use.`,
    );
  });
});

describe("/status", () => {
  const usage = (inputTokens: number, outputTokens: number, more: object = {}) => ({
    inputTokens,
    outputTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    ...more,
  });
  const entry = (type: string, more: object = {}) => ({
    body: JSON.stringify({ type, content: [], model: "m", stop: "stop", atMs: 1, rows: [], ...more }),
  });
  const prompted: object[] = [];
  const ports = ({
    state = "ok",
    waiting = 0,
    claimed = 0,
    held = null as object | null,
    entries = [] as readonly object[],
    total = usage(0, 0) as object,
  } = {}) => ({
    config: { messages: { queue: { mode: "collect", debounceMs: 1, cap: 1, drop: "old", byChannel: {} } } },
    store: {
      sessions: { ...sessionsOf({ usage: total }), transcript: async () => entries },
      inbox: {
        find: async (query: { readonly lane: string; readonly state: string; readonly limit: number }) => {
          const { lane: of, state: which, limit } = query;
          const there = of !== lane ? 0 : which === "waiting" ? waiting : claimed;
          return Array.from({ length: Math.min(limit, there) });
        },
      },
    },
    turnPreparer: {
      prompt: async (what: object) => (
        prompted.push(what),
        {
          model: { id: "lab/m", contextWindow: 200_000 },
          facts: {
            stable: { agent: "main" },
            surface: {
              session: lane,
              host: "the-host",
              repo: "/the-repo",
              os: "linux",
              arch: "x64",
              node: "v1",
              shell: "/bin/the-shell",
            },
          },
        }
      ),
    },
    daemon: { report: async () => ({ state }) },
    hold: { now: async () => held },
  });
  const lines = async (
    how: Parameters<typeof ports>[0],
    more: Parameters<typeof run>[3] = { inbound: group },
  ) => ((await run(status, "", ports(how), more)) ?? "").split("\n");

  test("in a group tells health, model, fill and queue, and nothing of the machine or the cost", async () => {
    const entries = [
      entry("assistant", { usage: usage(1, 1) }),
      entry("assistant", {
        usage: usage(4_000, 500, { cacheReadTokens: 5_000, cacheWriteTokens: 1_000 }),
      }),
      entry("user"),
    ];
    expect(await lines({ entries, claimed: 1, waiting: 99 })).toEqual([
      "Parley: ok",
      "Model: `lab/m`",
      "Context: 11k of 200k tokens (5 %)",
      "Queue: collect; working, 99 waiting",
    ]);
    expect(await lines({ state: "degraded", held: { by: "x" }, waiting: 100 })).toEqual([
      "Parley: degraded (the operator sees why with `parley status`)",
      "🛑 Tools: held by /estop; an owner lets them go on with /estop off",
      "Model: `lab/m`",
      "Context: 0 of 200k tokens (0 %)",
      "Queue: collect; idle, 100 or more waiting",
    ]);
  });

  test("in private tells what was used, the session, and of the machine to owners alone", async () => {
    const total = usage(1_500, 12_345, { cacheReadTokens: 200, cacheWriteTokens: 300, costUsd: 0.126 });
    const shown = await lines({ total }, {});
    expect(shown.slice(0, 6)).toEqual([
      `Parley ${version}: ok`,
      "Model: `lab/m`",
      "Context: 0 of 200k tokens (0 %)",
      "Queue: collect; idle, 0 waiting",
      "Used so far: 2.0k tokens in, 12k out, $0.13",
      `Session: \`${lane}\``,
    ]);
    expect(shown[6]).toBe("Runtime: agent=main | os=linux (x64) | node=v1");
    expect((await lines({}, boss)).slice(4)).toEqual([
      "Used so far: 0 tokens in, 0 out",
      `Session: \`${lane}\``,
      "Runtime: agent=main | host=the-host | repo=/the-repo | os=linux (x64) | node=v1 | shell=/bin/the-shell",
    ]);
    // The prompt is the one of this place.
    prompted.length = 0;
    await lines({}, { inbound: { ...group, guild: "g", parent: "p" } });
    await lines({}, {});
    expect(prompted).toMatchObject([
      { agent: "main", session: { key: lane }, place: { address: group.address, guild: "g", parent: "p" } },
      { agent: "main", session: { key: lane }, place: { address: dm } },
    ]);
    // What fills the context is looked for among the fifty newest entries.
    const asked: unknown[] = [];
    const made = ports({});
    const transcript = async (...what: readonly unknown[]) => (asked.push(what), []);
    const sessions = { ...made.store.sessions, transcript };
    await run(status, "", { ...made, store: { ...made.store, sessions } });
    expect(asked).toEqual([[lane, { newest: true, limit: 50 }]]);
  });
});
