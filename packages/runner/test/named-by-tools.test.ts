// What a tool's call may name and change of what was sent, which sessions it sees, and what a skill's command
// calls.
import { type Fault, formatContent, formatRowPayload, type Content } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { checkMayChange, deliveryNamed, namedTarget, threadNamed } from "../src/messages/sent-messages.ts";
import { checkTools, problems, withModels } from "../src/schedules/asked-job.ts";
import { busyLanes, listSessions } from "../src/sessions/session-list.ts";
import { skillTurn, skillWords } from "../src/skills/skill-call.ts";

const lane = "telegram:a:dm:1";
const scope = {
  agent: "main",
  conversation: lane,
  session: "agent:main:main",
  by: { owner: false },
} as never;
const sent = (id: string, more: object = {}) => ({
  id,
  lane,
  cause: "agent:main:main#1",
  parts: [],
  ...more,
});
const outbox = (...found: readonly object[]) => ({ find: async () => found }) as never;
const codeOf = (work: Promise<unknown>) =>
  work.then(
    (value) => (value === null || value === undefined ? "nothing" : "found"),
    (error: Fault) => `${error.code}: ${error.message}`,
  );

test("a handle names what the agent itself sent, here, or anywhere for a turn that may cross", async () => {
  const ask = (found: readonly object[], crosses = false, handle: string | undefined = "h") =>
    codeOf(deliveryNamed(outbox(...found), { handle, messageId: undefined }, scope, crosses));
  const unknown = "missing: you sent no message with this handle";
  const own = sent("agent:main:main#1/0");
  const there = { ...own, lane: "telegram:a:dm:2" };
  expect([
    await ask([own]),
    await ask([sent("message:agent:main:main#1/c1")]),
    await ask([]),
    await ask([there]),
    await ask([there], true),
    await ask([sent("approval:a1")]),
    await ask([sent("notice:x", { cause: "x" })]),
    await ask([sent("agent:other:main#1/0", { cause: "agent:other:main#1" })], true),
    await ask([sent("agent:main:main#2/0")]),
  ]).toEqual(["found", "found", unknown, unknown, "found", unknown, unknown, unknown, unknown]);
  expect(await deliveryNamed(outbox(own), { handle: undefined, messageId: "1" }, scope, false)).toBeNull();
  expect([
    namedTarget({ handle: "h", messageId: "1" }),
    namedTarget({ handle: undefined, messageId: "1" }),
  ]).toEqual([{ delivery: "h" }, { messageId: "1" }]);
  expect(() => namedTarget({ handle: undefined, messageId: undefined })).toThrow("say which message");
});

test("a thread is named by the handle of the call that opened it, to write in", async () => {
  const content = (kind: string, action: string): Content =>
    ({ v: 1, kind, action: { kind: action } }) as never;
  const part = (made: Content, more: object = {}) => ({
    content: formatContent(made),
    state: "sent",
    reason: null,
    ...more,
  });
  const ask = (first: object | null, action = "send", to: string | undefined = " agent:main:main#1/c1 ") =>
    codeOf(
      threadNamed(
        outbox(sent("message:agent:main:main#1/c1", { parts: first === null ? [] : [first] })),
        { to, action: action as never },
        scope,
        false,
      ),
    );
  const opened = part(content("act", "createThread"));
  expect([
    await ask(opened),
    await ask(part(content("action", "createThread"), { state: "queued" }), "reply"),
    await ask(opened, "poll"),
  ]).toEqual(["found", "found", "found"]);
  expect([await ask(opened, "send", "telegram:5"), await ask(opened, "send", "")]).toEqual([
    "nothing",
    "nothing",
  ]);
  expect(await codeOf(threadNamed(outbox(), { to: undefined, action: "send" }, scope, false))).toBe(
    "nothing",
  );
  for (const other of [null, part(content("act", "pin")), part({ v: 1, kind: "remove" })])
    expect(await ask(other)).toMatch(/^invalid: that call opened no thread/);
  expect(await ask(part(content("act", "createThread"), { state: "failed", reason: "no rights" }))).toBe(
    "missing: its thread could not be opened: no rights",
  );
  expect(await ask(part(content("act", "createThread"), { state: "ambiguous" }))).toMatch(
    /the outcome is unknown$/,
  );
  expect(await ask(opened, "edit")).toMatch(/^invalid: by its handle/);
});

