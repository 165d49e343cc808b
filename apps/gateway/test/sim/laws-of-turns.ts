// Laws about what happened inside turns: effects at most once (I7), every call paired (I11), a resumed turn
// goes on from what it was, and nothing is left over (I9).
import type { Evidence, Line } from "./evidence.ts";
import { markers } from "./model.ts";

/** Pollers, their calls, and renewals of a process at rest. */
const mostTimers = 60;

export function judgeTurns({ world, effects, transcripts, timers, running, rows, book }: Evidence): void {
  for (const [call, count] of effects)
    if (count > 1) world.broken("I7", `${call} had its effect ${count} times`);

  for (const [session, lines] of Map.groupBy(transcripts, (line) => line.session)) {
    const seqs = lines.map((line) => line.seq).toSorted((a, b) => a - b);
    if (seqs.some((seq, index) => seq !== index + 1))
      world.broken("I11", `the transcript of ${session} has holes: ${seqs.join(" ")}`);
    for (const [turn, own] of Map.groupBy(lines, (line) => line.turn)) {
      const calls = own.flatMap(({ entry }) =>
        entry.type === "assistant"
          ? entry.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
          : [],
      );
      const results = own.flatMap(({ entry }) => (entry.type === "toolResult" ? [entry.callId] : []));
      judgeTrail(turn, own);
      if (calls.join() !== results.join())
        world.broken(
          "I11",
          `${turn} called ${calls.join() || "nothing"} and has results of ${results.join() || "nothing"}`,
        );
    }
  }

  for (const row of rows) if (!book.accepted.has(row.id)) world.broken("I1", `${row.id} was never accepted`);
  if (timers > mostTimers) world.broken("I9", `${timers} timers and calls wait in a process at rest`);
  if (running > 0) world.broken("I9", `${running} turns count as running in a process at rest`);

  /**
   * What a turn kept is what the model read, in that order, over every crash: a resumed turn is the same
   * turn.
   */
  function judgeTrail(turn: string, lines: readonly Line[]): void {
    const trail: string[] = [];
    for (const { entry } of lines) {
      if (entry.type === "user")
        trail.push(...entry.content.flatMap((part) => (part.type === "text" ? markers(part.text) : [])));
      if (entry.type === "toolResult") trail.push(entry.callId);
      if (entry.type !== "assistant") continue;
      for (const part of entry.content) {
        if (part.type !== "toolCall") continue;
        const read = part.args["trail"] as readonly string[];
        const here = read.slice(-trail.length);
        if (here.join(" ") !== trail.join(" "))
          world.broken("I11", `${turn} keeps ${trail.join(" ")}, but the model read ${here.join(" ")}`);
      }
    }
  }
}
