// What an operator chooses on a page and what it then asks or where it goes: sessions and turns of a prompt,
// agents, levels, versions, settings of a session, changes of a proposal; what stays, and what is forgotten
// when one turns elsewhere.
import type { MethodParams, MethodResult } from "@parley/protocol";
import { expect, test } from "vitest";
import { Activity } from "../../src/pages/activity.ts";
import { Audit } from "../../src/pages/audit.ts";
import { Backups } from "../../src/pages/backups.ts";
import { Channels } from "../../src/pages/channels.ts";
import { Devices } from "../../src/pages/devices.ts";
import { Logs } from "../../src/pages/logs.ts";
import { McpServers } from "../../src/pages/mcp.ts";
import { Memory } from "../../src/pages/memory.ts";
import { Models } from "../../src/pages/models.ts";
import { Nodes } from "../../src/pages/nodes.ts";
import { Outbox } from "../../src/pages/outbox.ts";
import { Overview } from "../../src/pages/overview.ts";
import { Prompt } from "../../src/pages/prompt.ts";
import { Schedules } from "../../src/pages/schedules.ts";
import { Sessions } from "../../src/pages/sessions.ts";
import { Skills } from "../../src/pages/skills.ts";
import { MessageStory } from "../../src/pages/story.ts";
import { Tools } from "../../src/pages/tools.ts";
import { Update } from "../../src/pages/update.ts";
import { memoryStorage } from "../fake-gateway.ts";
import { nowMs, showPage, type ShownPage } from "./show-page.ts";

// What draws a code is fetched when the first one is shown; fetched before, it is there at once.
await import("uqr");

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** What was asked, without the readings that a page repeats by itself. */
const did = ({ asked }: ShownPage, ...methods: readonly string[]): readonly string[] =>
  asked.filter((each) => methods.includes(each.split(" ")[0] ?? ""));

test("a prompt of another session is its newest; another turn keeps what it is compared with", async () => {
  const explained = (turn: number | null) =>
    ({
      session: "agent:main:web:dm:1",
      turn,
      stableHash: "h",
      moved: null,
      explanation: {
        mode: "full",
        sections: [
          { id: "who", zone: "stable", chars: 1, tokens: 1, hash: "w", included: true, reason: "always" },
        ],
        files: [],
        tools: [],
        tokens: 1,
        stableTokens: 1,
        volatileTokens: 0,
        estimator: "letters",
      },
    }) as never;
  const page = await showPage(Prompt, {
    at: "#/prompt/agent%3Amain%3Aweb%3Adm%3A1?turn=4&since=2",
    may: ["read"],
    answers: {
      "sessions.list": { sessions: [{ key: "agent:main:main", name: "Mine" }] } as never,
      "prompt.explain": ({ turn }) => explained(turn === -1 ? 6 : (turn ?? null)),
    },
  });
  const text = await page.text();
  expect(text).toContain(">web 1=agent:main:web:dm:1 Mine=agent:main:main");
  expect(text).toContain("now= turn 6=6 turn 5=5 >turn 4=4 turn 3=3 turn 2=2 turn 1=1");
  expect(text).toContain("the turn before= turn 6 =6 turn 5 =5 turn 3 =3 > turn 2 =2 turn 1 =1");
  const of = (label: number): string => `label:nth-of-type(${label}) select`;
  await page.change(of(2), { value: "5" });
  await page.change(of(2), { value: "" });
  await page.change(of(3), { value: "3" });
  await page.change(of(3), { value: "" });
  await page.change(of(1), { value: "agent:main:main" });
  const here = "#/prompt/agent%3Amain%3Aweb%3Adm%3A1";
  expect(page.went).toEqual([
    `${here}?turn=5`,
    here,
    `${here}?turn=4&since=3`,
    `${here}?turn=4`,
    "#/prompt/agent%3Amain%3Amain",
  ]);
  expect(page.asked).toEqual([
    'sessions.list {"limit":100}',
    'prompt.explain {"session":"agent:main:web:dm:1","turn":4}',
    'prompt.explain {"session":"agent:main:web:dm:1","turn":-1}',
    'prompt.explain {"session":"agent:main:web:dm:1","turn":2}',
  ]);
  // Another turn is read at once, the same one every thirty seconds.
  await page.go("#/prompt/agent%3Amain%3Aweb%3Adm%3A1?turn=5&since=2");
  expect(page.asked.slice(4)).toContain('prompt.explain {"session":"agent:main:web:dm:1","turn":5}');
  const before = page.asked.length;
  await page.pass(29_999);
  expect(page.asked).toHaveLength(before);
  await page.pass(1);
  expect(page.asked.length).toBeGreaterThan(before);
});

test("the tools of another session and the skills of another agent are another address", async () => {
  const tools = await showPage(Tools, {
    at: "#/tools/read?session=s1",
    answers: {
      "tools.list": { session: "s1", tools: [], sandbox: null, reason: null },
      "sessions.list": {
        sessions: [
          { key: "s1", name: null },
          { key: "s 2", name: "B" },
        ],
      } as never,
    },
  });
  expect(await tools.text()).toContain(">s1=s1 B=s 2");
  await tools.change("select", { value: "s 2" });
  expect(tools.went).toEqual(["#/tools?session=s+2"]);
  expect(tools.asked).toEqual(['tools.list {"session":"s1"}', 'sessions.list {"limit":100}']);
  await tools.go("#/tools?session=s+2");
  expect(tools.asked.slice(2)).toEqual(['tools.list {"session":"s 2"}', 'sessions.list {"limit":100}']);
  const skills = await showPage(Skills, {
    at: "#/skills?agent=helper",
    answers: {
      "skills.list": ({ agent }) =>
        ({ agent: agent ?? "main", roots: [], skills: [], shadowed: [], rejected: [], cut: [] }) as never,
      "agents.list": { agents: [{ id: "main" }, { id: "helper" }] } as never,
    },
  });
  await skills.change("select", { value: "main" });
  expect(skills.went).toEqual(["#/skills?agent=main"]);
  await skills.go("#/skills?agent=main");
  expect(did(skills, "skills.list")).toEqual([
    'skills.list {"agent":"helper"}',
    'skills.list {"agent":"main"}',
  ]);
});

