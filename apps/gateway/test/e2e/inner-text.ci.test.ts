// The corpus of inner text over the wire: what reaches Telegram, Discord and the page, previews included,
// whatever a model writes and however its stream is cut. Every chat gets one entry; all of them are answered
// at once. Telegram gets the whole corpus, Discord one half and the page the other.
import {
  answersWithTokens,
  innerMark,
  innerTags,
  proseWithTags,
  silences,
  wrappings,
  type ModelCall,
  type ModelStep,
} from "@parley/testkit";
import { afterEach, expect, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually } from "./daemon.ts";
import { discordWorld } from "./discord-world.ts";
import { world } from "./world.ts";

interface Case {
  readonly writes: string;
  /** Words that must be read, in order; null where nothing is said. */
  readonly says: string | null;
}

const answer = "Here is what you asked for.";
const cases: readonly Case[] = [
  ...innerTags.map(([opens, closes]): Case => ({
    writes: `${opens}${innerMark}${closes}${answer}`,
    says: answer,
  })),
  ...innerTags.slice(0, 20).map(([opens, closes]): Case => ({
    writes: `Well.\n${opens}${innerMark}${closes}${answer}`,
    says: `Well. ${answer}`,
  })),
  ...wrappings.map((wrapping): Case => ({ writes: wrapping.replace("$", answer), says: answer })),
  ...proseWithTags.map((prose): Case => ({ writes: prose, says: prose })),
  ...answersWithTokens.map(([writes, says]): Case => ({ writes, says })),
  ...silences.map((writes): Case => ({ writes, says: null })),
];

const evenly = (rest: 0 | 1): readonly (readonly [number: number, each: Case])[] =>
  [...cases.entries()].filter(([number]) => number % 2 === rest);

/** Letters and digits outside of addresses: formatting may take marks away, never words. */
function wordsOf(text: string): string {
  const bare = text
    .replaceAll(/```\w*/gu, " ")
    .replaceAll(/\]\(<?https?:[^)]*\)|<?https?:\S+/gu, " ")
    .replaceAll(/&(?:lt|gt|amp);/gu, " ");
  return bare.replaceAll(/[^\p{L}\p{N}]+/gu, "");
}

/**
 * Some answers in one piece, some word by word over the time in which a preview opens, some cut in the middle
 * of events. Who is asked once more says the same again.
 */
function stepOf({ body }: ModelCall): ModelStep {
  const number = Number(/entry number (\d+)/.exec(JSON.stringify(body))?.[1]);
  const text = cases[number]?.writes ?? "";
  return [{ text }, { text, betweenMs: 400 }, { text, chunkBytes: 7 }][number % 3] ?? { text };
}

function expectSaid(shown: readonly string[], { writes, says }: Case): void {
  const told = JSON.stringify({ writes, shown });
  expect(shown.length, told).toBe(1);
  if (says === null) expect(shown[0], told).toContain("no answer");
  else expect(wordsOf(shown[0] ?? ""), told).toBe(wordsOf(says));
}

/** Everything that was ever sent: no thought, and no token outside of prose about it. */
function expectNothingInner(sent: readonly unknown[]): void {
  for (const each of sent) expect(JSON.stringify(each) ?? "").not.toContain(innerMark);
}

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

const agents = { defaults: { model: { primary: "fake/m1" }, maxConcurrent: 40 } };

test("on Telegram nothing inner is shown and nothing said is missing", async () => {
  const w = await world({ streaming: "edit" });
  opened.push(w);
  w.models.reply(stepOf);
  await w.start({ config: { agents } });
  for (const number of cases.keys()) w.telegram.as(1_000 + number).says(`entry number ${number}`);
  for (const [number, each] of cases.entries()) {
    await w.answered(1_000 + number, 1, 45_000);
    await eventually(
      () => each.says === null || wordsOf(w.answers(1_000 + number)[0]?.text ?? "") === wordsOf(each.says),
      10_000,
      `the whole of ${JSON.stringify([each.writes, w.answers(1_000 + number)[0]?.text])}`,
    );
    expectSaid(
      w.answers(1_000 + number).map(({ text }) => text),
      each,
    );
  }
  expectNothingInner(w.telegram.calls().map(({ params }) => params));
}, 240_000);

test("on Discord nothing inner is shown and nothing said is missing", async () => {
  const w = await discordWorld({ streaming: "edit" });
  opened.push(w);
  w.models.reply(stepOf);
  await w.start({ config: { agents } });
  await w.live();
  const asked = evenly(0).map(([number, each]) => {
    const person = w.discord.as({ id: `1000000000000${10_000 + number}`, name: `P${number}` });
    person.says(`entry number ${number}`);
    return [person.dm(), each] as const;
  });
  for (const [dm, each] of asked) {
    await w.answered(dm, 1, 45_000);
    const shown = (): readonly string[] => w.answers(dm).map(({ text }) => text);
    await eventually(
      () => each.says === null || wordsOf(shown()[0] ?? "") === wordsOf(each.says),
      10_000,
      JSON.stringify([each.writes, shown()]),
    );
    expectSaid(shown(), each);
  }
  expectNothingInner(w.discord.calls().map(({ body }) => body));
}, 240_000);

test("on the page nothing inner is shown and nothing said is missing", async () => {
  const w = await world();
  opened.push(w);
  w.models.reply(stepOf);
  const daemon = await w.start({ config: { agents } });
  const client = await controlClient(daemon);
  const thread = (number: number): string => `t${number}`;
  for (const [number] of evenly(1)) {
    await client.call("chat.send", {
      text: `entry number ${number}`,
      idempotencyKey: `c${number}`,
      thread: thread(number),
    });
  }
  for (const [number, each] of evenly(1)) {
    const shown = async (): Promise<readonly string[]> => {
      const { messages } = (await client.call("chat.history", { thread: thread(number) })) as {
        messages: { role: string; text: string }[];
      };
      return messages.filter(({ role }) => role === "assistant").map(({ text }) => text);
    };
    await eventually(async () => (await shown()).length > 0, 45_000, `an answer to ${each.writes}`);
    expectSaid(await shown(), each);
  }
  expectNothingInner(client.events());
  client.close();
}, 240_000);
