// Questions on the message path: who may answer, once, in time, and what happens to a turn that waits for it.
import { afterEach, describe, expect, test } from "vitest";
import type { Button } from "@parley/protocol";
import type { Asked, Answer } from "./scripted-model.ts";
import { stage, type Person, type Stage, type StageOptions } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const colours = { question: "Which colour?", options: ["Red", "Blue"] };

/** "ask" calls the tool; its result is said. */
function script(args: object): (asked: Asked) => Answer {
  return ({ messages, text }) => {
    const last = messages.at(-1);
    if (last?.role === "tool")
      return `so: ${last.content.map((part) => (part.type === "text" ? part.text : "")).join("")}`;
    return text.endsWith("ask") ? { calls: { name: "ask_user", args: args as never } } : `re: ${text}`;
  };
}

async function begin(
  args: object = colours,
  options: StageOptions = {},
  can: Parameters<Stage["telegram"]["can"]>[0] = {},
): Promise<Person> {
  s = await stage({
    catalogue: true,
    ...options,
    config: { commands: { ownerAllowFrom: ["telegram:olga", "telegram:oscar"] }, ...options.config },
  });
  if (Object.keys(can).length > 0) {
    s.telegram.can(can);
    await s.kill();
    await s.start();
  }
  s.model.answers(script(args));
  return s.person("olga", { chat: "room" });
}

const questions = () => s.core().questions.list();
const card = () => s.telegram.sent("room").find(({ part }) => "text" in part && part.text.includes("❓"));
const buttons = (): readonly Button[] => {
  const part = card()?.part;
  return part?.kind === "text" ? (part.buttons ?? []).flat() : [];
};

/** Asks, and waits until the turn is parked. */
async function asked(who: Person): Promise<string> {
  who.says("ask");
  await s.until(() => card() !== undefined, "the question");
  await s.until(async () => (await turn())?.state === "parked", "the park");
  return (await questions())[0]?.id ?? "";
}

async function turn() {
  const [row] = await s.rows({ id: "telegram:default:room-olga-1" });
  return row?.turn === null || row === undefined ? null : s.store().turns.find(row.turn);
}

function press(who: string, label: string, added = ""): void {
  const button = buttons().find((each) => each.label === label);
  const value = button?.value ?? `no button ${label}`;
  s.person(who, { chat: "room" }).says("", {
    id: `telegram:default:press-${who}-${label}`,
    messageId: `press-${who}-${label}`,
    kind: "callback",
    callback: { id: `cb-${who}-${label}`, value: `${value}${added}` },
    replyTo: { messageId: card()?.id ?? "", toBot: true },
  });
}

const said = (words: string): Promise<void> =>
  s.until(() => s.telegram.shown("room").some((text) => text.includes(words)), words);
const wakes = async () => (await s.rows()).filter(({ id }) => id.startsWith("question:"));

test("a press is the answer: the turn waits without a slot, the card shows who chose what, and the model reads it", async () => {
  const olga = await begin();
  await asked(olga);
  expect(s.pools().turnsRunning()).toBe(0);
  expect(buttons().map(({ label }) => label)).toEqual(["Red", "Blue"]);
  press("olga", "Blue");
  await said("so: Answered by olga, telegram:olga: Blue");
  expect(buttons()).toEqual([]);
  expect(olga.sees()[0]).toContain("✅ Blue");
  expect(await wakes()).toHaveLength(1);
  expect((await turn())?.state).toBe("done");
  await expect(await s.trace()).toMatchFileSnapshot("traces/question-pressed.txt");
});

test("two who press at once: the first counts, the other is told, and one row wakes the turn", async () => {
  const olga = await begin();
  await asked(olga);
  press("olga", "Red");
  press("oscar", "Blue");
  await said("so: Answered by olga, telegram:olga: Red");
  await said("answered before by olga, telegram:olga: Red");
  expect(await wakes()).toHaveLength(1);
});

test("a stranger's press is refused, and the question stays open", async () => {
  const olga = await begin();
  const id = await asked(olga);
  press("mallory", "Red");
  s.person("mallory", { chat: "room-m" }).says(`/answer ${id} Red`);
  await s.until(() => s.telegram.shown("room-m").length > 0, "the refusal");
  expect(s.telegram.shown("room-m")).toEqual(["⚠️ This question is not for you."]);
  const [row] = await s.rows({ id: "telegram:default:press-mallory-Red" });
  expect(row?.reason).toBe("This button is not for you.");
  expect((await questions())[0]?.state).toBe("open");
  await expect(await s.trace()).toMatchFileSnapshot("traces/question-stranger.txt");
});

