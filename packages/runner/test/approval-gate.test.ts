// The gate before each call: who is asked in which order, what a person is shown and what is kept of it, and
// how each state of an approval lets the call go, wait, or be refused with its reason.
import { Fault, formatRowPayload } from "@parley/protocol";
import { directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { turnGate } from "../src/approvals/approval-gate.ts";

const lane = "agent:main:telegram:dm:7";
const call = { type: "toolCall", id: "c1", name: "pay", args: { sum: 5 } } as const;
const trusted = { untrusted: null, sources: [], trusted: [], read: [] };
const tainted = { ...trusted, untrusted: "evil.test", sources: ["evil.test"] };

function stage({
  refuses = null as string | null,
  held = null as object | null,
  hooked = null as string | null,
  kept = null as object | null,
  surfaces = ["here"] as readonly string[],
  taint = "ask",
  tickets = [] as readonly string[],
  waiting = [] as readonly object[],
  full = null as string | null,
  execPolicy = {} as object,
} = {}) {
  const did: string[] = [];
  const asked: { readonly [field: string]: unknown }[] = [];
  const gate = turnGate(
    {
      approvals: {
        book: {
          get: async (id: string) => (did.push(`looks for ${id.length > 10 ? id : "its id"}`), kept),
          moving: (_kept: object, used: object, how: object) => [used, how],
        },
        current: async (found: object) => found,
        surfaces: async () => surfaces,
        people: async () => ["telegram:7"],
        ask: async (approval: { readonly expiresAtMs: number }) => {
          asked.push(approval as never);
          return full === null ? { approval } : { full };
        },
      },
      config: { approvals: { exec: { timeoutMinutes: 30 } }, tools: { taint } },
      inbox: { find: async () => waiting },
      clock: { now: () => 1_000 },
      hold: { now: async () => (did.push("hold"), held) },
      toolHooks: { before: async () => (did.push("hooks"), hooked) },
    } as never,
    {
      turn: {
        id: "t#1",
        lane,
        epoch: 4,
        conversation: "telegram:default:dm:7",
        authority: "owner",
        tickets,
        rows: [
          {
            id: "r",
            payload: formatRowPayload({
              v: 1,
              inbound: directMessage({ sender: { id: "7", name: "Olga" } }),
              owner: true,
            } as never),
          },
        ],
      },
      lease: { cover: async (ms: number) => void did.push(`lease ${ms}`) },
      agent: "main",
      place: {
        address: { channel: "telegram", account: "default", kind: "dm", peer: "7" },
        guild: "g",
        parent: "p",
      },
      speakers: { owner: true, senders: ["telegram:7"] },
      session: { key: lane },
      signal: new AbortController().signal,
      prepared: {
        refuses: () => refuses,
        timeoutMs: 60_000,
        workspace: "/w",
        env: {},
        tools: [],
        execPolicy,
      },
    } as never,
    async () => (did.push("preview closes"), null),
  );
  const tool = (more: object = {}) => ({
    name: "pay",
    parse: (args: object) => ({ ok: true, args }),
    outside: (args: { sum: number }) => `pays ${args.sum}`,
    ...more,
  });
  const decide = (heard: object = tainted, more: object = {}, begun = false, id = "c1") =>
    gate({ ...call, id } as never, tool(more) as never, heard as never, begun);
  return { decide, did, asked };
}
const go = { kind: "go" };
const refused = (reason: string) => ({ kind: "refuse", reason });

test("the rules are asked first, then the emergency stop, then the hooks, and people last; a call that began is not asked again", async () => {
  const by = stage({ refuses: "not yours" });
  expect([await by.decide(), by.did]).toEqual([refused("not yours"), []]);
  const held = stage({ held: { by: "Olga" }, hooked: "no" });
  expect([await held.decide(), held.did]).toEqual([
    refused(
      "Not run: all tools are held by /estop of Olga until an owner resumes them (/estop off, or `parley tools resume`). Do not try again; answer without tools and say so.",
    ),
    ["lease 60000", "hold"],
  ]);
  const hooked = stage({ hooked: "the operator says no" });
  expect([await hooked.decide(tainted, { endsPreview: true }), hooked.did]).toEqual([
    refused("the operator says no"),
    ["lease 60000", "hold", "hooks"],
  ]);
  const begun = stage();
  expect([await begun.decide(tainted, { endsPreview: true }, true), begun.did, begun.asked]).toEqual([
    go,
    ["lease 60000", "hold", "hooks", "preview closes"],
    [],
  ]);
});

test("a call that reaches outside waits for a person only after the turn read text of strangers, and where the config asks", async () => {
  const of = async (
    options: Parameters<typeof stage>[0],
    ...how: Parameters<ReturnType<typeof stage>["decide"]>
  ) => (await stage(options).decide(...how)).kind;
  expect([
    await of({}, trusted),
    await of({}, tainted),
    await of({ taint: "off" }, tainted),
    await of({}, tainted, { outside: () => null }),
    await of({}, tainted, { outside: undefined }),
    await of({}, tainted, { parse: () => ({ ok: false, reason: "x" }) }),
  ]).toEqual(["go", "park", "go", "go", "go", "go"]);
});

test("what a person is asked holds the call, its place, its people and what was read, and ends after the time of the config", async () => {
  const { decide, asked } = stage();
  const decision = await decide();
  const [approval] = asked;
  expect([decision, approval]).toEqual([
    { kind: "park", tickets: [approval?.["id"]], untilMs: 1_801_000 },
    {
      v: 1,
      id: expect.stringMatching(/^[a-z2-9]{10}$/),
      session: lane,
      epoch: 4,
      agent: "main",
      turn: "t#1",
      callId: "c1",
      conversation: "telegram:default:dm:7",
      guild: "g",
      parent: "p",
      authority: "owner",
      owner: true,
      askedBy: ["telegram:7"],
      names: { "telegram:7": "Olga" },
      tool: "pay",
      args: { sum: 5 },
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      shown: "pays 5",
      reason: "the turn has read text of strangers: evil.test",
      grant: null,
      approvers: ["telegram:7"],
      createdAtMs: 1_000,
      expiresAtMs: 1_801_000,
      state: "open",
      log: [{ atMs: 1_000, what: "asked", by: "t#1" }],
    },
  ]);
});

test("nobody is asked about what is too long to be read, where nobody is, where too many wait, or while somebody wrote", async () => {
  const words = async (options: Parameters<typeof stage>[0], more: object = {}) => {
    const decision = await stage(options).decide(tainted, more);
    return decision.kind === "refuse" ? decision.reason : decision.kind;
  };
  expect(await words({}, { outside: () => "x".repeat(12_000) })).toBe("park");
  expect(await words({}, { outside: () => "x".repeat(12_001) })).toBe(
    "Not run: it needs a person's approval, and 12001 characters are too many to be read before. Make it shorter; a command, put into a script.",
  );
  expect(await words({ surfaces: [] })).toBe(
    "Not run: it needs a person's approval (the turn has read text of strangers: evil.test), and there is nobody to ask: no owner is known (commands.ownerAllowFrom).",
  );
  expect(await words({ full: "9 wait" })).toBe(
    "Not run: it needs a person's approval, and 9 wait already. Say so, and do not ask again before some of them are decided.",
  );
  const first = stage();
  await first.decide();
  const id = String(first.asked[0]?.["id"]);
  const wrote = { conversation: "telegram:default:dm:7", authority: "owner" };
  expect([
    await words({ tickets: [id], waiting: [wrote] }),
    await words({
      tickets: [id],
      waiting: [
        { ...wrote, ticket: "x" },
        { ...wrote, authority: "member" },
      ],
    }),
    await words({ tickets: [id], waiting: [{ ...wrote, conversation: "telegram:default:dm:8" }] }),
    await words({ tickets: ["other"], waiting: [wrote] }),
  ]).toEqual([
    `Not run yet: nobody has decided, and somebody wrote meanwhile. Approval ${id} stays open; once it is given, the call runs by itself and you are told. Do not ask again; answer the message.`,
    "park",
    "park",
    "park",
  ]);
});

test("an approval lets exactly its call go, once, in its own conversation; any other state says what became of it", async () => {
  const first = stage();
  await first.decide();
  const approval = { ...first.asked[0], log: [{ by: "Olga" }] };
  const of = (more: object, id = "c1") =>
    stage({ kept: { approval: { ...approval, ...more } } }).decide(tainted, {}, false, id);
  const uses = (callId: string) => ({
    kind: "go",
    uses: [
      { state: "used", used: { turn: "t#1", callId } },
      { what: "used", by: "t#1" },
    ],
  });
  expect([
    await of({ state: "once" }),
    await of({ state: "always" }),
    await of({ state: "once" }, "approved_abcdefghjkm"),
    await of({ state: "once", session: "agent:main:telegram:dm:8" }),
    await of({ state: "once", hash: "0" }),
    await of({ state: "denied" }),
    await of({ state: "expired" }),
    await of({ state: "used" }),
    await of({ state: "stopped" }),
    (await of({ state: "open" })).kind,
    await stage().decide(trusted, {}, false, "approved_abcdefghjkm"),
    await stage({ kept: { approval: { ...approval, state: "denied" } } }).decide(trusted),
  ]).toEqual([
    uses("c1"),
    uses("c1"),
    uses("approved_abcdefghjkm"),
    refused("Not run: that approval is of another conversation."),
    refused(
      "Not run: what this command would do now is not what was approved (its program, its files, the folder or the sandbox changed). Ask again.",
    ),
    refused("Not run: it was denied by Olga. Do not try it in another form."),
    refused("Not run: nobody approved it in time, so it is denied."),
    refused("Not run: its approval was used before."),
    refused("Not run: what asked for its approval was stopped."),
    "park",
    refused("Not run: that approval is not there any more."),
    go,
  ]);
});

test("a command goes, waits or is refused by its policy, and waits where the turn read text of strangers and it reaches out", async () => {
  const action = {
    kind: "exec",
    argv: ["/opt/tool", "x"],
    shell: false,
    parts: [["/opt/tool", "x"]],
    cwd: "/w",
    env: {},
    sandbox: "none",
    interactive: false,
    files: [{ path: "/w/a", sha256: "f".repeat(64) }],
    closed: true,
    outside: ["/etc"],
  };
  const policy = { mode: "allowlist", ask: "on-miss", allowlist: [], grants: [], owner: true };
  const of = async (options: object, heard: object, more: object = {}) => {
    const made = stage({ execPolicy: { ...policy, ...options } });
    const tells = async () => ({ ...action, ...more });
    const decision = await made.decide(heard, { name: "exec", action: tells });
    const [approval] = made.asked;
    const words = "reason" in decision ? decision.reason : decision.kind;
    return approval === undefined ? words : [words, approval["reason"], approval["grant"]];
  };
  const grant = {
    argv: ["/opt/tool", "x"],
    cwd: "/w",
    sandbox: "none",
    files: action.files,
    outside: ["/etc"],
  };
  const read = "the turn has read text of strangers: evil.test";
  const device = { device: "Phone (id-1)" };
  const own = { untrusted: "device Phone", sources: ["device Phone", "device Phone"] };
  const others = { untrusted: "evil.test", sources: ["device Phone", "evil.test"] };
  const shown =
    "run: /opt/tool x\nin: /w\nsandbox: none\nout of the file tools' reach: /etc\nfile: /w/a as it is now (sha256 ffffffffffffffff)";
  expect([
    await of({}, trusted),
    await of({}, tainted),
    await of({ mode: "full" }, trusted),
    await of({ mode: "full" }, tainted),
    await of({ mode: "full" }, tainted, { sandbox: "docker, network off" }),
    await of({ mode: "full" }, own, device),
    await of({ mode: "full" }, others, device),
    await of({ mode: "full" }, { ...own, sources: ["device Phone 2"] }, device),
    await of({ mode: "deny" }, trusted),
    await of({ ask: "off" }, tainted),
    await of({ ask: "always" }, trusted),
  ]).toEqual([
    ["park", "/opt/tool is not on the allowlist", grant],
    ["park", "/opt/tool is not on the allowlist", grant],
    "go",
    ["park", read, null],
    "go",
    "go",
    ["park", read, null],
    ["park", "the turn has read text of strangers: device Phone", null],
    `Not run: commands are off here (tools.exec.mode is "deny").\n${shown}`,
    `Not run: /opt/tool is not on the allowlist, and nobody is asked (tools.exec.ask is "off").\n${shown}`,
    ["park", 'every command is asked about (tools.exec.ask is "always")', null],
  ]);
  const throwing = (error: Error) =>
    stage({ execPolicy: policy }).decide(trusted, {
      action: async () => {
        throw error;
      },
    });
  expect(await throwing(new Fault("missing", "there is no such folder"))).toEqual(
    refused("Not run: there is no such folder"),
  );
  await expect(throwing(new TypeError("a bug"))).rejects.toThrow("a bug");
  const made = stage({ execPolicy: policy });
  await made.decide(trusted, { name: "exec", action: async () => action });
  expect(made.asked[0]).toMatchObject({ shown, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
});
