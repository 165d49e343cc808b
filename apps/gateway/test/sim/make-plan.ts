// From a seed to a schedule. Bursts into one chat, several chats at once, commands in the middle, and up to
// ten troubles at named calls.
import { draws, weighted, type Draw } from "./chance.ts";
import type { Act, Chat, Harm, Plan, Script, Trouble } from "./plan.ts";

export function makePlan(seed: number): Plan {
  const draw = draws(seed);
  const acts = makeActs(draw);
  return {
    seed,
    scope: draw("scope") < 0.4 ? "main" : "per-channel-peer",
    store: draw("store") < 0.2 ? "boot" : "node",
    streaming: weighted(draw("streaming"), [
      [5, "edit"],
      [4, "off"],
      [1, "block"],
    ]),
    queue: weighted(draw("queue"), [
      [6, "steer"],
      [1, "followup"],
      [1, "collect"],
      [2, "interrupt"],
    ]),
    calm: draw("calm") < 0.1,
    acts,
    troubles: makeTroubles(draw),
  };
}

const writers: { readonly [chat in Chat]: readonly string[] } = {
  olga: ["olga"],
  petra: ["petra"],
  // A group of two people, one of them an owner: the lane holds rows of two authorities.
  room: ["olga", "stan"],
  mallory: ["mallory"],
  dora: ["dora"],
  // A channel of a server.
  den: ["dora", "nils"],
  web: ["web-1"],
  loopback: ["lou"],
};

function makeActs(draw: Draw): readonly Act[] {
  const acts: Act[] = [];
  const count = 2 + Math.floor(draw("acts") * 9);
  const spanMs = 2_000 + draw("span") * 18_000;
  for (let i = 0; i < count; i += 1) {
    const chat = weighted<Chat>(draw(`chat ${i}`), [
      [4, "olga"],
      [2, "petra"],
      [3, "room"],
      [1, "mallory"],
      [3, "dora"],
      [2, "den"],
      [3, "web"],
      [1, "loopback"],
    ]);
    const people = writers[chat];
    const from = people[Math.floor(draw(`from ${i}`) * people.length)] ?? "olga";
    const atMs = Math.round(draw(`at ${i}`) * spanMs);
    const said = acts.findLast((act) => act.kind === "say" && act.chat === chat && act.from === from);
    const kind = weighted(draw(`kind ${i}`), [
      [14, "say"],
      [1, "flood"],
      [said === undefined ? 0 : 2, "edit"],
      [3, "command"],
    ] as const);
    if (kind === "say") {
      const aside = (chat === "room" || chat === "den") && draw(`aside ${i}`) < 0.3;
      acts.push({
        atMs,
        chat,
        from,
        kind,
        n: i,
        script: makeScript(draw, `${i}`),
        ...(aside ? { aside } : {}),
      });
      // Second thoughts, while the answer to the first is on its way.
      for (let k = 1, soMs = atMs; k < 4 && draw(`more ${i} ${k}`) < 0.3; k += 1) {
        soMs += Math.round(50 + draw(`after ${i} ${k}`) * 2_500);
        acts.push({
          atMs: soMs,
          chat,
          from,
          kind,
          n: 100_000 * (i + 1) + k,
          script: makeScript(draw, `${i} ${k}`),
        });
      }
    }
    if (kind === "flood") {
      const size = 5 + Math.floor(draw(`size ${i}`) * 25);
      for (let k = 0; k < size; k += 1)
        acts.push({ atMs: atMs + k * 3, chat, from, kind: "say", n: 1000 * (i + 1) + k, script: short });
    } else if (kind === "edit" && said?.kind === "say") {
      acts.push({ atMs: Math.max(atMs, said.atMs + 50), chat, from, kind, of: said.n });
    } else if (kind === "command") {
      const text = weighted(draw(`text ${i}`), [
        [5, "/stop"],
        [2, "/new"],
        [1, "/reset"],
        [1, "/queue interrupt"],
        [1, "/queue steer"],
        [1, "/queue collect debounce:1s cap:3 drop:old"],
        [1, "/queue followup cap:2 drop:new"],
        [1, "/whoami"],
      ]);
      acts.push({ atMs, chat, from, kind: "command", text });
    }
  }
  return acts.toSorted((a, b) => a.atMs - b.atMs);
}

const short: Script = { tools: [], answer: "plain", pieces: 1, pauseMs: 50 };

function makeScript(draw: Draw, name: string): Script {
  const tools: Script["tools"][number][] = [];
  while (tools.length < 3 && draw(`tool ${name} ${tools.length}`) < 0.4) {
    tools.push(
      weighted(draw(`which ${name} ${tools.length}`), [
        [1, "look"],
        [2, "write"],
        [1, "send"],
      ] as const),
    );
  }
  const fails = weighted(draw(`fails ${name}`), [
    [85, null],
    [5, { times: 1, how: "unavailable" }],
    [4, { times: 1, how: "torn" }],
    [3, { times: 2, how: "rate_limited" }],
    [2, { times: 99, how: "unavailable" }],
    [1, { times: 1, how: "hang" }],
  ] as const);
  return {
    tools,
    answer: weighted(draw(`answer ${name}`), [
      [6, "plain"],
      [2, "long"],
      [1, "silent"],
      [1, "thinking"],
      [1, "tagged"],
    ] as const),
    pieces: 1 + Math.floor(draw(`pieces ${name}`) * 5),
    pauseMs: Math.round(draw(`pause ${name}`) ** 2 * 1_500),
    ...(fails === null ? {} : { fails }),
  };
}

