// Effects that are keyed by their call, in a process that dies of its writes in turn: after the next start
// each effect is there once.
import type { JsonObject } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;

const owner = "agent:main:telegram:dm:olga";
const other = "agent:main:telegram:dm:ben";

async function begin(): Promise<{ readonly olga: Person; readonly ben: Person }> {
  s = await stage({
    catalogue: true,
    config: {
      commands: { ownerAllowFrom: ["telegram:olga"] },
      tools: { sessions: { visibility: "agent" } },
    },
  });
  return { olga: s.person("olga"), ben: s.person("ben") };
}

const results = (
  messages: readonly { readonly role: string; readonly content: unknown }[],
): readonly string[] =>
  messages.flatMap(({ role, content }) => (role === "tool" ? [JSON.stringify(content)] : []));

const atRest = (): Promise<void> =>
  s.until(
    async () =>
      (await s.rows()).every(({ state }) => state === "ended") &&
      (await s.deliveries()).every(({ done }) => done),
    "the end of all",
  );

/** Lets the process die of its nth write from now on, and starts the next; false when it wrote fewer. */
async function diesAt(nth: number): Promise<boolean> {
  const died = s.dieAtWrite(nth);
  for (let waits = 0; waits < 10 && !died(); waits += 1) await s.pass(2_000);
  if (!died()) return false;
  await s.kill();
  await s.start();
  return true;
}

/** Passes time until it is so, over one death at the nth write from now on; returns whether there was one. */
async function overDeath(nth: number, isOver: () => Promise<boolean>): Promise<boolean> {
  const died = s.dieAtWrite(nth);
  let again = false;
  for (let waits = 0; waits < 60; waits += 1) {
    await s.pass(1_000);
    if (died() && !again) {
      again = true;
      await s.kill();
      await s.start();
    } else if (await isOver()) break;
  }
  await atRest();
  return again;
}

/** The owner's turn makes this call once, and answers "done". */
function calls(name: string, args: JsonObject, others: (text: string) => string = () => "ok"): void {
  s.model.answers(({ text, users, messages }) => {
    if (!users.some((each) => each.endsWith("go"))) return others(text);
    if (text.includes("[System Message]")) return "told";
    return results(messages).length > 0 ? "done" : { calls: { name, args } };
  });
}

const isDone = (who: Person) => async (): Promise<boolean> => who.sees().some((text) => text === "done");

/** How the rows of the owner's session with this kind of id ended. */
const told = async (start: string): Promise<readonly (string | null)[]> =>
  (await s.rows({ lane: owner as never }))
    .filter(({ id }) => id.startsWith(start))
    .map(({ outcome }) => outcome);

/** Runs `cell` with a death at the `first` write, then so many further, until it writes no more. */
async function atWrites(first: number, step: number, cell: (nth: number) => Promise<boolean>): Promise<void> {
  let deaths = 0;
  for (let nth = first; await cell(nth); nth += step) {
    deaths += 1;
    await s.close();
  }
  // A cell whose process never dies would prove nothing.
  expect(deaths).toBeGreaterThan(1);
}

/** The tests, each with a death at every `step`th write; one begins at the first, the next at the second. */
export function keyedEffects(step: 1 | 2): void {
  afterEach(() => s.close());

  test("the answer to a pushed message is told once, also when the process dies as /stop ends what waits", () =>
    atWrites(1, step, async (nth) => {
      const { olga, ben } = await begin();
      s.model.answers(({ text, users, messages }) => {
        if (text.includes("[System Message]")) return `told: ${text}`;
        if (text.endsWith("work")) return { afterMs: 600_000, says: ["worked"] };
        if (!users.some((each) => each.endsWith("go"))) return "hello";
        if (results(messages).length > 0) return "sent";
        const args: JsonObject = { sessionKey: other, message: "the word?", reply: "push" };
        return { calls: { name: "sessions_send", args } };
      });
      await ben.says("hello").gets("hello");
      ben.says("work");
      await s.pass(1_000);
      await olga.says("go").gets("sent");
      ben.says("/stop");
      const died = await diesAt(nth);
      await atRest();
      expect(await told("answer:"), `at write ${nth}`).toEqual(["answered"]);
      expect(olga.sees().at(-1)).toMatch(/^told: .*was stopped before it finished: \/stop/s);
      return died;
    }));

  test("message: what it sends is one delivery", () =>
    atWrites(step, step, async (nth) => {
      const { olga } = await begin();
      calls("message", { action: "send", text: "look here" });
      olga.says("go");
      const died = await overDeath(nth, isDone(olga));
      const sent = (await s.deliveries()).filter(({ parts }) =>
        parts.some(({ content }) => content.includes("look here")),
      );
      expect(sent, `at write ${nth}`).toHaveLength(1);
      expect(olga.sees()).toContain("look here");
      return died;
    }));

  test("sessions_spawn: one sub-agent with one task, told once", () =>
    atWrites(1, step, async (nth) => {
      const { olga } = await begin();
      calls("sessions_spawn", { task: "dig", label: "digger" }, () => "dug");
      olga.says("go");
      const died = await overDeath(nth, async () => (await told("child:")).length > 0);
      const tasks = (await s.rows()).filter(({ id }) => id.startsWith("task:"));
      expect(
        tasks.map(({ outcome }) => outcome),
        `at write ${nth}`,
      ).toEqual(["answered"]);
      expect(await s.store().cells.list("child:", 9)).toHaveLength(1);
      expect(await told("child:")).toEqual(["answered"]);
      return died;
    }));

  test("sessions_send: one message, and its answer is heard once", () =>
    atWrites(step, step, async (nth) => {
      const { olga, ben } = await begin();
      await ben.says("hello").gets(/.+/);
      calls("sessions_send", { sessionKey: other, message: "the word?", timeoutSeconds: 30 }, () => "tulip");
      olga.says("go");
      const died = await overDeath(nth, isDone(olga));
      const messages = (await s.rows({ lane: other as never })).filter(({ id }) => id.startsWith("message:"));
      expect(
        messages.map(({ outcome }) => outcome),
        `at write ${nth}`,
      ).toEqual(["answered"]);
      expect(await told("answer:")).toEqual(["answered"]);
      const heard = (await s.transcript(owner)).filter((entry) => JSON.stringify(entry).includes("tulip"));
      expect(heard).toHaveLength(1);
      expect(ben.sees()).toHaveLength(1);
      return died;
    }));

  test("ask_user: one question, whose answer is the call's result once", () =>
    atWrites(1, step, async (nth) => {
      const { olga } = await begin();
      calls("ask_user", { question: "Which?", options: ["Red", "Blue"] });
      olga.says("go");
      let isAnswered = false;
      const died = await overDeath(nth, async () => {
        const [question] = await s.core().questions.list();
        if (question !== undefined && !isAnswered) {
          isAnswered = true;
          olga.says(`/answer ${question.id} Blue`);
        }
        return isDone(olga)();
      });
      const questions = await s.core().questions.list();
      expect(
        questions.map(({ state, answer }) => [state, answer?.text]),
        `at write ${nth}`,
      ).toEqual([["answered", "Blue"]]);
      expect(await told("question:")).toEqual(["answered"]);
      const shown = (await s.deliveries()).filter(
        ({ id }) => id === `question:${questions[0]?.id}:telegram:default:dm:olga`,
      );
      expect(shown).toHaveLength(1);
      const heard = (await s.transcript(owner)).filter((entry) =>
        JSON.stringify(entry).includes("Answered by"),
      );
      expect(heard).toHaveLength(1);
      return died;
    }));
}
