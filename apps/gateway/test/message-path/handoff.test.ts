// A conversation that a person takes along to another channel: what is under way is answered where it was
// asked, what comes next is there.
import { conversationBindings, placeNow } from "@parley/access";
import { silentLog } from "@parley/protocol";
import { commandRecords } from "@parley/runner";
import { afterEach, expect, test } from "vitest";
import { askingTool } from "./asking-tool.ts";
import { stage, type Person, type Stage, type StageOptions } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const open = { dmPolicy: "open", allowFrom: ["*"] };

async function begin(
  links: readonly string[] = ["telegram:42", "discord:77"],
  session: object = {},
  options: StageOptions = { catalogue: true },
): Promise<[Person, Person]> {
  s = await stage({
    ...options,
    second: "discord",
    config: {
      ...options.config,
      channels: {
        telegram: { botToken: "1:x", ...open, pacing: "off", streaming: "off" },
        discord: { token: "x", ...open, pacing: "off", streaming: "off" },
      },
      session: { ...session, identityLinks: links.length === 0 ? {} : { olga: links } },
    },
  });
  return [s.person("42"), s.person("77", { on: s.loopback })];
}

const lanesOf = async (text: string): Promise<readonly string[]> =>
  (await s.rows({ text })).map(({ lane }) => lane);

test("what comes next is there, in the same session, and what was under way is answered where it was asked", async () => {
  const [here, there] = await begin();
  s.model.answers(({ text }) => ({ afterMs: text.includes("slow") ? 60_000 : 0, says: [`re: ${text}`] }));
  await here.says("one").gets("re: one");
  here.says("slow");
  await s.pass(1_000);
  here.says("/handoff discord");
  await here.gets(/What comes next is on discord/);
  await there.gets(/We go on here/);
  there.says("two");
  await there.gets("re: two");
  await here.gets("re: slow");
  expect(new Set([...(await lanesOf("one")), ...(await lanesOf("two"))]).size).toBe(1);
  // The model read all of it as one conversation.
  expect(s.model.asked.at(-1)?.users.join("\n")).toMatch(/one[\s\S]*slow[\s\S]*two/);
  // Here it is still the same conversation, answered here.
  await here.says("three").gets("re: three");
  await expect(await s.trace()).toMatchFileSnapshot("traces/handoff.txt");
});

test("a sub-agent's result comes to where the conversation goes on now", async () => {
  const [here, there] = await begin();
  s.model.answers(({ users, text, messages }) => {
    if (users[0]?.includes("Task from session") === true) return { afterMs: 60_000, says: ["dug"] };
    if (text.includes("[System Message]")) return "it is dug";
    if (messages.at(-1)?.role === "tool") return "spawned";
    return { calls: { name: "sessions_spawn", args: { task: "dig" } } };
  });
  await here.says("dig").gets("spawned");
  here.says("/handoff discord");
  await there.gets(/We go on here/, "it is dug");
});

test("in a session that people share, what another person began is answered to them", async () => {
  const [here, there] = await begin(undefined, { dmScope: "main" });
  const other = s.person("43");
  s.model.answers(({ users, text, messages }) => {
    if (users[0]?.includes("Task from session") === true) return { afterMs: 60_000, says: ["dug"] };
    if (text.includes("[System Message]")) return "it is dug";
    if (messages.at(-1)?.role === "tool") return "spawned";
    return { calls: { name: "sessions_spawn", args: { task: "dig" } } };
  });
  await other.says("dig").gets("spawned");
  here.says("/handoff discord");
  await there.gets(/We go on here/);
  await other.gets("it is dug");
  expect(there.sees()).toHaveLength(1);
});

test("it is kept over a death, and taken back: each place has its own session again", async () => {
  const [here, there] = await begin();
  await here.says("one").gets("re: one");
  here.says("/handoff discord");
  await there.gets(/We go on here/);
  await s.kill();
  await s.start();
  await there.says("two").gets("re: two");
  expect(new Set([...(await lanesOf("one")), ...(await lanesOf("two"))]).size).toBe(1);
  there.says("/handoff off");
  await there.gets(/It goes on on telegram again|It goes on .* again/);
  await there.says("three").gets("re: three");
  expect(new Set([...(await lanesOf("one")), ...(await lanesOf("three"))]).size).toBe(2);
});

test("a person whom the config knows on no other channel is told so, and a stranger's place is never bound", async () => {
  const [here] = await begin([]);
  await here.says("/handoff discord").gets(/I know you on no other channel/);
  await here.says("/handoff off").gets("This conversation was not handed over.");
});

test("a group is not handed over", async () => {
  await begin();
  const member = s.person("42", { chat: "42" });
  member.says("/handoff discord", {
    address: { channel: "telegram", account: "default", kind: "group", peer: "-5" },
  });
  await s.pass(5_000);
  expect(await s.store().cells.list("handed-over:", 9)).toEqual([]);
});

test("without an argument it says where the conversation goes on", async () => {
  const [here] = await begin();
  await here.says("/handoff").gets(/goes on here\. Hand it over with \/handoff discord/);
  here.says("/handoff discord");
  await here.gets(/What comes next/);
  await here.says("/handoff").gets(/goes on on discord/);
});