test("who is linked answers from another platform", async () => {
  await begin(colours, {
    config: {
      session: { identityLinks: { olga: ["telegram:7", "discord:88888888888888888"] } },
    },
  });
  const seven = s.person("7", { chat: "room" });
  seven.says("ask");
  await s.until(() => card() !== undefined, "the question");
  const [question] = await questions();
  expect(question?.people).toEqual(["telegram:7", "discord:88888888888888888"]);
  const linked = { person: "discord:88888888888888888", name: "O", owner: false };
  expect(await s.core().questions.answer(question?.id ?? "", "2", linked)).toBe("Thank you, noted.");
  await said("so: Answered by O, discord:88888888888888888: Blue");
});

test("a message instead closes the question and is read as the answer", async () => {
  const olga = await begin();
  await asked(olga);
  olga.says("green, please");
  await said("re: ");
  expect(buttons()).toEqual([]);
  expect(olga.sees()[0]).toContain("💬 Answered by a message.");
  expect((await questions())[0]?.state).toBe("written");
  const { messages = [], text } = s.model.asked.at(-1) ?? {};
  expect(text).toContain("green, please");
  expect(JSON.stringify(messages)).toContain("Nobody chose, and somebody wrote a message");
});

test("without buttons a number is the answer, and only one that is an option", async () => {
  const olga = await begin(colours, {}, { inlineButtons: false, menus: false, forms: false });
  await asked(olga);
  expect(olga.sees()[0]).toMatch(/1\. Red\s+2\. Blue/);
  olga.says("2");
  await said("so: Answered by olga, telegram:olga: Blue");
  expect(await wakes()).toHaveLength(1);
});

test("a form's lines are the answer; a platform without forms is told the fields", async () => {
  const fields = [{ label: "Name" }, { label: "Address", long: true }];
  const olga = await begin({ question: "Where to?", fields });
  await asked(olga);
  expect(buttons()[0]).toMatchObject({ label: "Fill in" });
  press("olga", "Fill in", "\n1. Name: Olga\n2. Address: Here");
  await said("so: Answered by olga, telegram:olga: 1. Name: Olga\n2. Address: Here");
  await expect(await s.trace()).toMatchFileSnapshot("traces/question-form.txt");
});

test("many options are a menu", async () => {
  const olga = await begin({ question: "Which?", options: ["a", "b", "c", "d", "e", "f"] });
  await asked(olga);
  expect(buttons()).toHaveLength(1);
  expect(buttons()[0]?.choices?.map(({ label }) => label)).toEqual(["a", "b", "c", "d", "e", "f"]);
});

test("it expires, also while the daemon is down, and says so", async () => {
  const olga = await begin({ ...colours, minutes: 10 });
  await asked(olga);
  await s.pass(300_000);
  await s.kill();
  await s.pass(3_600_000);
  await s.start();
  await said("so: Nobody answered in time");
  await said("⌛ Nobody answered in time.");
  expect(buttons()).toEqual([]);
  press("olga", "Red");
  expect((await questions())[0]?.state).toBe("expired");
  await expect(await s.trace()).toMatchFileSnapshot("traces/question-expired.txt");
});

describe("what ends the turn ends the question:", () => {
  test("/stop", async () => {
    const olga = await begin();
    const id = await asked(olga);
    olga.says("/stop");
    await said("⏹ Stopped.");
    expect(buttons()).toEqual([]);
    olga.says(`/answer ${id} Red`);
    await said("⚠️ What asked this has ended.");
    expect(await wakes()).toEqual([]);
  });

  test("/new", async () => {
    const olga = await begin();
    await asked(olga);
    olga.says("/new");
    await s.until(async () => (await questions())[0]?.state !== "open", "the end of the question");
    await s.until(() => buttons().length === 0, "the buttons go");
    await s.until(async () => (await turn())?.state === "done", "the end of the turn");
  });
});

