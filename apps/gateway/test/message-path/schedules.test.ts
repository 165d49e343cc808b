// Schedules on the message path: each slot runs once, its answer goes to the place fixed at creation, and
// what happened to every instant stands in the history.
import { afterEach, describe, expect, test } from "vitest";
import type { JobMaker } from "@parley/runner";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const minuteMs = 60_000;

const operator: JobMaker = {
  agent: "main",
  kind: "operator",
  sender: null,
  isOwner: true,
  conversation: { channel: "telegram", account: "default", kind: "dm", peer: "olga" },
  session: "agent:main:telegram:dm:olga",
  turn: null,
  authority: "owner",
  tools: null,
};

async function begin(config: object = {}): Promise<Person> {
  s = await stage({
    catalogue: true,
    config: { commands: { ownerAllowFrom: ["telegram:olga"] }, ...config },
  });
  s.model.answers(({ text }) => `re: ${text.split("\n").at(-1) ?? ""}`);
  return s.person("olga");
}

const add = (job: object, by = operator) => s.core().schedules.add(job, by);
const outcomes = async (id: string): Promise<readonly string[]> =>
  (await s.core().schedules.runs(id, 100)).ended.map(({ outcome }) => outcome);

test("a job of one instant runs once in a session of its own, is announced, and goes away", async () => {
  const olga = await begin();
  const job = await add({ name: "look", schedule: { kind: "at", at: "10m" }, message: "look at the sky" });
  await s.pass(9 * minuteMs);
  expect(olga.sees()).toEqual([]);
  await olga.gets("re: look at the sky");
  await s.pass(15 * minuteMs);
  expect(olga.sees()).toHaveLength(1);
  const [row] = await s.rows({ lane: `agent:main:cron:${job.id}` as never });
  expect(row?.outcome).toBe("answered");
  expect(await s.core().schedules.jobs.get(job.id)).toBeNull();
});