test("lines of the log from a level on, which stays while one looks about", async () => {
  const line = (level: number, msg: string, more: object = {}): string =>
    JSON.stringify({ level, time: nowMs, msg, ...more });
  const page = await showPage(Logs, {
    at: "#/logs",
    answers: {
      "logs.tail": {
        lines: [
          line(20, "debugged"),
          line(30, "told", { turn: "t1" }),
          line(40, "warned", { lane: "l1" }),
          line(50, "failed", { turn: "t1" }),
        ],
        following: true,
      },
    },
  });
  const shown = async (text: Promise<string>): Promise<readonly string[]> =>
    [...(await text).matchAll(/^\| (\w+)</gm)].map(([, message = ""]) => message);
  const choose = (level: string): Promise<readonly string[]> =>
    shown(page.change("select", { value: level }));
  expect(await shown(page.text())).toEqual(["failed", "warned", "told", "debugged"]);
  expect([await choose("info"), await choose("warn"), await choose("error"), await choose("debug")]).toEqual([
    ["failed", "warned", "told"],
    ["failed", "warned"],
    ["failed"],
    ["failed", "warned", "told", "debugged"],
  ]);
  expect(await choose("warn")).toEqual(["failed", "warned"]);
  expect(await shown(page.go("#/logs?about=t1"))).toEqual(["failed"]);
  expect(await page.text()).toContain(">Warnings and errors=warn");
});

