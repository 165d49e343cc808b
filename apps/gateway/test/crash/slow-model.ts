// Kills that come faster than the model answers: nothing that was in flight can end, so every turn sees the
// process die again and again. None of them is the cause, so none may be buried; and once the kills are over
// nobody waits for the others.
import { setTimeout as pause } from "node:timers/promises";
import { eventually, type Daemon } from "../e2e/daemon.ts";
import { world } from "../e2e/world.ts";
import { seeded } from "./mixed-traffic.ts";
import { answerTo, judge, said, type Verdict } from "./said.ts";
import { ageBoots, lookAt, type StoreLook } from "./store-look.ts";

export interface SlowModelOptions {
  readonly kills: number;
  readonly modelMs: number;
  /** A kill comes at most this long after the daemon was ready. */
  readonly upMs: number;
  readonly people: number;
  readonly seed: number;
}

export interface SlowModelReport {
  /** Of each person; none may be lost, doubled or late. */
  readonly verdicts: readonly Verdict[];
  readonly messages: number;
  readonly store: StoreLook;
  /** From the last start to the last answer, and to that of somebody who only wrote then. */
  readonly lastAnswerMs: number;
  readonly newcomerMs: number;
  readonly log: string;
}

const newcomer = 999;

export async function killedFasterThanTheModel({
  kills,
  modelMs,
  upMs,
  people,
  seed,
}: SlowModelOptions): Promise<SlowModelReport> {
  const chance = seeded(seed);
  const w = await world();
  try {
    w.models.reply((call) => ({ text: answerTo(call), delayMs: modelMs }));
    // A slot for everybody: who waits shall wait for nothing but the model.
    const config = { agents: { defaults: { model: { primary: "fake/m1" }, maxConcurrent: people + 2 } } };
    const counts = new Map<number, number>();
    const chats = Array.from({ length: people }, (_, n) => 700 + n);
    const says = (chat: number): void => {
      const n = (counts.get(chat) ?? 0) + 1;
      counts.set(chat, n);
      w.telegram.as(chat).says(said(n));
    };
    let daemon: Daemon = await w.start({ config });
    for (const chat of chats) says(chat);
    for (let n = 0; n < kills; n += 1) {
      await pause(chance() * upMs);
      // Some go on writing: their next words join what is in flight, or wait for it.
      for (const chat of chats) if (chance() < 0.05) says(chat);
      daemon.kill("SIGKILL");
      await daemon.exited;
      ageBoots(daemon.home);
      daemon = await w.start({ home: daemon.home, config });
    }
    const startedAt = performance.now();
    const since = (): number => Math.round(performance.now() - startedAt);
    says(newcomer);
    const verdictOf = (chat: number): Verdict =>
      judge(
        w.answers(chat).map(({ text }) => text),
        counts.get(chat) ?? 0,
      );
    const heard = async (chat: number): Promise<number> => {
      await eventually(
        () => verdictOf(chat).lost.length === 0,
        180_000,
        `an answer to everything in chat ${chat}`,
      );
      return since();
    };
    const [newcomerMs = 0, ...others] = await Promise.all([newcomer, ...chats].map(heard));
    await pause(400);
    if ((await daemon.stop()) !== 0) throw new Error(`the daemon did not stop in order\n${daemon.log()}`);
    return {
      verdicts: [newcomer, ...chats].map(verdictOf),
      messages: [...counts.values()].reduce((sum, count) => sum + count, 0),
      store: lookAt(daemon.home),
      lastAnswerMs: Math.max(...others),
      newcomerMs,
      log: daemon.log(),
    };
  } finally {
    await w.close();
  }
}
