// Approvals on the message path: who may answer, once, in time, and what happens to a turn that waits.
import { afterEach, describe, expect, test } from "vitest";
import { silentLog, type Inbound, type SessionKey } from "@parley/protocol";
import type { ExecAction, ToolScope } from "@parley/tools";
import { type Approval, tooManyOpen, createApprovals, isApproved } from "@parley/runner";
import { askingTool, type AskingTool } from "./asking-tool.ts";
import type { Asked, Answer } from "./scripted-model.ts";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
let tool: AskingTool;
afterEach(() => s.close());

const lane = "agent:main:telegram:dm:olga";

/** Calls the tool when told to, then says what it was told. */
function script({ messages, text }: Asked): Answer {
  const last = messages.at(-1);
  if (last?.role === "tool") return `so: ${JSON.stringify(last.content)}`;
  return text.endsWith("deploy") ? { calls: { name: "exec", args: { what: "site" } } } : `re: ${text}`;
}

async function begin(config: object = {}, telegram: object = {}): Promise<Person> {
  tool = askingTool();
  s = await stage({
    tools: [tool.tool],
    telegram,
    config: { commands: { ownerAllowFrom: ["telegram:olga", "telegram:oscar"] }, ...config },
  });
  s.model.answers(script);
  return s.person("olga");
}

/** Asks, and waits until the turn is parked. Returns the approval's id. */
async function asked(who: Person): Promise<string> {
  who.says("deploy");
  await s.until(
    async () => (await s.core().approvals.list()).some(({ state }) => state === "open"),
    "the request",
  );
  await s.until(async () => (await turnOf())?.state === "parked", "the park");
  const [approval] = await s.core().approvals.list();
  return approval?.id ?? "";
}

async function turnOf() {
  const [row] = await s.rows({ id: "telegram:default:olga-olga-1" });
  return row?.turn === null || row === undefined ? null : s.store().turns.find(row.turn);
}

const stateOf = async (id: string): Promise<string | undefined> =>
  (await s.core().approvals.list()).find((each) => each.id === id)?.state;

