// Effects that are keyed by their call, in a process that dies of each of its writes in turn: after the next start each effect is there once.
import type { JsonObject } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

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

/** How the rows of the owner's session with this kind of id ended. */
const told = async (start: string): Promise<readonly (string | null)[]> =>
  (await s.rows({ lane: owner as never }))
    .filter(({ id }) => id.startsWith(start))
    .map(({ outcome }) => outcome);

/** Runs `cell` with a death at the first write, the second, until it writes no more. */
async function atEveryWrite(cell: (nth: number) => Promise<boolean>): Promise<void> {
  let deaths = 0;
  for (let nth = 1; await cell(nth); nth += 1) {
    deaths += 1;
    await s.close();
  }
  // A cell whose process never dies would prove nothing.
  expect(deaths).toBeGreaterThan(3);
}

test("the answer to a pushed message is told once, also when the process dies as /stop ends what waits", () =>
  atEveryWrite(async (nth) => {
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