test("an agent changes its own messages, an owner's turn also others', and nobody Parley's", async () => {
  const receipt = (messageId: string, messageIds?: readonly unknown[]) => ({
    receipt: JSON.stringify({ messageId, ...(messageIds === undefined ? {} : { extra: { messageIds } }) }),
  });
  const ask = (
    found: readonly object[],
    action = "delete",
    owner = false,
    target: object = { messageId: "7" },
  ) =>
    codeOf(
      checkMayChange(
        outbox(...found),
        target as never,
        lane as never,
        { agent: "main", by: { owner } } as never,
        action as never,
      ),
    );
  const mine = sent("agent:main:main#1/0", { parts: [{ receipt: null }, receipt("7")] });
  const album = sent("agent:main:main#1/0", { parts: [receipt("5", [6, 7])] });
  const card = sent("approval:a1", { parts: [receipt("7")] });
  const near = sent("agent:main:main#1/0", { parts: [receipt("77")] });
  expect([
    await ask([mine]),
    await ask([near, album]),
    await ask([], "edit", false, { delivery: "h" }),
  ]).toEqual(["nothing", "nothing", "nothing"]);
  expect(await ask([card], "delete", true)).toMatch(/^denied: that message is Parley's own/);
  for (const found of [[], [near]]) {
    expect(await ask(found, "edit", true)).toMatch(/^denied: only your own/);
    expect(await ask(found, "pin", false)).toBe(
      "denied: only an owner may have others' messages changed (pin)",
    );
    expect(await ask(found, "pin", true)).toBe("nothing");
  }
});

const job = (payload: object) => ({ agent: "main", payload: { kind: "agentTurn", ...payload } }) as never;
test("a job's models become references once, and its tools must mean something; what an edit left stays", async () => {
  const asked: string[] = [];
  const resolve = async (_agent: string, word: string) => (asked.push(word), `p/${word}`);
  const made = await withModels(job({ model: "a", fallbacks: ["b", "c"] }), resolve);
  expect([made.payload, asked.splice(0)]).toEqual([
    { kind: "agentTurn", model: "p/a", fallbacks: ["p/b", "p/c"] },
    ["a", "b", "c"],
  ]);
  const edited = await withModels(job({ model: "p/c", fallbacks: ["p/a", "d"] }), resolve, made);
  expect([edited.payload, asked.splice(0)]).toEqual([
    { kind: "agentTurn", model: "p/c", fallbacks: ["p/a", "p/d"] },
    ["d"],
  ]);
  const plain = { agent: "main", payload: { kind: "systemEvent", text: "t" } } as never;
  expect([await withModels(plain, resolve, made), asked]).toEqual([plain, []]);
  const unknown = (names: readonly string[]) => names.filter((name) => name !== "read");
  const check =
    (tools: readonly string[], before: Parameters<typeof checkTools>[2] = null) =>
    () =>
      checkTools(job({ tools }), unknown, before);
  expect(check(["read"])).not.toThrow();
  expect(check(["read", "odd", "odder"])).toThrow('payload.tools "odd" is no tool. Fix: name tools (');
  expect(check(["old"], job({ tools: ["old"] }))).not.toThrow();
  expect(check(["old", "new"], job({ tools: ["old"] }))).toThrow('"new"');
  expect(() => checkTools(plain, unknown)).not.toThrow();
  const problem = (path: string, value: unknown) => ({ path, value, why: "is odd", fix: "mend it" }) as never;
  expect(
    problems([problem("", undefined), problem("a.b", null), problem("c", "x".repeat(300))]).message.split(
      "\n",
    ),
  ).toEqual([
    "the job is odd. Fix: mend it",
    "a.b is odd. Fix: mend it",
    `c "${"x".repeat(199)} is odd. Fix: mend it`,
  ]);
});

test("sessions are listed as asked, as many as fit, with who, where, when and what for", async () => {
  const clock = virtualClock({ startMs: 10 * 86_400_000 });
  const session = (key: string, agoMs: number, usage?: object) => ({
    key,
    updatedAtMs: clock.now() - agoMs,
    fields: usage === undefined ? {} : { usage },
  });
  const minute = 60_000;
  const all = [
    session("agent:main:main", 29_999, { inputTokens: 5, outputTokens: 7 }),
    session("agent:main:telegram:dm:1", 119.4 * minute),
    session("agent:main:telegram:group:-5", 120 * minute),
    session("agent:main:discord:channel:9", 2_879 * minute),
    session("agent:main:cron:j", 2_880 * minute),
    session("agent:other:main", 0),
  ];
  const row = (internal?: object) =>
    formatRowPayload({
      v: 1,
      inbound: {
        id: "r",
        channel: "telegram",
        account: "a",
        address: { channel: "telegram", account: "a", kind: "dm", peer: "1" },
        sender: { id: "1", name: 'A "da"', isBot: false },
        messageId: "m",
        kind: "message",
        text: "t",
        attachments: [],
        mentions: [],
        addressed: true,
        atMs: 0,
      },
      owner: true,
      ...(internal === undefined ? {} : { internal: internal as never }),
    });
  const payloads: { [key: string]: string } = {
    "agent:main:telegram:dm:1": row(),
    "agent:main:cron:j": row({ kind: "schedule", id: "j", turn: "" }),
    "agent:main:telegram:group:-5": "broken",
  };
  const lane = (key: string, atMs: number | null, holder: string | null) => ({ lane: key, atMs, holder });
  const lanes = [
    lane("agent:main:main", null, "node"),
    lane("agent:main:telegram:dm:1", 5, null),
    lane("agent:main:cron:j", null, null),
  ];
  const asked: unknown[] = [];
  const services = {
    config: { tools: { sessions: { visibility: "agent" }, agentToAgent: { enabled: false } } },
    sessions: { list: async (query: object) => (asked.push(query), all), transcript: async () => [] },
    children: { below: async () => [] },
    inbox: {
      find: async ({ lane: key }: { lane: string }) => (key in payloads ? [{ payload: payloads[key] }] : []),
    },
    turns: { list: async () => lanes },
    redaction: { secrets: [] },
    clock,
  } as never;
  const list = async (more: object = {}) =>
    (
      await listSessions(
        services,
        { session: "agent:main:main", agent: "main", by: { owner: true } } as never,
        { limit: 10, messages: 0, maxBytes: 10_000, ...more } as never,
      )
    ).text.split("\n");
  const whole = await list();
  expect(whole).toMatchInlineSnapshot(`
    [
      "agent:main:main: main, last used 0 min ago, 12 tokens, working, this session",
      "agent:main:telegram:dm:1: dm, telegram, "A \\"da\\"", last used 119 min ago, 0 tokens, working",
      "agent:main:telegram:group:-5: group, telegram, last used 2 h ago, 0 tokens, idle",
      "agent:main:discord:channel:9: channel, discord, last used 48 h ago, 0 tokens, idle",
      "agent:main:cron:j: cron, last used 2 days ago, 0 tokens, idle",
    ]
  `);
  expect(await list({ limit: 2 })).toEqual([...whole.slice(0, 2), `${whole.length - 2} more are not shown.`]);
  expect(await list({ kinds: ["cron"] })).toEqual(whole.filter((line) => line.includes(": cron")));
  expect(await list({ kinds: ["hook"] })).toEqual(["No session that may be seen from here fits."]);
  const bytes = Buffer.byteLength(whole[0] ?? "") + 1;
  expect([(await list({ maxBytes: bytes })).length, (await list({ maxBytes: bytes - 1 })).length]).toEqual([
    2, 1,
  ]);
  await list({ activeMinutes: 5 });
  expect(asked.at(-1)).toEqual({ sinceMs: clock.now() - 300_000, limit: 1_000 });
  expect([...(await busyLanes({ list: async () => lanes } as never))]).toEqual([
    "agent:main:main",
    "agent:main:telegram:dm:1",
  ]);
});

const skill = (name: string) => ({ skill: { manifest: { name } }, command: `do_${name}` });
const here = {
  commands: [skill("one"), skill("two")],
  env: (called: readonly string[]) => ({ CALLED: called.join() }),
  body: async ({ manifest }: { manifest: { name: string } }) => (manifest.name === "two" ? null : "BODY"),
} as never;
const tool = (name: string, parameters: object = {}) => ({ name, parameters }) as never;
async function dispatched(input: string, parameters: object, result?: string, known = "one") {
  const { model } = await skillTurn([{ name: known, input, location: "l", tool: "Run" }], here, [
    tool("run", parameters),
  ]);
  const messages = result === undefined ? [] : [{ role: "tool", content: [{ type: "text", text: result }] }];
  const events: { type: string; args?: unknown; delta?: string }[] = [];
  for await (const event of model?.stream({ messages } as never, new AbortController().signal) ?? [])
    events.push(event as never);
  return events[0]?.args ?? events[0]?.delta;
}

test("a skill's command calls its tool with the words as they are, under the argument that can take them", async () => {
  const text = { type: "string" };
  const all = { command: "a b", commandName: "do_one", skillName: "one" };
  expect([
    await dispatched("a b", { properties: { command: text } }),
    await dispatched("a b", { properties: { command: text, skillName: text } }),
    await dispatched("a b", { properties: { query: text, n: {} }, required: ["query"] }),
    await dispatched("a b", { properties: { query: text, n: {} }, required: ["query", "n"] }),
    await dispatched("a b", { properties: { a: text, b: text }, required: ["a", "b"] }),
    await dispatched(' {"n":1} ', { properties: { n: {} } }),
    await dispatched("{no", {}),
    await dispatched("[1]", {}),
  ]).toEqual([
    { command: "a b" },
    { command: "a b", skillName: "one" },
    { query: "a b" },
    all,
    all,
    { n: 1 },
    { ...all, command: "{no" },
    { ...all, command: "[1]" },
  ]);
  expect(await dispatched("x", {}, undefined, "gone")).toBe("The skill `gone` may no longer be used here.");
});

test("what the tool says is shown as it is: as code where it could be markup, never as a control word", async () => {
  const told = async (result: string) => (await dispatched("x", {}, result)) as string;
  expect([
    await told("plain words\n\n"),
    await told(" \n"),
    await told("a *b*"),
    await told("```\nx\n```"),
    await told("````"),
    await told("no_reply"),
    await told("<think>x"),
  ]).toEqual([
    "plain words",
    "Done.",
    "```\na *b*\n```",
    "````\n```\nx\n```\n````",
    "`````\n````\n`````",
    "It says:\n```\nno_reply\n```",
    "It says:\n```\n<think>x\n```",
  ]);
});

test("a called skill is read first, or told whole where nothing can read; a gone one changes nothing", async () => {
  const call = (name: string, more: object = {}) => ({ name, input: "", location: "skills/x", ...more });
  expect(skillWords(call("one"), undefined)).toBe(
    'Use the "one" skill for this request: read its SKILL.md at skills/x first, then follow it.',
  );
  expect(skillWords(call("one", { input: "go" }), " BODY\n")).toBe(
    'Use the "one" skill for this request. Its SKILL.md says:\n\nBODY\n\nUser input:\ngo',
  );
  const turn = await skillTurn([call("one"), call("two"), call("gone")], here, []);
  expect([turn.model, turn.env, [...turn.bodies]]).toEqual([null, { CALLED: "one,two" }, [["one", "BODY"]]]);
  expect((await skillTurn([call("one")], here, [tool("read")])).bodies.size).toBe(0);
  const two = await skillTurn([call("one", { tool: "run" }), call("two")], here, []);
  expect([two.model, [...two.bodies]]).toEqual([null, []]);
});