test("approved, the call runs once and the turn goes on where it was; the request shows what ran", async () => {
  const olga = await begin();
  const id = await asked(olga);
  expect(s.pools().turnsRunning()).toBe(0);
  expect(olga.sees()[0]).toContain("run: /opt/deploy site");
  olga.says(`/approve ${id} once`);
  await s.until(() => olga.sees().some((text) => text.startsWith("so: ")), "the answer");
  expect(tool.ran).toEqual(["site"]);
  expect(olga.sees().filter((text) => text.startsWith("so: "))).toEqual([
    expect.stringContaining("ran site"),
  ]);
  // The decision itself is no message to the model.
  expect(s.model.asked).toHaveLength(2);
  expect(JSON.stringify(s.model.asked.map(({ messages }) => messages))).not.toContain("Approval");
  expect(await stateOf(id)).toBe("used");
  for (const again of ["once", "deny"]) {
    olga.says(`/approve ${id} ${again}`);
    await s.until(() => olga.sees().at(-1)?.includes("allowed and used before") === true, "the refusal");
  }
  expect(tool.ran).toEqual(["site"]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/approved.txt");
});

test("denied, it does not run, and the model is told by whom", async () => {
  const olga = await begin();
  const id = await asked(olga);
  olga.says(`/deny ${id}`);
  await s.until(() => olga.sees().some((text) => text.startsWith("so: ")), "the answer");
  expect(tool.ran).toEqual([]);
  expect(olga.sees().find((text) => text.startsWith("so: "))).toContain("denied by telegram:olga");
});

test("unanswered, it is denied when its time is over", async () => {
  const olga = await begin({ approvals: { exec: { timeoutMinutes: 5 } } });
  const id = await asked(olga);
  await s.until(() => olga.sees().some((text) => text.startsWith("so: ")), "the answer");
  expect(s.clock.mono()).toBeGreaterThanOrEqual(5 * 60_000);
  expect(olga.sees().find((text) => text.startsWith("so: "))).toContain("nobody approved it in time");
  expect([tool.ran, await stateOf(id)]).toEqual([[], "expired"]);
  olga.says(`/approve ${id} once`);
  await s.until(() => olga.sees().at(-1)?.includes("its time is over") === true, "the refusal");
  await expect(await s.trace()).toMatchFileSnapshot("traces/approval-unanswered.txt");
});

test("/stop ends the turn and the request with it", async () => {
  const olga = await begin();
  const id = await asked(olga);
  olga.says("/stop");
  await s.until(() => olga.sees().includes("Stopped."), "the stop");
  await s.pass(1_000);
  olga.says(`/approve ${id} once`);
  await s.until(() => olga.sees().at(-1)?.includes("was stopped") === true, "the refusal");
  expect(tool.ran).toEqual([]);
  const results = (await s.transcript(lane)).filter((entry) => entry.type === "toolResult");
  expect(results).toHaveLength(1);
});

test("a death while it waits changes nothing; a death between the decision and its row is healed", async () => {
  const olga = await begin();
  const id = await asked(olga);
  await s.kill();
  await s.start();
  await s.pass(60_000);
  expect(tool.ran).toEqual([]);
  // As a process leaves it that died right after the decision was durable.
  const kept = await s.core().approvals.book.get(id);
  if (kept === null) throw new Error("it is gone");
  await s.core().approvals.book.move(kept, { state: "once" }, { what: "once", by: "telegram:olga" });
  await s.kill();
  await s.start();
  // Long before the request's own time is over, which would wake the turn as well.
  await s.until(() => olga.sees().some((text) => text.startsWith("so: ")), "the answer", 5 * 60_000);
  expect(tool.ran).toEqual(["site"]);
});

test("the answer comes below the request, also where answers grow by edits; what grew above it is taken away", async () => {
  const olga = await begin({}, { streaming: "edit" });
  s.model.answers(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { says: ["done: ", "it ", "ran"], pauseMs: 2_000 }
      : {
          says: ["I will ", "deploy ", "it"],
          pauseMs: 2_000,
          calls: { name: "exec", args: { what: "site" } },
        },
  );
  const id = await asked(olga);
  expect(olga.sees()).toEqual([
    expect.stringMatching(/^I will/),
    expect.stringContaining("run: /opt/deploy site"),
  ]);
  await s.core().approvals.decide(id, "once", { operator: "test" });
  await s.until(() => olga.sees().at(-1) === "done: it ran", "the answer");
  await s.pass(5_000);
  expect(olga.sees()).toEqual([expect.stringContaining("Allowed once"), "done: it ran"]);
});

describe("somebody who writes meanwhile", () => {
  test("is answered; the request stays open, and its later answer runs the call once in a turn of its own", async () => {
    const olga = await begin();
    const id = await asked(olga);
    olga.says("are you there?");
    await s.until(
      () => olga.sees().includes("re: are you there?") || olga.sees().some((text) => text.startsWith("so: ")),
      "an answer",
    );
    expect(JSON.stringify(s.model.asked.at(-1)?.messages)).toContain("nobody has decided");
    expect([tool.ran, await stateOf(id)]).toEqual([[], "open"]);
    const before = olga.sees().length;
    olga.says(`/approve ${id} once`);
    await s.until(
      () =>
        olga
          .sees()
          .slice(before)
          .some((text) => text.includes("ran site")),
      "the answer",
    );
    await s.pass(60_000);
    expect(tool.ran).toEqual(["site"]);
    expect(await stateOf(id)).toBe("used");
    await expect(await s.trace()).toMatchFileSnapshot("traces/answered-before-approval.txt");
  });

  test("does not keep it open for ever: its buttons go when its time is over, also where nothing waits for it any more", async () => {
    const olga = await begin({ approvals: { exec: { timeoutMinutes: 5 } } });
    const id = await asked(olga);
    olga.says("are you there?");
    await s.until(
      () => olga.sees().some((text) => text.startsWith("so: ") || text.startsWith("re: ")),
      "an answer",
    );
    await s.kill();
    await s.start();
    await s.until(
      () => olga.sees()[0]?.startsWith("⌛ Nobody answered in time") === true,
      "the end of the card",
      6 * 60_000,
    );
    expect([tool.ran, await stateOf(id)]).toEqual([[], "expired"]);
  });

  test("and what changed until its later answer is not run", async () => {
    const olga = await begin();
    const id = await asked(olga);
    olga.says("are you there?");
    await s.until(
      () => olga.sees().some((text) => text.startsWith("so: ") || text.startsWith("re: ")),
      "an answer",
    );
    tool.moveTo("/elsewhere");
    olga.says(`/approve ${id} once`);
    await s.until(() => olga.sees().at(-1)?.includes("is not what was approved") === true, "the refusal");
    expect(tool.ran).toEqual([]);
  });

  test("in a conversation that began anew has forgotten the request", async () => {
    const olga = await begin();
    const id = await asked(olga);
    olga.says("/new");
    await s.pass(5_000);
    olga.says(`/approve ${id} once`);
    await s.until(() => olga.sees().at(-1)?.includes("was stopped") === true, "the refusal");
    expect(tool.ran).toEqual([]);
  });
});

describe("who decides", () => {
  test("a stranger does not; of two owners at once one does, and the other is told", async () => {
    await begin();
    const mallory = s.person("mallory");
    mallory.says("deploy");
    await s.until(async () => (await s.core().approvals.list()).length === 1, "the request");
    const [approval] = await s.core().approvals.list();
    const id = approval?.id ?? "";
    // It is shown to the owners, in private; who asked is told that they were asked, and not what.
    await s.until(
      () => s.person("olga").sees().length === 1 && s.person("oscar").sees().length === 1,
      "the cards",
    );
    await mallory.gets(/^🔐 .*have been asked/);
    mallory.says(`/approve ${id} once`);
    await mallory.gets(/You may not decide/);
    const answers = await Promise.allSettled([
      s.core().approvals.decide(id, "once", { person: "telegram:olga" }),
      s.core().approvals.decide(id, "deny", { person: "telegram:oscar" }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const lost = answers.find((answer) => answer.status === "rejected");
    expect(lost?.reason).toMatchObject({ code: "conflict" });
    await expect(await s.trace()).toMatchFileSnapshot("traces/two-owners.txt");
  });

  test("only who was asked then and still is an approver now", async () => {
    const id = await asked(await begin());
    const { cells, inbox, outbox, sessions, turns } = s.store();
    const rest = {
      owners: async () => [],
      target: "dm",
      accounts: () => [],
      clock: s.clock,
      log: silentLog,
    } as const;
    const now = createApprovals({
      cells,
      inbox,
      outbox,
      sessions,
      turns,
      placeOf: () => null,
      approvers: ["telegram:newcomer", "telegram:oscar"],
      ...rest,
    });
    for (const person of ["telegram:newcomer", "telegram:olga"])
      await expect(now.decide(id, "once", { person }), person).rejects.toMatchObject({ code: "denied" });
    expect(await now.decide(id, "deny", { person: "telegram:oscar" })).toMatchObject({
      approval: { state: "denied" },
    });
  });

  test("where nobody is known, nothing is asked and nothing runs", async () => {
    const olga = await begin({ commands: {} });
    olga.says("deploy");
    await s.until(() => olga.sees().length === 1, "the answer");
    expect(olga.sees()[0]).toContain("there is nobody to ask");
    expect([tool.ran, await s.core().approvals.list()]).toEqual([[], []]);
  });
});

describe("a request says who asks, and where", () => {
  async function cardFor(name: string, more: Partial<Inbound> = {}): Promise<string> {
    await begin({}, { groups: { "-100": { allowFrom: ["*"], requireMention: false } } });
    s.person("mallory").says("deploy", { sender: { id: "mallory", name, isBot: false }, ...more });
    await s.until(() => s.person("olga").sees().length === 1, "the card");
    return s.person("olga").sees()[0] ?? "";
  }

  test("by name and id, with the chat and the session", async () => {
    const card = await cardFor("Mallory Müller");
    expect(card).toContain('asked by: "Mallory Müller" (telegram:mallory)');
    expect(card).toContain("chat: telegram private chat mallory");
    expect(card).toContain("session: agent:main:telegram:dm:mallory");
    expect((await s.core().approvals.list())[0]).toMatchObject({
      names: { "telegram:mallory": "Mallory Müller" },
    });
  });

  test("in a group's thread", async () => {
    const address = {
      channel: "telegram",
      account: "default",
      kind: "group",
      peer: "-100",
      thread: "7",
    } as const;
    expect(await cardFor("M", { address })).toContain("chat: telegram group -100, thread 7");
  });

  test.each([
    [
      "directions and invisible marks",
      "\u202eagl\u200bO\u2800\u034f\ufe0f",
      "\\u{202e}agl\\u{200b}O\\u{2800}\\u{34f}\\u{fe0f}",
    ],
    ["letters that look like others", "\u041elga (owner)", "\\u{41e}lga (owner)"],
    [
      "quotes and lines",
      'x" (telegram:olga)\nrun: ls\n```',
      "x\\u{22} (telegram:olga)\\u{a}run: ls\\u{a}```",
    ],
    ["more than a name", "n".repeat(200), `${"n".repeat(40)}" (cut`],
  ])("a name of %s changes nothing", async (_what, name, shown) => {
    const card = await cardFor(name);
    expect(card).toContain(`asked by: "${shown}`);
    expect(card).toContain("(telegram:mallory)");
    expect(card.split("\n").filter((line) => line.startsWith("run: "))).toEqual(["run: /opt/deploy site"]);
  });
});

describe("no more requests wait at once than people read", () => {
  test("thirty strangers make twelve cards; the others are told, counted, and have room when some are decided", async () => {
    await begin();
    const strangers = Array.from({ length: 30 }, (_, n) => s.person(`stranger${n}`));
    for (const stranger of strangers) stranger.says("deploy");
    await s.until(() => strangers.every((each) => each.sees().length > 0), "an answer to each");
    const open = (await s.core().approvals.list()).filter(({ state }) => state === "open");
    expect([open.length, s.person("olga").sees().length, s.person("oscar").sees().length]).toEqual([
      12, 12, 12,
    ]);
    const told = strangers.filter((each) =>
      each.sees().some((text) => text.includes("12 requests of people who are no owners wait")),
    );
    expect(told).toHaveLength(18);
    expect(s.refused.filter(({ reason }) => reason === "too_many_approvals")).toHaveLength(18);
    // An owner still can.
    s.person("olga").says("deploy");
    await s.until(
      async () => (await s.core().approvals.list()).filter(({ state }) => state === "open").length === 13,
      "the owner's",
    );
    await s.core().approvals.decide(open[0]?.id ?? "", "deny", { operator: "test" });
    s.person("late").says("deploy");
    await s.until(async () => (await s.core().approvals.list()).length === 14, "another one's");
  });

  test.each([
    ["of one person", 5, { askedBy: ["telegram:a"] }],
    ["in one conversation", 8, { conversation: "here" }],
    ["of people who are no owners", 12, { owner: false }],
  ])("%s", (_which, most, same) => {
    const one = (n: number) =>
      ({ askedBy: [`telegram:${n}`], conversation: `c${n}`, owner: true, ...same }) as unknown as Approval;
    const others = Array.from(
      { length: 40 },
      (_, n) => ({ askedBy: [`x:${n}`], conversation: `x${n}`, owner: true }) as unknown as Approval,
    );
    const open = Array.from({ length: most - 1 }, (_, n) => one(n));
    expect(tooManyOpen([...others, ...open], one(98))).toBe(null);
    expect(tooManyOpen([...others, ...open, one(97)], one(98))).toContain(`${most} requests`);
  });
});

test("what changed between the question and the answer is not run", async () => {
  const olga = await begin();
  const id = await asked(olga);
  tool.moveTo("/elsewhere");
  olga.says(`/approve ${id} once`);
  // The turn asks anew about what it would do now.
  await s.until(async () => (await s.core().approvals.list()).length === 2, "another request");
  expect(tool.ran).toEqual([]);
});

test("what a shell would read is not allowed for good", async () => {
  const id = await asked(await begin());
  const { book, decide } = s.core().approvals;
  const kept = await book.get(id);
  if (kept === null) return expect.unreachable("it was asked");
  await book.open({ ...kept.approval, id: "shell", grant: null });
  await expect(decide("shell", "always", { operator: "test" })).rejects.toMatchObject({ code: "invalid" });
});

test("the last look before the start is for this action of this call, once its approval is used up", async () => {
  const id = await asked(await begin());
  const { book } = s.core().approvals;
  const kept = await book.get(id);
  if (kept === null) return expect.unreachable("it was asked");
  const { hash, session } = kept.approval;
  const look = isApproved(book);
  const call = { turn: "later", callId: `approved_${id}`, session } as ToolScope;
  const may = (of: string, at: ToolScope): Promise<boolean> => look({} as ExecAction, of, at);
  const used = { turn: call.turn, callId: call.callId };
  expect(await may(hash, call)).toBe(false);
  const given = await book.move(kept, { state: "once", used }, { what: "once", by: "test" });
  expect(await may(hash, call)).toBe(false);
  await book.move(given ?? kept, { state: "used" }, { what: "used", by: "later" });
  expect(await may(hash, call)).toBe(true);
  for (const other of [
    { turn: "another" },
    { session: "agent:main:main" as SessionKey },
    { callId: "call-2" },
  ])
    expect(await may(hash, { ...call, ...other }), JSON.stringify(other)).toBe(false);
  expect(await may("another hash", call)).toBe(false);
});

test("always is kept for exactly these words and this folder, and can be taken back", async () => {
  const olga = await begin();
  const id = await asked(olga);
  olga.says(`/approve ${id} always`);
  await s.until(() => olga.sees().some((text) => text.startsWith("so: ")), "the answer");
  olga.says("again: deploy");
  await s.until(() => tool.ran.length === 2, "the second run");
  tool.moveTo("/elsewhere");
  olga.says("elsewhere: deploy");
  await s.until(
    async () => (await s.core().approvals.list()).filter(({ state }) => state === "open").length === 1,
    "a request",
  );
  const [grant] = await s.core().approvals.book.grants("main");
  expect(grant).toMatchObject({
    argv: ["/opt/deploy", "site"],
    cwd: "/work",
    sandbox: "none",
    by: "telegram:olga",
  });
  expect(await s.core().approvals.book.grants("another")).toEqual([]);
  expect(await s.core().approvals.book.revoke(grant?.id ?? "")).toBe(true);
  expect(await s.core().approvals.book.grants("main")).toEqual([]);
});

describe("a scheduled job", () => {
  const job = { name: "site", schedule: { kind: "every", every: "1h" }, message: "deploy" };
  const maker = {
    agent: "main",
    kind: "operator",
    sender: null,
    isOwner: true,
    conversation: { channel: "telegram", account: "default", kind: "dm", peer: "olga" },
    session: lane,
    turn: null,
    authority: "owner",
    tools: null,
  } as const;

  test("asks an owner once, and what is allowed for good runs unasked", async () => {
    const olga = await begin();
    await s.core().schedules.add(job, maker);
    await s.until(async () => (await s.core().approvals.list()).length === 1, "the request", 7_200_000);
    const [approval] = await s.core().approvals.list();
    olga.says(`/approve ${approval?.id ?? ""} always`);
    await s.until(() => tool.ran.length === 2, "the next run", 7_200_000);
    expect(await s.core().approvals.list()).toHaveLength(1);
  });

  test("is denied what nobody could allow, and told", async () => {
    const olga = await begin({ commands: {} });
    await s.core().schedules.add(job, maker);
    await s.until(() => olga.sees().length === 1, "the answer", 7_200_000);
    expect(olga.sees()[0]).toContain("there is nobody to ask");
    expect([tool.ran, await s.core().approvals.list()]).toEqual([[], []]);
  });
});
