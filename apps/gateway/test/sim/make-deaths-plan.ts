// From a seed to a schedule in which the process dies again and again: killed from outside before the model
// has answered, by one message that kills it whenever the model is asked about it, or by both.
import { draws } from "./chance.ts";
import type { Act, Chat, Plan, Script, Trouble } from "./plan.ts";

const chats: readonly Chat[] = ["olga", "petra", "dora", "web", "loopback"];

export function makeDeathsPlan(seed: number): Plan {
  const draw = draws(seed);
  const script = (name: string): Script => ({
    tools: [],
    answer: "plain",
    pieces: 1,
    pauseMs: Math.round(500 + draw(name) * 2_500),
  });
  const acts: Act[] = [];
  for (let i = 0; i < 2 + Math.floor(draw("acts") * 4); i += 1) {
    const chat = chats[Math.floor(draw(`chat ${i}`) * chats.length)] ?? "olga";
    const from =
      { olga: "olga", petra: "petra", dora: "dora", web: "web-1", loopback: "lou" }[chat as string] ?? "olga";
    const atMs = Math.round(draw(`at ${i}`) * 3_000);
    // Some say all they have to say at once: it becomes one turn.
    for (let k = 0; k < 1 + Math.floor(draw(`more ${i}`) ** 2 * 4); k += 1)
      acts.push({
        atMs: atMs + k,
        chat,
        from,
        kind: "say",
        n: 100 * (i + 1) + k,
        script: script(`pause ${i} ${k}`),
      });
  }
  const poison = draw("poison") < 0.6 ? Math.floor(draw("which") * acts.length) : -1;
  const troubles: Trouble[] = [];
  if (poison === -1 || draw("both") < 0.3) {
    const most = Math.round(300 + draw("pace") * 2_200);
    for (let n = 0, atMs = 0; n < 20; n += 1) {
      atMs += Math.round(150 + draw(`kill ${n}`) * most);
      troubles.push({ atMs, process: "kill" });
    }
  }
  return {
    seed,
    scope: "per-channel-peer",
    store: "boot",
    streaming: draw("streaming") < 0.5 ? "edit" : "off",
    queue: draw("queue") < 0.7 ? "steer" : "collect",
    calm: true,
    acts: acts
      .map((act, at) =>
        at === poison && act.kind === "say" ? { ...act, script: { ...act.script, kills: true } } : act,
      )
      .toSorted((a, b) => a.atMs - b.atMs),
    troubles,
  };
}
