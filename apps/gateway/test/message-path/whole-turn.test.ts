// Turns as a whole: joined, failed, resumed, late, stopped, told in blocks, a job's. All that each does and
// leaves stands in its trace.
import type { Inbound } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import { stage, type Stage } from "./stage.ts";
import { textTool } from "./text-tool.ts";
import { waitTool } from "./wait-tool.ts";

let s: Stage;
afterEach(() => s.close());

const quiet = (): Promise<void> => s.until(() => s.pools().turnsRunning() === 0, "the end of the turn");

test("one of an owner, in private, that calls two tools and is joined by a message", async () => {
  s = await stage({
    config: {
      session: { dmScope: "per-account-channel-peer" },
      commands: { ownerAllowFrom: ["telegram:olga"] },
    },
    tools: [waitTool(() => s.clock, 6_000).tool, textTool("look", () => "a cat")],
    secrets: ["hunter2-hunter2"],
  });
  s.model.answers(({ messages, nth }) =>
    nth === 1
      ? { afterMs: 1_000, says: ["Let me see."], calls: { name: "wait", args: {} }, promptTokens: 100 }
      : nth === 2
        ? { calls: { name: "look", args: { at: "hunter2-hunter2" } }, promptTokens: 200 }
        : { says: [`[[reply_to_current]] Done, hunter2-hunter2 (${messages.length}).`], promptTokens: 300 },
  );
  const olga = s.person("olga");
  olga.says("/think low look around");
  await s.pass(3_000);
  olga.says("and be quick");
  await olga.gets(/^Done/);
  await quiet();
  await expect(await s.trace()).toMatchFileSnapshot("traces/whole-turn-joined.txt");
});

test("one in a thread of a group, of a member, after talk that was not for the agent; it fails for good", async () => {
  s = await stage({
    config: { messages: { ackReaction: "👀", ackReactionScope: "all", removeAckAfterReply: true } },
    telegram: { groupPolicy: "open", groups: { "*": { requireMention: true, systemPrompt: "Only roses." } } },
  });
  s.model.answers(() => ({ fails: "billing" }));
  const at = {
    address: { channel: "telegram", account: "default", kind: "group", peer: "-7", thread: "3" },
    guild: "g1",
    parent: "p1",
  } as const satisfies Partial<Inbound>;
  const [ann, bob] = ["ann", "bob"].map((name) => s.person(name, { chat: "-7" }));
  bob?.says("nice weather", { ...at, addressed: false });
  await s.pass(60_000);
  ann?.says("what is here?", at);
  await ann?.gets(/out of credit/);
  await quiet();
  await expect(await s.trace()).toMatchFileSnapshot("traces/whole-turn-failed.txt");
});

test("one whose process died while it ran a tool, in the next process", async () => {
  s = await stage({ tools: [waitTool(() => s.clock, 6_000).tool] });
  s.model.answers(({ nth }) =>
    nth === 1 ? { says: ["One moment."], calls: { name: "wait", args: {} } } : `I tried (${nth}).`,
  );
  const ann = s.person("ann");
  ann.says("wait for it");
  await s.pass(2_000);
  await s.kill();
  await s.pass(1_000);
  await s.start();
  await ann.gets(/I tried/);
  await quiet();
  await expect(await s.trace()).toMatchFileSnapshot("traces/whole-turn-resumed.txt");
});

test("one that is shown while it grows and takes too long, and one after it", async () => {
  s = await stage({
    config: { agents: { defaults: { timeoutSeconds: 20 } } },
    telegram: { streaming: "edit" },
  });
  s.model.answers(() => ({ says: ["It begins", " and goes on", " and on"], pauseMs: 15_000 }));
  const ann = s.person("ann");
  ann.says("tell me a story");
  await s.pass(30_000);
  await quiet();
  s.model.answers(() => ({ says: ["Shorter:", " the end."], pauseMs: 2_500 }));
  ann.says("a shorter one");
  await s.pass(10_000);
  await quiet();
  await expect(await s.trace()).toMatchFileSnapshot("traces/whole-turn-late.txt");
});

test("one that its person stopped while it grew, and one of a person whose day is used up, told once", async () => {
  s = await stage({
    config: { limits: { person: { turnsPerDay: 1 } }, messages: { queue: { mode: "followup" } } },
    telegram: { streaming: "edit" },
  });
  s.model.answers(() => ({ says: ["It begins", " and goes on"], pauseMs: 15_000 }));
  const ann = s.person("ann");
  ann.says("tell me a story");
  await s.pass(5_000);
  for (const text of ["/stop", "go on", "please", "do"]) {
    ann.says(text);
    await s.pass(5_000);
  }
  await quiet();
  await expect(await s.trace()).toMatchFileSnapshot("traces/whole-turn-stopped.txt");
});

test("one whose calls are told, and whose answer is sent in blocks", async () => {
  s = await stage({
    config: { tools: { exec: { mode: "full" } } },
    telegram: { streaming: "block" },
    tools: [textTool("look", () => "a cat; the key is hunter2-hunter2")],
    secrets: ["hunter2-hunter2"],
  });
  const paragraph = (of: string) => `${`${of} `.repeat(60).trim()}\n\n`;
  s.model.answers(({ nth }) =>
    nth === 1
      ? { calls: { name: "look", args: { at: "hunter2-hunter2" } } }
      : { says: [paragraph("one"), paragraph("two"), "The end."], pauseMs: 1_000 },
  );
  const ann = s.person("ann");
  await ann.says("/verbose full").gets(/./);
  ann.says("look");
  await s.pass(10_000);
  await quiet();
  await expect(await s.trace()).toMatchFileSnapshot("traces/whole-turn-told.txt");
});

test("one that a job began, in a session of its own, whose answer goes to the conversation in which it was made", async () => {
  s = await stage({
    config: { commands: { ownerAllowFrom: ["telegram:olga"] }, messages: { ackReaction: "👀" } },
  });
  s.model.answers(({ text }) => ({ afterMs: 6_000, says: [`re: ${text.length}`] }));
  const olga = s.person("olga");
  await olga.says("hello").gets(/re:/);
  await s.core().schedules.add(
    {
      name: "Brief",
      schedule: { kind: "at", at: "2026-01-01T00:10:00Z" },
      payload: { kind: "agentTurn", message: "Say what is on.", thinking: "off", timeoutSeconds: 60 },
    },
    {
      agent: "main",
      kind: "turn",
      sender: "telegram:olga",
      isOwner: true,
      conversation: { channel: "telegram", account: "default", kind: "dm", peer: "olga" },
      session: "agent:main:telegram:dm:olga",
      turn: "t",
      authority: "owner",
      tools: null,
    },
  );
  await s.pass(700_000);
  await quiet();
  await expect(await s.trace()).toMatchFileSnapshot("traces/whole-turn-job.txt");
});

test("what cannot be looked through at a start is told in the log, and keeps nobody from being answered", async () => {
  s = await stage({
    store: (real) => ({
      ...real,
      cells: {
        ...real.cells,
        list: async (prefix, limit) =>
          prefix === "btw:" ? Promise.reject(new Error("no store")) : real.cells.list(prefix, limit),
      },
    }),
  });
  await s.person("ann").says("hello").gets("re: hello");
  expect(s.logged.filter(({ level }) => level !== "info" && level !== "debug")).toEqual([
    {
      atMs: 0,
      level: "warn",
      words: "what waited before the start could not be looked through",
      fields: { error: new Error("no store") },
    },
  ]);
});