test("a turn that is buried takes its question along: its message says so and loses its buttons", async () => {
  const olga = await begin();
  const id = await asked(olga);
  await s.kill();
  await s.spoil("telegram:default:room-olga-1");
  await s.start();
  olga.says("/status");
  await s.pass(3_600_000);
  await said("⏹ Stopped.");
  expect(buttons()).toEqual([]);
  olga.says(`/answer ${id} Red`);
  await said("⚠️ What asked this has ended.");
  await expect(await s.trace()).toMatchFileSnapshot("traces/question-buried.txt");
});

test("nobody reads a program's conversation, so it is not asked there", async () => {
  await begin();
  const scope = {
    session: "agent:main:main" as never,
    agent: "main",
    turn: "agent:main:main#1",
    callId: "c",
    conversation: "api:default:dm:main%2Fx%2Fy" as never,
    by: { owner: true, senders: ["api:x"] },
    authority: "",
    workspace: "",
    env: {},
    signal: new AbortController().signal,
  };
  await expect(s.core().questions.ask(scope, { ...colours, fields: [], minutes: 1 })).rejects.toThrow(
    "nobody reads this turn's conversation",
  );
});

test("killed at any moment, it is shown once, answered once, and the turn goes on once", async () => {
  const olga = await begin();
  let pressed = false;
  olga.says("ask");
  for (let life = 0; life < 14; life += 1) {
    await s.pass(life % 3 === 0 ? 0 : life * 3);
    await s.kill();
    await s.start();
    if (!pressed && life > 5 && card() !== undefined) {
      press("olga", "Red");
      pressed = true;
    }
  }
  await said("so: Answered by olga, telegram:olga: Red");
  await s.pass(600_000);
  const shown = s.telegram.shown("room");
  expect(shown.filter((text) => text.includes("❓"))).toHaveLength(1);
  expect(shown.filter((text) => text.startsWith("so: "))).toHaveLength(1);
  expect(await wakes()).toHaveLength(1);
  expect(buttons()).toEqual([]);
});

test("an answer that grows does not hold the question up: it ends above it", async () => {
  const olga = await begin(colours, { telegram: { streaming: "edit" } });
  s.model.answers((all) => {
    const { messages, text } = all;
    if (messages.at(-1)?.role === "tool" || !text.endsWith("ask")) return script(colours)(all);
    return {
      says: ["Let me think about this", " for a while"],
      pauseMs: 3_000,
      calls: { name: "ask_user", args: colours },
    };
  });
  await asked(olga);
  expect(olga.sees().some((text) => text.includes("Which colour?"))).toBe(true);
  press("olga", "Blue");
  await said("so: Answered by olga, telegram:olga: Blue");
  expect(olga.sees().at(-1)).toContain("so: ");
});

test("what Parley writes meanwhile closes no question: a child's end waits, and the answer still counts", async () => {
  const olga = await begin();
  s.model.answers((all) => {
    const { messages, text, users } = all;
    if (users[0]?.includes("Task from session") === true) return { afterMs: 20_000, says: ["dug 42"] };
    const results = messages.filter((message) => message.role === "tool").length;
    if (text.endsWith("ask") && results === 0)
      return { calls: { name: "sessions_spawn", args: { task: "dig", label: "dig" } } };
    if (text.endsWith("ask") && results === 1) return { calls: { name: "ask_user", args: colours } };
    return script(colours)(all);
  });
  await asked(olga);
  await s.until(async () => (await s.rows()).some(({ id }) => id.startsWith("child:")), "the child's end");
  await s.pass(60_000);
  // Also a process that begins anew leaves the question as it is.
  await s.kill();
  await s.start();
  await s.pass(60_000);
  expect((await questions())[0]?.state).toBe("open");
  expect((await turn())?.state).toBe("parked");
  expect(s.pools().turnsRunning()).toBe(0);
  press("olga", "Blue");
  await s.until(async () => (await s.rows()).every(({ state }) => state === "ended"), "the end of all");
  expect((await questions())[0]?.state).toBe("answered");
  const read = s.model.asked.flatMap(({ messages }) => messages.map((message) => JSON.stringify(message)));
  expect(read.some((text) => text.includes("Answered by olga"))).toBe(true);
  expect(read.some((text) => text.includes("dug 42"))).toBe(true);
});
