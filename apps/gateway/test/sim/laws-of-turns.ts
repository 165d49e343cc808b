// Laws about what happened inside turns: effects at most once (I7), every call paired (I11), a resumed turn goes on from what it was,
// and nothing is left over (I9).
import type { Evidence } from "./evidence.ts";

/** Pollers, their calls, and renewals of a process at rest. */
const mostTimers = 60;

export function judgeTurns({ world, effects, asked, transcripts, timers, running, rows, book }: Evidence): void {
  for (const [call, count] of effects) if (count > 1) world.broken("I7", `${call} had its effect ${count} times`);

  for (const [session, lines] of Map.groupBy(transcripts, (line) => line.session)) {
    const seqs = lines.map((line) => line.seq).toSorted((a, b) => a - b);
    if (seqs.some((seq, index) => seq !== index + 1)) world.broken("I11", `the transcript of ${session} has holes: ${seqs.join(" ")}`);
    for (const [turn, own] of Map.groupBy(lines, (line) => line.turn)) {
      const calls = own.flatMap(({ entry }) =>
        entry.type === "assistant" ? entry.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : [])) : [],
      );
      const results = own.flatMap(({ entry }) => (entry.type === "toolResult" ? [entry.callId] : []));
      if (calls.join() !== results.join()) world.broken("I11", `${turn} called ${calls.join() || "nothing"} and has results of ${results.join() || "nothing"}`);
    }
  }

  // What a turn was shown only grows, over every crash: a resumed turn is the same turn.
  for (const [turn, calls] of Map.groupBy(asked, (call) => call.turn ?? "")) {
    let before: readonly string[] = [];
    for (const { trail } of calls) {
      if (!before.every((step, index) => trail[index] === step)) {
        world.broken("I11", `${turn} was shown ${before.join(" ")}, and then ${trail.join(" ")}`);
      }
      before = trail;
    }
  }

  for (const row of rows) if (!book.accepted.has(row.id)) world.broken("I1", `${row.id} was never accepted`);
  if (timers > mostTimers) world.broken("I9", `${timers} timers and calls wait in a process at rest`);
  if (running > 0) world.broken("I9", `${running} turns count as running in a process at rest`);
}