test("an open request for approval is shown where the conversation goes on; what comes of its answer is told there", async () => {
  const tool = askingTool();
  const [here, there] = await begin(
    undefined,
    {},
    {
      tools: [tool.tool],
      config: { commands: { ownerAllowFrom: ["telegram:42", "discord:77"] } },
    },
  );
  s.model.answers(({ messages, text }) =>
    text.endsWith("deploy") && messages.at(-1)?.role !== "tool"
      ? { calls: { name: "exec", args: { what: "site" } } }
      : messages.at(-1)?.role === "tool"
        ? `so: ${JSON.stringify(messages.at(-1)?.content)}`
        : `re: ${text}`,
  );
  here.says("deploy");
  await s.until(async () => (await s.core().approvals.list())[0]?.state === "open", "the request");
  // The turn no longer waits for it, so that its answer begins another one.
  await s.pass(5_000);
  here.says("hello");
  await s.until(() => here.sees().some((text) => /^(re|so): /.test(text)), "the answer");
  here.says("/handoff discord");
  await s.until(
    () => there.sees().some((text) => text.includes("run: /opt/deploy site")),
    "the request there",
  );
  const [approval] = await s.core().approvals.list();
  const before = here.sees().length;
  there.says(`/approve ${approval?.id} once`);
  await s.until(() => there.sees().some((text) => text.includes("ran site")), "the result there");
  expect(tool.ran).toEqual(["site"]);
  expect(
    here
      .sees()
      .slice(before)
      .filter((text) => text.includes("ran site")),
  ).toEqual([]);
  // Both messages show the decision.
  for (const who of [here, there])
    await s.until(
      () => who.sees().some((text) => text.includes("Allowed once by discord:77")),
      "the decision",
    );
});

test("the end of a background command comes to where the conversation goes on, and never to another person", async () => {
  const [here, there] = await begin(undefined, { dmScope: "main" });
  const other = s.person("43");
  await here.says("one").gets("re: one");
  await other.says("two").gets("re: two");
  const turns = (await s.rows()).map(({ turn, conversation }) => ({ turn: turn ?? "", conversation }));
  here.says("/handoff discord");
  await there.gets(/We go on here/);
  const handOvers = conversationBindings(s.store().cells);
  await handOvers.load();
  const records = commandRecords({
    ...s.store(),
    node: "local",
    isEnding: () => false,
    placeOf: placeNow(handOvers, { olga: ["telegram:42", "discord:77"] }),
    clock: s.clock,
    log: silentLog,
  });
  for (const [nth, { turn }] of turns.filter((each) => each.turn !== "").entries())
    await records.save({
      id: `c${nth}`,
      session: "agent:main:main" as never,
      agent: "main",
      turn,
      command: "make",
      root: "/",
      log: "log",
      pid: 1,
      began: null,
      startedAtMs: 0,
      endedAtMs: 1_000,
      state: "exited",
      code: 0,
      background: true,
      owner: false,
    });
  await s.until(() => there.sees().some((text) => text.includes("exited with code 0")), "the end there");
  await s.until(() => other.sees().some((text) => text.includes("exited with code 0")), "the other's end");
  expect(here.sees().filter((text) => text.includes("exited"))).toEqual([]);
  expect(there.sees().filter((text) => text.includes("exited"))).toHaveLength(1);
  expect(other.sees().filter((text) => text.includes("exited"))).toHaveLength(1);
});

test("an open question is asked where the conversation goes on too, and its answer there counts; both cards show it", async () => {
  const [here, there] = await begin();
  s.model.answers(({ messages, text }) =>
    text === "trip" && messages.at(-1)?.role !== "tool"
      ? { calls: { name: "ask_user", args: { question: "Where to?", options: ["Rome", "Oslo"] } } }
      : `so: ${JSON.stringify(messages.at(-1)?.content)}`,
  );
  here.says("trip");
  await s.until(() => here.sees().some((text) => text.includes("Where to?")), "the question");
  here.says("/handoff discord");
  await s.until(() => there.sees().some((text) => text.includes("Where to?")), "the question there");
  const [question] = await s.core().questions.list();
  expect(question).toMatchObject({ state: "open" });
  there.says(`/answer ${question?.id} 2`);
  // The turn was under way before the hand-over, so it is answered where it was asked.
  await s.until(() => here.sees().some((text) => text.startsWith("so: ")), "the answer");
  expect((await s.core().questions.list())[0]).toMatchObject({ state: "answered", answer: { text: "Oslo" } });
  for (const who of [here, there])
    await s.until(() => who.sees().some((text) => text.includes("✅ Oslo")), "the outcome");
  await expect(await s.trace()).toMatchFileSnapshot("traces/handoff-question.txt");
});

test("in a session that people share, only who handed it over, or an owner, moves it again", async () => {
  const [here, there] = await begin(undefined, { dmScope: "main" });
  const other = s.person("43");
  here.says("/handoff discord");
  await there.gets(/We go on here/);
  await other.says("/handoff off").gets(/Somebody else handed this conversation over/);
  await there.says("/handoff off").gets(/It goes on/);
});