test("an error in a line is told as its program would print it, long fields stand in a block", async () => {
  const stack = "Error: no disk\n    at x (file.ts:1)";
  const line = JSON.stringify({
    level: 50,
    time: nowMs,
    msg: "",
    err: { message: "no disk", stack },
    cause: { message: "why", stack: "Error\n    at y" },
    odd: { stack: 7 },
    longest: "x".repeat(200),
    longer: "y".repeat(201),
    none: null,
    job: "j1",
  });
  const page = await showPage(Logs, {
    at: "#/logs",
    answers: { "logs.tail": { lines: [line], following: true } },
  });
  const [, address = ""] = /<(#\/logs\/[^>]+)>/.exec(await page.text()) ?? [];
  const shown = await page.go(address);
  const drawer = shown.slice(shown.lastIndexOf("\n## "));
  expect(drawer).toContain(
    "err: |\n«err» Error: no disk at x (file.ts:1)\ncause: |\n«cause» why Error at y\n",
  );
  expect(drawer).toContain('odd: | [copy {"stack":7}]');
  expect(drawer).toContain(`longest: | [copy ${"x".repeat(200)}, shown`);
  expect(drawer).toContain(`longer: |\n«longer» ${"y".repeat(201)}\n`);
  expect(drawer).toContain("none: | [copy null]");
  expect(drawer).toMatch(/All lines with the same job<#\/logs\/[^?]+\?about=j1>/);
  // A line without words of its own is shown whole.
  expect(shown).toContain('| {"level":50');
});

test("an older version is chosen and asked for by its name, and another look forgets the choice", async () => {
  const check = (more: object = {}) => ({
    installed: { kind: "npm", version: "1.2.3", root: "/opt" },
    newest: "1.3.0",
    update: true,
    available: ["1.3.0", "1.2.3", "1.1.0"],
    byHand: null,
    problem: null,
    last: null,
    ...more,
  });
  let update = true;
  const page = await showPage(Update, {
    at: "#/update",
    answers: {
      status: { version: "1.2.2" } as never,
      "update.check": ({ look }) => check(look === false ? { installed: null } : { update }) as never,
      "update.run": { asked: true },
    },
  });
  expect(await page.text()).toContain("Version: | 1.2.2");
  await page.press("Look for a newer version");
  const chosen = await page.change("select", { value: "1.1.0" });
  expect(chosen).toContain("1.3.0 1.2.3 >1.1.0");
  expect(chosen).toContain("Version: | 1.2.3");
  await page.press("Update to 1.1.0");
  await page.press("Look for a newer version");
  await page.press("Update to 1.3.0");
  // The newest runs: there is nothing to begin but another version.
  update = false;
  await page.press("Look for a newer version");
  expect(await page.text()).not.toContain("[Update to");
  expect(await page.change("select", { value: "1.2.3" })).toContain("[Update to 1.2.3");
  expect(did(page, "update.run")).toEqual(['update.run {"to":"1.1.0"}', "update.run {}"]);
});

const session = (key: string, more: object = {}) => ({
  key,
  agent: "main",
  kind: "dm" as const,
  epoch: 1,
  createdAtMs: nowMs - dayMs,
  updatedAtMs: nowMs - minuteMs,
  model: null,
  thinking: null,
  reasoning: null,
  name: null,
  working: false,
  inputTokens: 1,
  outputTokens: 2,
  ...more,
});
const entry = (seq: number) => ({
  seq,
  epoch: 1,
  turn: `t${seq}`,
  type: "user" as const,
  text: `words ${seq}`,
  atMs: nowMs,
});

test("a session's settings are changed one by one, and a refusal is told until one is taken or one turns away", async () => {
  let model: string | null = "gone";
  let fails = false;
  const page = await showPage(Sessions, {
    at: "#/sessions/k1",
    answers: {
      "sessions.list": { sessions: [] },
      "sessions.show": ({ key }) =>
        ({ ...session(key, { model, thinking: "low" }), entries: [entry(1)] }) as never,
      "sessions.tree": { sessions: [] },
      "models.list": { models: [{ id: "m1" }, { id: "m2" }] } as never,
      "sessions.patch": () => {
        if (fails) throw page.refusal("invalid", "no such model");
        return {} as never;
      },
    },
  });
  // One that was never begun anew has one beginning.
  expect(await page.text()).not.toMatch(/Since it was begun anew \(|The one before|The next one/);
  // What the session asks for stands there, also where the config has it no more.
  expect(await page.text()).toContain("as the agent has it= >gone=gone m1=m1 m2=m2");
  model = "m2";
  expect(await page.change("#session-model", { value: "m2" })).toContain("as the agent has it= m1=m1 >m2=m2");
  await page.change("#session-model", { value: "" });
  await page.change("#session-thinking", { value: "high" });
  await page.change("#session-reasoning", { value: "stream" });
  await page.change("#session-reasoning", { value: "no such value" });
  fails = true;
  expect(await page.change("#session-thinking", { value: "off" })).toContain("! That failed: no such model");
  expect(await page.go("#/sessions/k1?epoch=1")).toContain("no such model");
  expect(await page.go("#/sessions/k2")).not.toContain("no such model");
  await page.change("#session-thinking", { value: "off" });
  fails = false;
  expect(await page.change("#session-thinking", { value: "off" })).not.toContain("no such model");
  expect(did(page, "sessions.patch")).toEqual(
    [
      { key: "k1", model: "m2" },
      { key: "k1", model: null },
      { key: "k1", thinking: "high" },
      { key: "k1", reasoning: "stream" },
      { key: "k1", reasoning: null },
      { key: "k1", thinking: "off" },
      { key: "k2", thinking: "off" },
      { key: "k2", thinking: "off" },
    ].map((params) => `sessions.patch ${JSON.stringify(params)}`),
  );
});

test("earlier words are read three times as many at once, to a thousand, and anew for another session", async () => {
  const page = await showPage(Sessions, {
    at: "#/sessions/k1?epoch=2",
    answers: {
      "sessions.list": { sessions: [] },
      "sessions.show": ({ key, limit = 0 }) =>
        ({
          ...session(key, { epoch: 3 }),
          // How many they are counts here, and not what they say.
          entries: Array<unknown>(key === "k3" ? 99 : key === "k4" ? 0 : limit),
        }) as never,
      "sessions.tree": { sessions: [] },
      "models.list": { models: [] },
    },
  });
  const text = await page.text();
  expect(text).toContain("[Show earlier words]");
  expect(text).toContain("The one before<#/sessions/k1?epoch=1> The next one<#/sessions/k1>");
  const more = (): Promise<string> => page.change("button.quiet:not(.list-new)", {}, "click");
  await more();
  await more();
  const all = await more();
  expect(all).toContain("These are the newest 1,000.");
  await page.go("#/sessions/k1?epoch=3");
  await page.go("#/sessions/k2?epoch=x");
  expect(await page.go("#/sessions/k3")).not.toContain("[Show earlier words]");
  expect(await page.text()).toContain("The one before<#/sessions/k3?epoch=2>\n");
  expect(await page.go("#/sessions/k4?epoch=1")).toContain("Nothing is kept of it.");
  expect(did(page, "sessions.show")).toEqual(
    [
      { key: "k1", limit: 100, epoch: 2 },
      { key: "k1", limit: 300, epoch: 2 },
      { key: "k1", limit: 900, epoch: 2 },
      { key: "k1", limit: 1_000, epoch: 2 },
      { key: "k1", limit: 1_000, epoch: 3 },
      { key: "k2", limit: 100 },
      { key: "k3", limit: 100 },
      { key: "k4", limit: 100, epoch: 1 },
    ].map((params) => `sessions.show ${JSON.stringify(params)}`),
  );
});

test("where not all sessions are listed, those that are looked for are asked for when one pauses, and stand once", async () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => session(`k${at}`));
  const page = await showPage(Sessions, {
    at: "#/sessions",
    answers: {
      "sessions.list": ({ find, limit = 0 }) =>
        ({
          sessions: find === undefined ? many(limit) : [session("k1"), session("far", { name: "Rome" })],
        }) as never,
      "sessions.tree": { sessions: [] },
    },
  });
  const rows = async (): Promise<readonly string[]> =>
    (await page.searched()).filter((each) => /Rome|^k1 /.test(each));
  expect(await page.text()).toContain("1,000");
  await page.filter(" ro");
  await page.pass(199);
  await page.filter(" rome ");
  await page.pass(199);
  expect(did(page, "sessions.list").filter((each) => each.includes("find"))).toEqual([]);
  await page.pass(1);
  expect(did(page, "sessions.list").filter((each) => each.includes("find"))).toEqual([
    'sessions.list {"find":"rome","limit":200}',
  ]);
  expect(await rows()).toEqual(["k1  main ", "far Rome main "]);
  // Whoever looks for nothing any more sees the list alone at once.
  await page.filter("  ");
  expect(await rows()).toEqual(["k1  main "]);
  await page.pass(200);
  expect(await rows()).toEqual(["k1  main "]);
  const few = await showPage(Sessions, {
    at: "#/sessions",
    answers: { "sessions.list": { sessions: many(999) } as never, "sessions.tree": { sessions: [] } },
  });
  expect(await few.text()).not.toContain("The newest");
  await few.filter("rome");
  await few.pass(200);
  expect(did(few, "sessions.list").some((each) => each.includes("find"))).toBe(false);
});

test("changes of a proposal that nobody wants are left out by their numbers; with none left only refusing is offered", async () => {
  const change = (text: string) => ({
    kind: "merge" as const,
    lines: [{ path: "M.md", line: 1, text }],
    text,
    why: `why ${text}`,
  });
  const proposal = (id: string, ...texts: readonly string[]) => ({
    id,
    agent: "main",
    session: "s",
    turn: "t",
    state: "open",
    createdAtMs: nowMs,
    expiresAtMs: nowMs + dayMs,
    said: "",
    changes: texts.map(change),
  });
  const page = await showPage(Memory, {
    at: "#/memory?agent=helper",
    answers: {
      "agents.list": { agents: [] },
      "memory.proposals": { proposals: [proposal("p1", "a", "b", "c"), proposal("p2", "d")] } as never,
      "memory.history": { agent: "helper", changes: [] },
      "memory.decide": ({ decision }) => ({ said: decision }) as never,
    },
  });
  // One change alone is taken or refused whole.
  expect([...(await page.text()).matchAll(/_checkbox/g)]).toHaveLength(3);
  const leave = (number: number, checked: boolean): Promise<string> =>
    page.change(`[aria-label="Take change ${number}"]`, { checked });
  await leave(1, false);
  expect(await leave(3, false)).toContain("[Accept 1 of 3 changes");
  await page.press("Accept 1 of 3 changes");
  await leave(1, true);
  await page.press("Accept 2 of 3 changes");
  await leave(1, false);
  const none = await leave(2, false);
  expect([...none.matchAll(/\[Accept/g)]).toHaveLength(1);
  expect([...none.matchAll(/\[Refuse/g)]).toHaveLength(2);
  await page.press("Accept 1 change");
  expect(did(page, "memory.decide")).toEqual([
    'memory.decide {"id":"p1","decision":"accept","changes":[2],"idempotencyKey":"uuid-1"}',
    'memory.decide {"id":"p1","decision":"accept","changes":[1,2],"idempotencyKey":"uuid-2"}',
    'memory.decide {"id":"p2","decision":"accept","idempotencyKey":"uuid-3"}',
  ]);
  expect(page.asked.slice(0, 3)).toEqual([
    "agents.list {}",
    'memory.proposals {"agent":"helper"}',
    'memory.history {"agent":"helper","limit":50}',
  ]);
});

test("notes of one agent are searched, taken back and forgotten as that agent's; a preview that failed shows none", async () => {
  let fails = true;
  const page = await showPage(Memory, {
    at: "#/memory?agent=helper&q=old",
    answers: {
      "agents.list": { agents: [{ id: "main" }, { id: "helper" }] } as never,
      "memory.proposals": { proposals: [] },
      "memory.history": {
        agent: "helper",
        changes: [
          {
            id: "c1",
            path: "M.md",
            session: "s",
            turn: "t",
            by: ["E"],
            tool: "x",
            atMs: nowMs,
            removed: "",
            added: "a",
          },
        ],
      } as never,
      "memory.search": { agent: "helper", mode: "keyword", notes: [], results: [] },
      "memory.undo": {} as never,
      "memory.forget": ({ confirm }: MethodParams<"memory.forget">) => {
        if (fails) throw page.refusal("invalid", "what is that?");
        return { done: confirm === true, lines: [{ path: "M.md", line: 1, text: "x" }], notes: [] } as never;
      },
    },
  });
  await page.press("Take back");
  expect(await page.submit("Show what would go", { forget: "tea" })).toContain("! what is that?");
  fails = false;
  const seen = await page.submit("Show what would go", { forget: "tea" });
  expect(seen).not.toContain("what is that?");
  await page.press("Forget 1 line");
  fails = true;
  expect(await page.submit("Show what would go", { forget: "more" })).not.toContain("Forgotten");
  await page.submit("Search", { q: "new" });
  expect(page.went).toEqual(["#/memory?q=new&agent=helper"]);
  expect(did(page, "memory.search", "memory.undo", "memory.forget").slice(0, 5)).toEqual([
    'memory.search {"agent":"helper","query":"old","maxResults":30}',
    'memory.undo {"agent":"helper","id":"c1","idempotencyKey":"uuid-1"}',
    'memory.search {"agent":"helper","query":"old","maxResults":30}',
    'memory.forget {"agent":"helper","query":"tea"}',
    'memory.forget {"agent":"helper","query":"tea"}',
  ]);
  expect(did(page, "memory.forget")[2]).toBe('memory.forget {"agent":"helper","query":"tea","confirm":true}');
});

test("what a token, a link or a code gave is shown to nobody who comes back, and a failure beside its own form", async () => {
  let fails = true;
  const refuse = <T>(made: T): T => {
    if (fails) throw page.refusal("invalid", "the name is taken");
    return made;
  };
  const page = await showPage(Devices, {
    at: "#/devices?new=1",
    answers: {
      "devices.list": { devices: [] },
      "devices.mint": () => refuse({ id: "n", token: "minted", peer: "p" }),
      "devices.pair": () =>
        refuse({ name: "phone", grants: [], code: "PAIR", url: "http://h", link: "http://h/#pair=PAIR" }),
      "devices.link": { url: "http://h/#code=1" },
    } as never,
  });
  const minted = await page.submit("Make a token", { name: "n", write: "on" });
  expect(minted.indexOf("! the name is taken")).toBeLessThan(minted.indexOf("[Make a token]"));
  const paired = await page.submit("Make a pairing code", { device: "d", files: "on" });
  expect([...paired.matchAll(/! the name is taken/g)]).toHaveLength(2);
  fails = false;
  await page.submit("Make a token", { name: "n", write: "on" });
  await page.submit("Make a pairing code", { device: "d" });
  await page.press("Make a link");
  const all = await page.text();
  expect(all).not.toContain("is taken");
  for (const secret of ["[copy minted]", "--code PAIR]", "[copy http://h/#code=1]"])
    expect(all).toContain(secret);
  page.leave();
  const later = await page.text();
  for (const secret of ["minted", "PAIR", "code=1"]) expect(later).not.toContain(secret);
  expect(did(page, "devices.mint", "devices.pair")).toEqual([
    'devices.mint {"name":"n","scopes":["write"]}',
    'devices.pair {"name":"d","grants":["files"]}',
    'devices.mint {"name":"n","scopes":["write"]}',
    'devices.pair {"name":"d","grants":[]}',
  ]);
});

test("a backup that is being made is said, and its button waits; what went wrong goes with the next that is made", async () => {
  const waits: ((made: object) => void)[] = [];
  let fails = false;
  const page = await showPage(Backups, {
    at: "#/backups",
    answers: {
      "backups.list": { everyHours: null, keep: 7, folder: "/b", backups: [] },
      backup: () => {
        if (fails) throw page.refusal("unavailable", "no room");
        return new Promise((resolve) => void waits.push(resolve as never)) as never;
      },
    } as never,
  });
  fails = true;
  expect(await page.submit("Back up now", { path: "/a", passphrase: "" })).toContain("! no room");
  fails = false;
  const busy = await page.submit("Back up now", { path: "/b.db", passphrase: "" });
  expect(busy).toContain("[off: ");
  waits[0]?.({ path: "/b.db", bytes: 1 });
  const made = await page.text();
  expect(made).toContain("[Back up now]");
  expect(made).not.toContain("no room");
  expect(made).toContain("[copy /b.db]");
});

test("a test message that cannot go says why at its form, and forgets the one before", async () => {
  let fails = false;
  const page = await showPage(Channels, {
    at: "#/channels/telegram:a",
    answers: {
      "channels.list": { channels: [{ channel: "telegram", account: "a", state: "ok" }] } as never,
      "pairing.list": { pending: [], paired: [] },
      "channels.places": { places: [] },
      "channels.test": ({ idempotencyKey }) => {
        if (fails) throw page.refusal("invalid", "no such place");
        return { id: idempotencyKey, conversation: "c" };
      },
      "outbox.show": ({ id }) => ({ id, conversation: "c", state: "sent", parts: [] }) as never,
    },
  });
  await page.submit("Send a test message", { to: "1" });
  expect(await page.pass(1_000)).toContain("(ok: ");
  fails = true;
  const failed = await page.submit("Send a test message", { to: "2" });
  expect([failed.includes("! no such place"), failed.includes("(ok: sent")]).toEqual([true, false]);
  fails = false;
  expect(await page.submit("Send a test message", { to: "3" })).not.toContain("no such place");
  await page.pass(1_000);
  expect(did(page, "outbox.show")).toEqual(['outbox.show {"id":"uuid-1"}', 'outbox.show {"id":"uuid-3"}']);
  expect(did(page, "channels.places")).toEqual(['channels.places {"channel":"telegram","account":"a"}']);
});

test("a schedule that is written otherwise is shown anew before it can be made", async () => {
  const page = await showPage(Schedules, {
    at: "#/schedules?new=1",
    answers: {
      "cron.list": { jobs: [] },
      "cron.explain": { words: "at nine", zone: "UTC", staggerMs: 0, next: [] },
    },
  });
  expect(await page.submit("Show its times", { kind: "cron", when: "0 9 * * *" })).toContain("[Make it");
  expect(await page.change("aside form", {}, "input")).not.toContain("[Make it");
});

test("another message's story is read at once, and the one before is gone until it comes", async () => {
  const answers = new Map<string, object>();
  const story = (id: string): object => ({
    row: { id, session: "s", conversation: "c", receivedAtMs: nowMs, text: `words of ${id}`, sender: null },
    admitted: true,
    waitedMs: 0,
    waitedFor: [],
    turn: null,
    deliveries: [],
    now: null,
  });
  answers.set("a", story("a"));
  const page = await showPage(MessageStory, {
    at: "#/why/a",
    answers: {
      why: ({ query }) => {
        const found = answers.get(query);
        if (found === undefined) throw page.refusal("invalid", `no ${query}`);
        return found as never;
      },
    },
  });
  expect(await page.text()).toContain("words of a");
  const other = await page.go("#/why/b");
  expect([other.includes("words of a"), other.includes("no b")]).toEqual([false, true]);
});

test("an overview says who is at work and where words or answers wait, and where each thing is mended", async () => {
  const status = (more: object = {}) =>
    ({
      state: "degraded",
      reasons: [],
      config: { problems: [], restartNeeded: [] },
      version: "1",
      startedAtMs: nowMs,
      deadRows: 0,
      deliveriesTroubled: 0,
      channels: [
        { channel: "telegram", account: "a", state: "down", reason: "wrong\u202e token", lastInboundAtMs: 1 },
        { channel: "telegram", account: "ab", state: "ok" },
      ],
      turnsRunning: 2,
      rowsWaiting: 1,
      deliveriesWaiting: 1,
      memoryBytes: 1_572_864,
      ...more,
    }) as never;
  const lane = (name: string, holder: string | null, waiting: number) => ({ lane: name, holder, waiting });
  const of = async (more: object, others: object = {}): Promise<string> =>
    (await showPage(Overview, { at: "#/overview", answers: { status: status(more), ...others } })).text();
  const shown = await of(
    {},
    {
      "lanes.list": {
        sessions: [
          lane("agent:main:telegram:dm:1", "t1", 0),
          lane("agent:main:telegram:dm:2", null, 2),
          lane("agent:main:telegram:dm:3", null, 0),
        ],
        conversations: [lane("telegram:a:dm:1\u202e", "d1", 1), lane("telegram:a:dm:9", null, 0)],
      },
    },
  );
  expect(shown.slice(shown.indexOf("## Work now"))).toBe(
    [
      "## Work now",
      "2 turns run · 1 message waits · 1 answer waits · 2 MB of memory",
      "- (ok: working) telegram dm 1<#/sessions/agent%3Amain%3Atelegram%3Adm%3A1>",
      "- (warn: waits) telegram dm 2<#/sessions/agent%3Amain%3Atelegram%3Adm%3A2> 2 messages wait",
      "- (ok: working) telegram:a:dm:1\\u{202e}<#/outbox> 1 answer waits",
      "",
    ].join("\n"),
  );
  const first = async (reason: string): Promise<string | undefined> =>
    (await of({ reasons: [reason] })).split("\n").find((each) => each.startsWith("Do this"));
  expect([
    await first("telegram:ab is down"),
    await first("telegram:a is down"),
    await first("telegram:abc is down"),
    await first("tools are held: /estop"),
    await first("the disk\u202e is full"),
  ]).toEqual([
    "Do this telegram:ab is down Open telegram:ab<#/channels/telegram%3Aab>",
    "Do this telegram:a is down Open telegram:a<#/channels/telegram%3Aa>",
    "Do this telegram:abc is down",
    "Do this tools are held: /estop Open the tools<#/tools>",
    "Do this the disk\\u{202e} is full",
  ]);
  const page = await showPage(Overview, { at: "#/overview", answers: { status: status() } });
  await page.text();
  expect(page.asked).toEqual([
    "status {}",
    'approvals.list {"all":false}',
    'questions.list {"all":false}',
    "pairing.list {}",
    "cron.status {}",
    'sessions.list {"limit":8}',
    'usage {"by":"day","days":30}',
    'lanes.list {"limit":12}',
  ]);
});

test("an audit without the names of devices is told by their tokens; nodes share accounts out, one alone has all", async () => {
  const record = {
    atMs: nowMs - hourMs,
    method: "restart",
    by: "device:d1",
    client: "cli",
    address: "10.0.0.1",
    about: { "\u202ename": "\u202evalue" },
    ok: false,
  };
  const audit = await showPage(Audit, {
    at: `#/audit/${nowMs - hourMs}-restart-1`,
    answers: { "audit.list": { records: [record], more: false } as never },
  });
  const text = await audit.text();
  expect(text).toContain("| device:d1 (cli) | \\u{202e}name: \\u{202e}value |");
  expect(text.slice(text.indexOf("\n## "))).toBe(
    [
      "",
      "## restart",
      "«Close» <#/audit>",
      "State: | (danger: refused )",
      "Token: | [copy device:d1]",
      "Program: | cli",
      "From: | 10.0.0.1",
      "When: | 1 hr. ago{01-05T11:00}",
      "\\u{202e}name: | \\u{202e}value",
      "",
    ].join("\n"),
  );
  expect(audit.asked).toEqual(['audit.list {"limit":500}', "devices.list {}"]);
  type Node = MethodResult<"nodes.list">["nodes"][number];
  const node = (boot: string, more: Partial<Node> = {}): Node => ({
    node: `host-${boot}`,
    boot,
    role: "all",
    version: "1",
    pid: 7,
    url: "u",
    startedAtMs: nowMs,
    state: "running",
    turns: 3,
    deliveries: 4,
    leads: [],
    up: true,
    silentMs: 0,
    ...more,
  });
  const leads = async (...nodes: readonly Node[]): Promise<string | undefined> => {
    const page = await showPage(Nodes, { at: "#/nodes/a", answers: { "nodes.list": { nodes: [...nodes] } } });
    return (await page.text()).split("\n").at(-2);
  };
  const answers = [
    await leads(node("a")),
    await leads(node("a"), node("b")),
    await leads(node("a"), node("b", { up: false })),
    await leads(node("a", { role: "worker" })),
    await leads(node("a", { leads: ["x", "y"] })),
  ];
  expect(answers.map((each) => each?.split(" | ")[1])).toEqual([
    "all accounts",
    "no account",
    "all accounts",
    "no account",
    "x, y",
  ]);
});

test("whoever comes back to the overview sees what was new when they came first; it is kept for the next visit", async () => {
  const session = (key: string, updatedAtMs: number) => ({
    key,
    agent: "main",
    kind: "dm",
    name: key,
    working: false,
    updatedAtMs,
  });
  const storage = memoryStorage();
  storage.setItem("parley.overview.looked-at", String(nowMs - hourMs));
  const page = await showPage(Overview, {
    at: "#/overview",
    storage,
    answers: {
      status: {
        state: "ok",
        reasons: [],
        config: { problems: [], restartNeeded: [] },
        version: "1",
        startedAtMs: nowMs,
        deadRows: 0,
        deliveriesTroubled: 0,
        channels: [],
        turnsRunning: 0,
        rowsWaiting: 0,
        deliveriesWaiting: 0,
        memoryBytes: 0,
      } as never,
      "sessions.list": { sessions: [session("fresh", nowMs - 1), session("old", nowMs - hourMs)] } as never,
    },
  });
  const fresh = async (): Promise<readonly string[]> =>
    [...(await page.text()).matchAll(/^- (\w+)<.*\(: new\)/gm)].map(([, name = ""]) => name);
  expect(await fresh()).toEqual(["fresh"]);
  page.leave();
  await page.pass(minuteMs);
  page.comeBack();
  expect([await fresh(), storage.getItem("parley.overview.looked-at")]).toEqual([
    ["fresh"],
    String(nowMs + minuteMs),
  ]);
});

test("the same name with another agent, and another account of the same channel, is read anew", async () => {
  const skills = await showPage(Skills, {
    at: "#/skills/one?agent=a",
    answers: {
      "skills.list": { agent: "a", roots: [], skills: [], shadowed: [], rejected: [], cut: [] },
      "agents.list": { agents: [] },
    },
  });
  await skills.go("#/skills/one?agent=b");
  expect(did(skills, "skills.info")).toEqual(
    ["a", "b"].map((agent) => `skills.info ${JSON.stringify({ name: "one", agent })}`),
  );
  const memory = await showPage(Memory, { at: "#/memory/M.md%231?agent=a", answers: {} });
  await memory.go("#/memory/M.md%231?agent=b");
  await memory.go("#/memory/M.md%232?agent=b");
  expect(did(memory, "memory.why")).toEqual(
    [
      { agent: "a", line: "M.md#1" },
      { agent: "b", line: "M.md#1" },
      { agent: "b", line: "M.md#2" },
    ].map((params) => `memory.why ${JSON.stringify(params)}`),
  );
  const account = (name: string) => ({ channel: "telegram", account: name, state: "ok" as const });
  const channels = await showPage(Channels, {
    at: "#/channels/telegram:a",
    answers: {
      "channels.list": { channels: [account("a"), account("b")] } as never,
      "pairing.list": { pending: [], paired: [] },
      "channels.places": { places: [] },
    },
  });
  await channels.text();
  await channels.go("#/channels/telegram:b");
  await channels.go("#/channels");
  expect(did(channels, "channels.places")).toEqual(
    ["a", "b"].map((name) => `channels.places {"channel":"telegram","account":"${name}"}`),
  );
});

test("a message's own drawer is read by its turn, a job's by its id, each at once and every three seconds", async () => {
  const activity = await showPage(Activity, {
    at: "#/activity/t1",
    answers: { "sessions.list": { sessions: [] } },
  });
  await activity.go("#/activity/t2");
  await activity.pass(3_000);
  expect(did(activity, "why")).toEqual(["t1", "t2", "t2"].map((query) => `why {"query":"${query}"}`));
  const schedules = await showPage(Schedules, {
    at: "#/schedules/a",
    answers: { "cron.list": { jobs: [] } },
  });
  await schedules.go("#/schedules/b");
  await schedules.pass(2_999);
  expect(did(schedules, "cron.runs")).toEqual(["a", "b"].map((id) => `cron.runs {"id":"${id}","limit":30}`));
  await schedules.pass(1);
  expect(did(schedules, "cron.runs")).toHaveLength(3);
});

test("the row whose object is open is marked in each list", async () => {
  const at = { createdAtMs: nowMs, updatedAtMs: nowMs, atMs: nowMs, startedAtMs: nowMs };
  const marked = async (
    Kind: Parameters<typeof showPage>[0],
    to: string,
    answers: object,
  ): Promise<string> => {
    const page = await showPage(Kind, { at: to, answers: answers as never });
    return /<([^>]*)>\*/.exec((await page.text()).slice((await page.text()).indexOf("\n|")))?.[1] ?? "(none)";
  };
  const both = <T>(of: (id: string) => T): readonly T[] => ["a", "b"].map(of);
  const record = { atMs: 1, method: "m", by: "x", client: "c", address: "y", about: {}, ok: true };
  const lines = both((msg) => JSON.stringify({ msg, time: nowMs, level: 30 }));
  const logs = await showPage(Logs, {
    at: "#/logs",
    answers: { "logs.tail": { lines: [...lines], following: true } },
  });
  const [, line = ""] = /<(#\/logs\/[^>]+)>/.exec(await logs.text()) ?? [];
  const stories = both((turn) => ({ turn, type: "user", text: turn, atMs: nowMs }));
  expect([
    await marked(Activity, "#/activity/b", {
      "sessions.list": { sessions: [session("k")] },
      "sessions.show": { entries: stories },
    }),
    await marked(Audit, "#/audit/1-m-2", { "audit.list": { records: [record, record] } }),
    await marked(Devices, "#/devices/b", {
      "devices.list": {
        devices: both((id) => ({ id, name: id, scopes: [], peer: "", connections: 0, ...at })),
      },
    }),
    await marked(Logs, line, { "logs.tail": { lines, following: true } }),
    await marked(McpServers, "#/mcp/b", {
      "mcp.list": {
        servers: both((name) => ({
          name,
          enabled: true,
          state: "running",
          target: "",
          reason: null,
          version: null,
          starts: 1,
          tools: [],
          waiting: [],
          leftOut: [],
          listedAtMs: null,
        })),
      },
    }),
    await marked(Models, "#/models/b", {
      "models.list": {
        models: both((id) => ({
          id,
          alias: null,
          trouble: null,
          contextWindow: 1,
          maxTokens: 1,
          thinking: [],
          price: null,
          usedBy: [],
          uncappedFor: [],
        })),
      },
    }),
    await marked(Nodes, "#/nodes/b", {
      "nodes.list": {
        nodes: both((boot) => ({
          boot,
          node: boot,
          role: "all",
          up: true,
          state: "running",
          leads: [],
          ...at,
        })),
      },
    }),
    await marked(Outbox, "#/outbox/b", {
      "outbox.list": {
        deliveries: both((id) => ({
          id,
          conversation: "c",
          cause: "c",
          state: "sent",
          text: id,
          parts: [],
          ...at,
        })),
      },
    }),
    await marked(Schedules, "#/schedules/b", {
      "cron.list": {
        jobs: both((id) => ({
          id,
          name: id,
          words: "",
          agent: "m",
          session: "s",
          enabled: true,
          paused: null,
          consecutiveErrors: 0,
          last: null,
          nextAtMs: null,
          payload: {},
          owner: { kind: "turn", sender: "E" },
          misfire: "all",
          overlap: "skip",
          runs: 0,
          missed: 0,
        })),
      },
    }),
    await marked(Sessions, "#/sessions/b", { "sessions.list": { sessions: both((key) => session(key)) } }),
    await marked(Skills, "#/skills/b", {
      "skills.list": {
        agent: "m",
        shadowed: [],
        rejected: [],
        cut: [],
        skills: both((name) => ({
          name,
          status: "ready",
          source: "workspace",
          description: "",
          reason: null,
        })),
      },
      "agents.list": { agents: [] },
    }),
    await marked(Tools, "#/tools/b", {
      "tools.list": {
        session: "s",
        sandbox: null,
        reason: null,
        tools: both((id) => ({
          id,
          label: id,
          status: "ready",
          effect: "reads",
          reason: null,
          summary: "",
          section: "x",
          groups: [],
          profiles: [],
        })),
      },
      "sessions.list": { sessions: [] },
    }),
  ]).toEqual([
    "#/activity/b",
    "#/audit/1-m-2",
    "#/devices/b",
    line,
    ...["mcp", "models", "nodes", "outbox", "schedules", "sessions", "skills", "tools"].map(
      (path) => `#/${path}/b`,
    ),
  ]);
});

test("a drawer says that it loads until its own answer is there, and why it did not come", async () => {
  const drawer = async (
    Kind: Parameters<typeof showPage>[0],
    at: string,
    of: string,
    fails: boolean,
  ): Promise<string> => {
    const answers = fails ? {} : { [of]: () => new Promise(() => {}) };
    const text = await (await showPage(Kind, { at, answers: answers as never })).text();
    return text.slice(text.lastIndexOf("\n## ") + 4);
  };
  const told: string[] = [];
  for (const [Kind, at, of] of [
    [Activity, "#/activity/t", "why"],
    [Memory, "#/memory/M.md", "memory.why"],
    [Skills, "#/skills/one%E2%80%AE", "skills.info"],
    [Sessions, "#/sessions/agent%3Amain%3Amain", "sessions.show"],
  ] as const)
    for (const fails of [false, true]) told.push(await drawer(Kind, at, of, fails));
  const failed = (method: string): string => `! This could not be read: ${method} is not there`;
  expect(told).toEqual([
    "Its story\n«Close» <#/activity>\nLoading\n",
    `Its story\n«Close» <#/activity>\n${failed("why")}\n`,
    "Who wrote this\n«Close» <#/memory>\nLoading\n",
    `Who wrote this\n«Close» <#/memory>\n${failed("memory.why")}\n`,
    "one\\u{202e}\n«Close» <#/skills>\nLoading\n",
    `one\\u{202e}\n«Close» <#/skills>\n${failed("skills.info")}\n`,
    "main\n«Close» <#/sessions>\nLoading\n",
    `main\n«Close» <#/sessions>\n${failed("sessions.show")}\n`,
  ]);
  // Until a list is read nobody says that one of it is gone.
  for (const [Kind, path] of [
    [Audit, "audit"],
    [Channels, "channels"],
    [Devices, "devices"],
    [McpServers, "mcp"],
    [Models, "models"],
    [Nodes, "nodes"],
    [Outbox, "outbox"],
    [Schedules, "schedules"],
    [Tools, "tools"],
  ] as const) {
    const page = await showPage(Kind, { at: `#/${path}/x`, answers: {} });
    expect(await page.text(), path).not.toContain("\n## ");
    expect(await page.text()).toContain(`<#/${path}>`);
  }
});

test("a field of the log is one line up to eighty signs of JSON, and a line tells of at most three hundred", async () => {
  const filler = (chars: number): string => "z".repeat(chars - 8);
  const line = JSON.stringify({
    level: 30,
    time: nowMs,
    msg: "m",
    fits: { k: filler(80) },
    more: { k: filler(81) },
  });
  const page = await showPage(Logs, {
    at: "#/logs",
    answers: { "logs.tail": { lines: [line], following: true } },
  });
  const [, address = ""] = /<(#\/logs\/[^>]+)>/.exec(await page.text()) ?? [];
  const shown = await page.go(address);
  expect(shown).toContain(`fits: | [copy {"k":"${filler(80)}"}, shown`);
  expect(shown).toContain(`more: |\n«more» { "k": "${filler(81)}" }`);
  const long = JSON.stringify({ level: 30, time: nowMs, msg: "m", a: "x".repeat(150), b: "y".repeat(200) });
  const other = await showPage(Logs, {
    at: "#/logs",
    answers: { "logs.tail": { lines: [long], following: true } },
  });
  const [, fields = ""] = /\| (a=x.*?) \|/.exec(await other.text()) ?? [];
  expect([fields.length, fields.endsWith("y")]).toEqual([300, true]);
});

test("a part of an answer says its attempts from the second on, and that it may have been seen twice", async () => {
  const part = (attempts: number, more: object = {}) => ({
    state: "sent",
    attempts,
    flagged: false,
    messageId: null,
    reason: null,
    startedAtMs: nowMs,
    ...more,
  });
  const story = {
    row: { id: "r", session: "s", conversation: "c", receivedAtMs: nowMs, text: "t", sender: null },
    admitted: true,
    waitedMs: 0,
    waitedFor: [],
    turn: null,
    deliveries: [
      {
        id: "d",
        conversation: "c",
        createdAtMs: nowMs,
        text: "",
        parts: [part(1), part(2), part(2, { flagged: true, reason: "slow", state: "queued" })],
      },
    ],
    now: null,
  };
  const page = await showPage(MessageStory, { at: "#/why/r", answers: { why: story as never } });
  const text = await page.text();
  expect(text.slice(text.indexOf("Part 1"))).toBe(
    [
      "Part 1 of 3: sent",
      "- {01-05T12:00}",
      "Part 2 of 3: sent",
      "2 attempts",
      "- (waits) {01-05T12:00}",
      "Part 3 of 3: queued",
      "slow; 2 attempts; People may have seen it twice",
      "",
    ].join("\n"),
  );
});