/** The ports by how often they are called in a schedule, and the harm that each can come to. */
const ports: readonly (readonly [weight: number, port: string, calls: number, harms: readonly Harm[]])[] = [
  [4, "inbox.accept", 12, ["crash before", "crash after", "fail before", "fail after", "twice", "slow"]],
  [1, "inbox.stop", 4, ["crash before", "crash after", "fail before", "fail after", "slow"]],
  [1, "inbox.find", 4, ["crash before", "fail before", "slow"]],
  [1, "outbox.post", 4, ["crash before", "crash after", "fail before", "fail after", "twice"]],
  [2, "turns.take", 20, ["crash before", "crash after", "fail before", "fail after", "slow"]],
  [2, "turns.extend", 10, ["crash after", "fail before", "fail after", "twice", "slow"]],
  [3, "turns.absorb", 10, ["crash before", "crash after", "fail before", "fail after", "twice", "slow"]],
  [5, "turns.checkpoint", 15, ["crash before", "crash after", "fail before", "fail after", "twice", "slow"]],
  [5, "turns.commit", 8, ["crash before", "crash after", "fail before", "fail after", "twice", "slow"]],
  [1, "turns.release", 4, ["crash before", "crash after", "fail before", "fail after", "twice"]],
  [2, "outbox.take", 15, ["crash before", "crash after", "fail before", "fail after", "slow"]],
  [1, "outbox.extend", 10, ["crash after", "fail before", "fail after", "twice"]],
  [6, "outbox.record", 20, ["crash before", "crash after", "fail before", "fail after", "twice", "slow"]],
  [1, "outbox.release", 8, ["crash before", "crash after", "fail before", "fail after", "twice"]],
  [1, "outbox.find", 20, ["crash before", "fail before", "slow"]],
  [1, "sessions.open", 15, ["crash before", "crash after", "fail before", "slow"]],
  [1, "sessions.transcript", 10, ["crash before", "fail before", "slow"]],
  [1, "sessions.reset", 2, ["crash before", "crash after", "fail before", "fail after"]],
  [3, "telegram.poll", 10, ["crash before", "crash after", "fail before", "redeliver", "slow"]],
  [
    6,
    "telegram.send",
    10,
    ["crash before", "crash after", "fail before", "fail after", "vague", "limited", "slow"],
  ],
  [
    4,
    "telegram.act",
    12,
    ["crash before", "crash after", "fail before", "fail after", "vague", "limited", "slow"],
  ],
  [3, "discord.session", 4, ["gone"]],
  [2, "discord.event", 6, ["drop"]],
  [1, "discord.connect", 3, ["crash before", "crash after", "fail before", "fail after", "slow"]],
  [3, "discord.note", 8, ["crash before", "crash after", "fail before", "fail after", "slow"]],
  [
    6,
    "discord.send",
    10,
    ["crash before", "crash after", "fail before", "fail after", "vague", "limited", "slow"],
  ],
  [
    3,
    "discord.act",
    10,
    ["crash before", "crash after", "fail before", "fail after", "vague", "limited", "slow"],
  ],
  [2, "discord.read", 3, ["crash before", "fail before", "fail after", "slow"]],
  [2, "web.receive", 5, ["crash before", "crash after", "fail after"]],
  [2, "web.send", 6, ["crash before", "crash after", "fail before", "fail after", "vague", "slow"]],
  [1, "loopback.send", 3, ["crash before", "crash after", "fail after", "vague"]],
  [2, "tool.write", 4, ["crash before", "crash after", "fail before", "fail after", "slow"]],
  [1, "tool.send", 2, ["crash before", "crash after", "fail after", "slow"]],
  [1, "tool.look", 2, ["crash before", "crash after", "fail before", "slow"]],
  [2, "model.call", 8, ["crash before", "slow"]],
  [2, "hint", 30, ["lost", "slow"]],
];

function makeTroubles(draw: Draw): readonly Trouble[] {
  const count = Math.floor(draw("troubles") ** 1.5 * 11);
  return Array.from({ length: count }, (_, i): Trouble => {
    const atMs = Math.round(draw(`trouble at ${i}`) * 25_000);
    const sort = draw(`sort ${i}`);
    if (sort < 0.08) return { atMs, process: "kill" };
    if (sort < 0.14) return { atMs, process: "terminate" };
    if (sort < 0.18)
      return { atMs, process: "freeze", forMs: 1_000 + Math.round(draw(`freeze ${i}`) * 120_000) };
    const [port, calls, harms] = weighted(
      draw(`port ${i}`),
      ports.map(([weight, ...rest]) => [weight, rest] as const),
    );
    const harm = harms[Math.floor(draw(`harm ${i}`) * harms.length)] ?? "crash before";
    return { port, nth: 1 + Math.floor(draw(`nth ${i}`) ** 2 * calls), harm };
  });
}
