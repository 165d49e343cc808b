// Says one message after the other, so that nothing but the daemon's own way is measured, and notes what lies
// before and after the model; or lets many chats write at once.
import { sleep } from "@parley/protocol";
import { clock, type Fakes } from "./daemon.ts";

export interface Spans {
  /** Platform event to model request, in milliseconds. */
  readonly inMs: readonly number[];
  /** Model end to platform send. */
  readonly outMs: readonly number[];
}

/** Lets the daemon finish its own book-keeping: the next message must not pay for this one. */
const restMs = 3;

/** Chats that take turns, so that the cost of one long history does not stand for that of a message. */
const chats = 25;

/** People write `count` messages in turn, each after the answer to the one before it. */
export async function converse({ telegram, models }: Fakes, count: number): Promise<Spans> {
  const inMs: number[] = [];
  const outMs: number[] = [];
  let askedAtMs = 0;
  models.reply((call) => {
    // The answer is one short write; its end is now for all purposes of these tables.
    askedAtMs = clock.now();
    return `re: ${call.lastUserText.slice(0, 20)}`;
  });
  for (let n = 0; n < count; n += 1) {
    const sends = telegram.calls("sendMessage").length;
    const saidAtMs = clock.now();
    telegram.as(1 + (n % chats)).says(`message ${n}`);
    while (telegram.calls("sendMessage").length === sends) await sleep(clock, 0);
    inMs.push(askedAtMs - saidAtMs);
    outMs.push((telegram.calls("sendMessage").at(-1)?.atMs ?? 0) - askedAtMs);
    await sleep(clock, restMs);
  }
  return { inMs, outMs };
}

export interface Flood {
  readonly chats: number;
  /** Messages of each chat, the next one as soon as the one before it is answered. */
  readonly each: number;
  readonly modelMs: number;
}

/** Everybody writes at once; returns how long it took until the last answer, in milliseconds. */
export async function flood({ telegram, models }: Fakes, { chats, each, modelMs }: Flood): Promise<number> {
  models.reply(async () => {
    if (modelMs > 0) await sleep(clock, modelMs);
    return "done";
  });
  const first = 1_000;
  const answers = new Map<number, number>();
  const said = new Map<number, number>();
  let seen = telegram.calls("sendMessage").length;
  const begun = clock.mono();
  for (let left = chats * each; left > 0;) {
    for (let chat = first; chat < first + chats; chat += 1) {
      const sent = said.get(chat) ?? 0;
      if (sent === each || sent > (answers.get(chat) ?? 0)) continue;
      said.set(chat, sent + 1);
      telegram.as(chat).says(`message ${sent}`);
    }
    await sleep(clock, 1);
    const sends = telegram.calls("sendMessage");
    for (; seen < sends.length; seen += 1) {
      const chat = Number((sends[seen]?.params as { readonly chat_id?: unknown } | undefined)?.chat_id);
      answers.set(chat, (answers.get(chat) ?? 0) + 1);
      left -= 1;
    }
  }
  return clock.mono() - begun;
}

export function bothMs({ inMs, outMs }: Spans): readonly number[] {
  return inMs.map((span, at) => span + (outMs[at] ?? 0));
}

export function joined(parts: readonly Spans[]): Spans {
  return { inMs: parts.flatMap(({ inMs }) => inMs), outMs: parts.flatMap(({ outMs }) => outMs) };
}

export function percentile(spans: readonly number[], share: number): number {
  const at = Math.min(spans.length - 1, Math.floor(spans.length * share));
  return Math.round(10 * (spans.toSorted((a, b) => a - b)[at] ?? 0)) / 10;
}