test("a job of every so often runs each time, and no run reads of the one before", async () => {
  const olga = await begin();
  const job = await add({ name: "tick", schedule: { kind: "every", every: "10m" }, message: "tick" });
  await s.pass(35 * minuteMs);
  expect(olga.sees()).toEqual(["re: tick", "re: tick", "re: tick"]);
  expect(await outcomes(job.id)).toEqual(["ok", "ok", "ok"]);
  for (const { users } of s.model.asked) expect(users).toHaveLength(1);
  expect(s.model.asked[0]?.text).toMatch(/^\[System Message\] Scheduled job "tick" \(/);
  await expect(await s.trace()).toMatchFileSnapshot("traces/job.txt");
});

test("killed at any moment, each instant runs once", async () => {
  const olga = await begin();
  const job = await add({
    name: "tick",
    schedule: { kind: "every", every: "10m" },
    message: "tick",
    misfire: "all",
  });
  s.model.answers(() => ({ afterMs: 20_000, says: ["tock"] }));
  for (let life = 0; life < 8; life += 1) {
    await s.pass(9 * minuteMs + 47_000 + life * 1_300);
    await s.kill();
    await s.start();
  }
  await s.pass(12 * minuteMs);
  const ended = (await s.core().schedules.runs(job.id, 100)).ended;
  const instants = ended.map(({ instantMs }) => instantMs);
  expect(new Set(instants).size).toBe(instants.length);
  expect(ended.every(({ outcome }) => outcome === "ok")).toBe(true);
  const [last, first] = [Math.max(...instants), Math.min(...instants)];
  expect(instants).toHaveLength((last - first) / (10 * minuteMs) + 1);
  expect(olga.sees()).toHaveLength(instants.length);
});

test("transcripts of runs stay as long as cron.sessionRetention says, and no longer", async () => {
  await begin({ cron: { sessionRetention: "20m" } });
  const job = await add({ name: "tick", schedule: { kind: "every", every: "10m" }, message: "tick" });
  await s.pass(71 * minuteMs);
  const lane = `agent:main:cron:${job.id}`;
  const { epoch } = await s.store().sessions.open(lane as never);
  const kept: number[] = [];
  for (let each = 1; each <= epoch; each += 1)
    if ((await s.transcript(lane, each)).length > 0) kept.push(each);
  expect(epoch).toBe(7);
  // Those that began within the last twenty minutes, and the one that went on until then.
  expect(kept).toEqual([5, 6, 7]);
});

describe("the model of a job", () => {
  const asking = (model: string) => ({
    name: "look",
    schedule: { kind: "every", every: "1h" },
    payload: { kind: "agentTurn", message: "look", model },
  });

  test("is named by an alias and kept as what it means", async () => {
    await begin({ agents: { defaults: { models: { "rehearsal/rehearsal": { alias: "quick" } } } } });
    const job = await add(asking("quick"));
    expect(job.payload).toMatchObject({ model: "rehearsal/rehearsal" });
  });

  test("is refused with the names that there are, when it is made and when it is changed", async () => {
    await begin();
    await expect(add(asking("nope"))).rejects.toThrow(/there is no model "nope".* Fix: take one of \S+\/\S+/);
    const job = await add({ name: "look", schedule: { kind: "every", every: "1h" }, message: "look" });
    const edit = s.core().schedules.edit(job.id, { payload: asking("nope").payload }, operator);
    await expect(edit).rejects.toThrow(/there is no model "nope"/);
  });
});

test("a job stays with its agent", async () => {
  await begin();
  const job = await add({ name: "look", schedule: { kind: "every", every: "1h" }, message: "look" });
  await expect(s.core().schedules.edit(job.id, { agent: "other" }, operator)).rejects.toThrow(
    /stays with its agent/,
  );
});

test("a history keeps about as many runs as cron.runLog.keepLines says, the newest ones", async () => {
  await begin({ cron: { runLog: { keepLines: 10 } } });
  const job = await add({ name: "tick", schedule: { kind: "every", every: "1m" }, message: "tick" });
  await s.pass(35 * minuteMs);
  const { ended } = await s.core().schedules.runs(job.id, 100);
  expect(ended.length).toBeGreaterThanOrEqual(10);
  expect(ended.length).toBeLessThan(20);
  expect(ended[0]?.instantMs).toBe(s.clock.now() - (s.clock.now() % minuteMs));
});

test("what was missed while nothing ran is told once, by the latest instant", async () => {
  const olga = await begin();
  const job = await add({ name: "tick", schedule: { kind: "every", every: "10m" }, message: "tick" });
  await s.kill();
  await s.pass(65 * minuteMs);
  await s.start();
  await s.pass(minuteMs);
  expect(olga.sees()).toEqual(["re: tick"]);
  const { ended } = await s.core().schedules.runs(job.id, 100);
  expect(ended.map(({ outcome, count }) => [outcome, count])).toEqual([
    ["ok", 1],
    ["missed", 5],
  ]);
});

describe("a job that fails", () => {
  test("says nothing the first time, alerts the second, waits longer each time, and is paused at the tenth", async () => {
    const olga = await begin();
    s.model.answers(() => ({ fails: "refused" }));
    const job = await add({ name: "bad", schedule: { kind: "every", every: "1m" }, message: "try" });
    await s.pass(90_000);
    expect(olga.sees()).toEqual([]);
    await s.pass(4 * minuteMs);
    expect(olga.sees()).toEqual([
      expect.stringMatching(/^⚠️ The scheduled job "bad" \(\w+\) failed 2 times in a row: refused/),
    ]);
    // As if the failures of the next hours had been.
    const { jobs } = s.core().schedules;
    const kept = await jobs.get(job.id);
    if (kept === null) throw new Error("the job is gone");
    const consecutiveErrors = 9;
    await jobs.write(kept, { ...kept.job, state: { ...kept.job.state, consecutiveErrors, backoffMs: 0 } });
    await s.pass(2 * minuteMs);
    expect(olga.sees().at(-1)).toMatch(
      /^⏸ The scheduled job "bad" .* failed 10 times in a row and is paused/,
    );
    const before = (await outcomes(job.id)).length;
    await s.pass(20 * minuteMs);
    expect(await outcomes(job.id)).toHaveLength(before);
    await expect(await s.trace()).toMatchFileSnapshot("traces/job-failing.txt");
  });

  test("and works again says so once", async () => {
    const olga = await begin();
    s.model.answers(() => ({ fails: "refused" }));
    await add({ name: "bad", schedule: { kind: "every", every: "1m" }, message: "try" });
    await s.until(() => olga.sees().some((text) => text.includes("2 times")), "the alert");
    s.model.answers(() => "fine");
    await s.pass(10 * minuteMs);
    expect(olga.sees().filter((text) => text.includes("works again"))).toHaveLength(1);
  });

  test("and had one run only tells at once what it was about", async () => {
    const olga = await begin();
    s.model.answers(() => ({ fails: "refused" }));
    await add({ name: "tea", schedule: { kind: "at", at: "5m" }, text: "Drink the tea" });
    await s.pass(10 * minuteMs);
    expect(olga.sees()).toEqual([
      expect.stringMatching(/^⏰ Drink the tea\n\n.*could not be worked on: refused/s),
    ]);
  });
});

test("with cron.enabled false no job fires, though it can be made and seen", async () => {
  const olga = await begin({ cron: { enabled: false } });
  const job = await add({ name: "look", schedule: { kind: "every", every: "10m" }, message: "look" });
  await s.pass(21 * minuteMs);
  expect([olga.sees(), (await s.core().schedules.list(operator)).map(({ id }) => id)]).toEqual([
    [],
    [job.id],
  ]);
});

describe("a job that was changed", () => {
  test("does not run by its old version, nor when it was switched off or removed", async () => {
    const olga = await begin();
    const { schedules } = s.core();
    const moved = await add({ name: "moved", schedule: { kind: "at", at: "10m" }, message: "moved" });
    const off = await add({ name: "off", schedule: { kind: "at", at: "10m" }, message: "off" });
    const gone = await add({ name: "gone", schedule: { kind: "at", at: "10m" }, message: "gone" });
    await schedules.edit(moved.id, { schedule: { kind: "at", at: "30m" } }, operator);
    await schedules.edit(off.id, { enabled: false }, operator);
    await schedules.remove(gone.id, operator);
    await s.pass(20 * minuteMs);
    expect(olga.sees()).toEqual([]);
    await s.pass(20 * minuteMs);
    expect(olga.sees()).toEqual(["re: moved"]);
  });

  test("and waits for its turn ends there as superseded", async () => {
    await begin({ cron: { maxConcurrentRuns: 1 } });
    s.model.answers(() => ({ afterMs: 10 * minuteMs, says: ["late"] }));
    const { schedules } = s.core();
    await add({ name: "first", schedule: { kind: "at", at: "1m" }, message: "first" });
    const second = await add({ name: "second", schedule: { kind: "at", at: "2m" }, message: "second" });
    await s.pass(3 * minuteMs);
    await schedules.edit(second.id, { message: "another" }, operator);
    await s.pass(30 * minuteMs);
    const [row] = await s.rows({ lane: `agent:main:cron:${second.id}` as never });
    expect(row?.outcome).toBe("superseded");
    expect(await outcomes(second.id)).toEqual(["superseded"]);
  });
});

describe("while a run goes on", () => {
  const slow = (overlap: string) =>
    add({ name: overlap, schedule: { kind: "every", every: "10m" }, message: overlap, overlap });

  test("skip leaves the next one out, queue lets it wait, replace ends the first", async () => {
    await begin({ agents: { defaults: { timeoutSeconds: 3600 } } });
    s.model.answers(() => ({ afterMs: 15 * minuteMs, says: ["done"] }));
    const [skip, queue, replace] = [await slow("skip"), await slow("queue"), await slow("replace")];
    await s.pass(41 * minuteMs);
    expect((await outcomes(skip.id)).toReversed()).toEqual(["ok", "skipped", "skipped"].toSorted());
    expect(await outcomes(queue.id)).toEqual(["ok", "ok"]);
    expect(await outcomes(replace.id)).toEqual(["skipped", "skipped", "skipped"]);
  });
});

test("in a session that people use too, replace ends the job's own run and nobody's message", async () => {
  const olga = await begin({ agents: { defaults: { timeoutSeconds: 3600 } } });
  s.model.answers(({ text }) =>
    text.includes("Scheduled") ? { afterMs: 15 * minuteMs, says: ["done"] } : `re: ${text}`,
  );
  const session = operator.session as never;
  const { id } = await add({
    name: "look",
    schedule: { kind: "every", every: "10m" },
    message: "look",
    target: { kind: "session", session },
    overlap: "replace",
  });
  await s.pass(15 * minuteMs);
  olga.says("hello");
  await s.pass(10 * minuteMs);
  expect(await outcomes(id)).toEqual(["skipped"]);
  expect(olga.sees()).toContainEqual(expect.stringMatching(/^re: .*hello/s));
  await expect(await s.trace()).toMatchFileSnapshot("traces/job-replaced.txt");
});

test("two hundred jobs of one minute delay no person", async () => {
  const olga = await begin();
  s.model.answers(({ text }) =>
    text.includes("Scheduled") ? { afterMs: 20_000, says: ["NO_REPLY"] } : "at once",
  );
  for (let at = 0; at < 200; at += 1)
    await add({
      name: `job ${at}`,
      schedule: { kind: "at", at: "1m" },
      message: "work",
      delivery: { kind: "none" },
    });
  await s.pass(65_000);
  const before = s.clock.now();
  await olga.says("hello").gets("at once");
  expect(s.clock.now() - before).toBeLessThan(10_000);
});

describe("the tool", () => {
  const reminder = {
    name: "tea",
    schedule: { kind: "at", at: "20m" },
    payload: { kind: "systemEvent", text: "Tea!" },
  };
  /** The first message of a person makes the model call `cron` once; events are told on. */
  const scripted = (args: object) =>
    s.model.answers(({ text, messages }) => {
      if (text.includes("[System Message]")) return `reminder: ${text.split("\n").at(-1) ?? ""}`;
      const called = messages.findLast(({ role }) => role === "tool");
      return called === undefined
        ? { calls: { name: "cron", args: args as never } }
        : `done: ${JSON.stringify(called.content)}`;
    });

  test("makes a reminder that comes to its chat once, also when the process dies in the minute it fires", async () => {
    const olga = await begin();
    scripted({ action: "add", job: { ...reminder, sessionTarget: "main", wakeMode: "now" } });
    await olga.says("remind me of the tea").gets(/done: .*Added\. /);
    await s.pass(19 * minuteMs + 58_000);
    for (let life = 0; life < 4; life += 1) {
      await s.kill();
      await s.pass(900);
      await s.start();
      await s.pass(400);
    }
    await s.pass(10 * minuteMs);
    expect(olga.sees().filter((text) => text.startsWith("reminder"))).toEqual(["reminder: Tea!"]);
    expect(await s.core().schedules.list(operator)).toEqual([]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/reminder.txt");
  });

  test("is made once when the process dies around the call", async () => {
    const olga = await begin();
    scripted({ action: "add", job: { ...reminder, schedule: { kind: "at", at: "5h" } } });
    olga.says("remind me");
    for (let life = 0; life < 5; life += 1) {
      await s.pass(30 + life * 60);
      await s.kill();
      await s.start();
    }
    await olga.gets(/done/);
    expect(await s.core().schedules.list(operator)).toHaveLength(1);
  });

  test("refuses a mistake with its path and the fix", async () => {
    const olga = await begin();
    scripted({ action: "add", job: { ...reminder, sessionTarget: "isolated" } });
    await olga.says("remind me").gets(/target\.kind .*isolated.*Fix: .*agentTurn/s);
  });

  test("lets a stranger have reminders here, and neither others' jobs nor other places", async () => {
    const olga = await begin();
    await add({ name: "private", schedule: { kind: "every", every: "1d" }, message: "secret" });
    const eve = s.person("eve");
    scripted({ action: "list" });
    await eve.says("which jobs").gets(/There are no jobs/);
    scripted({
      action: "add",
      job: { ...reminder, delivery: { mode: "announce", to: "telegram:default:dm:olga" } },
    });
    s.model.answers(({ messages }) => {
      const called = messages.filter(({ role }) => role === "tool").at(-1);
      return called === undefined
        ? { calls: { name: "cron", args: { action: "remove", jobId: "private" } } }
        : JSON.stringify(called.content);
    });
    await s
      .person("mallory")
      .says("remove it")
      .gets(/there is no job/);
    expect(olga.sees()).toEqual([]);
    expect(await s.core().schedules.list(operator)).toHaveLength(1);
  });

  test("gives a job no more tools than its maker had", async () => {
    const olga = await begin({ tools: { deny: ["write"] } });
    scripted({
      action: "add",
      job: {
        name: "look",
        schedule: { kind: "at", at: "1m" },
        payload: { kind: "agentTurn", message: "look" },
      },
    });
    await olga.says("look later").gets(/Added/);
    const [job] = await s.core().schedules.list(operator);
    expect(job?.owner.tools).toContain("read");
    expect(job?.owner.tools).not.toContain("write");
    const before = s.model.asked.length;
    await s.pass(2 * minuteMs);
    const names = s.model.asked[before]?.request.tools.map(({ name }) => name) ?? [];
    expect(names).toContain("read");
    expect(names).not.toContain("write");
  });
});

test("a job of somebody who is not served any more is paused, also where its answer goes nowhere", async () => {
  await begin();
  const by: JobMaker = {
    ...operator,
    kind: "turn",
    sender: "telegram:eve",
    isOwner: false,
    conversation: { channel: "telegram", account: "default", kind: "group", peer: "-5" },
    session: "agent:main:telegram:group:-5",
    authority: "member",
  };
  const job = { name: "look", schedule: { kind: "every", every: "10m" }, message: "look", delivery: "none" };
  const { id } = await add(job, by);
  const owners = await add({ ...job, name: "own" });
  await s.pass(11 * minuteMs);
  expect([await outcomes(id), await outcomes(owners.id)]).toEqual([[], ["ok"]]);
  const kept = await s.core().schedules.jobs.get(id);
  expect(kept?.job.state.paused?.reason).toMatch(/^whoever made it is not served any more: /);
});

test.for(["every", "at"])(
  "a chat that the platform closed pauses its jobs (%s), and its next message resumes them",
  async (kind) => {
    const olga = await begin();
    const bob = { channel: "telegram", account: "default", kind: "dm", peer: "bob" };
    const { id } = await add({
      name: "look",
      schedule: { kind, every: "10m", at: "10m" },
      message: "look",
      delivery: { kind: "announce", to: bob },
    });
    await s.store().cells.put("closed:telegram:default:bob", "bot was blocked by the user", {});
    await olga.gets(
      /^⏸ The scheduled job "look" .* bot was blocked by the user\n.*and so does the next message from there/s,
    );
    await s.pass(21 * minuteMs);
    expect(await outcomes(id)).toEqual([]);
    await s.person("bob").says("hello").gets("re: hello", "re: look");
    expect(await outcomes(id)).toEqual(["ok"]);
  },
);

test("a job is limited to tools by names, groups and patterns, and a name that means none is refused", async () => {
  const olga = await begin();
  await expect(
    add({ name: "look", schedule: { kind: "at", at: "1m" }, message: "look", toolsAllow: ["read", "raed"] }),
  ).rejects.toThrow(/^payload\.tools "raed" is no tool\. Fix: name tools \(read, write, /);
  const tools = ["group:fs", "memory_*"];
  const job = await add({
    name: "look",
    schedule: { kind: "every", every: "10m" },
    message: "look",
    toolsAllow: tools,
  });
  const before = s.model.asked.length;
  await olga.gets("re: look");
  const names = s.model.asked[before]?.request.tools.map(({ name }) => name) ?? [];
  expect(names).toEqual(expect.arrayContaining(["read", "write", "memory_get"]));
  expect(names).not.toContain("cron");
  await expect(
    s.core().schedules.edit(job.id, { payload: { message: "look", tools: ["nosuch"] } }, operator),
  ).rejects.toThrow(/"nosuch" is no tool/);
});

describe("/cron", () => {
  test("lists the jobs of a conversation, and lets its owner pause, resume, run and remove them", async () => {
    const olga = await begin();
    await add({ name: "tick", schedule: { kind: "every", every: "1h" }, message: "tick" });
    await olga.says("/cron").gets(/^1\. \w+ "tick": every hour, agentTurn, next /);
    await olga.says("/cron pause 1").gets(/switched off/);
    await olga.says("/cron run 1").gets(/runs now/, "re: tick");
    await olga.says("/cron resume tick").gets(/next /);
    await s.person("eve").says("/cron rm tick").gets("Only an owner may do that.");
    await olga.says("/cron rm tick").gets(/^Removed "tick"/);
    await olga.says("/cron").gets(/no scheduled jobs/);
  });
});

test("a job made in a turn that had read strangers' text carries the mark into its runs", async () => {
  await begin();
  const job = await add(
    { name: "look", schedule: { kind: "at", at: "1m" }, message: "look" },
    { ...operator, untrusted: "example.test" },
  );
  await s.pass(2 * minuteMs);
  const [row] = await s.rows({ lane: `agent:main:cron:${job.id}` as never });
  expect(JSON.parse(row?.payload ?? "{}")).toMatchObject({ internal: { untrusted: "example.test" } });
});
