// Sub-agents under chance: two people let their sessions fan out, stop and kill while the process dies at
// some of its writes. When all has come to rest, laws are judged over what the store keeps. Everything
// follows from the seed.
import { parseRowPayload } from "@parley/protocol";
import type { RowView, SqliteStore } from "@parley/store";
import type { Answer, Asked } from "../message-path/scripted-model.ts";
import { stage, type Stage } from "../message-path/stage.ts";
import { draws, weighted, type Draw } from "./chance.ts";

type Died = (() => boolean) | null;

/** A driver that breaks one promise. */
export type BrokenStore = (store: SqliteStore) => SqliteStore;

const limits = { maxSpawnDepth: 2, maxChildrenPerAgent: 3, maxConcurrent: 2 } as const;
const people = ["olga", "ben"] as const;
const actsEach = 4;
const secondsOfActs = 90;
const seconds = 150;

interface Child {
  readonly id: string;
  readonly session: string;
  readonly parent: string;
  readonly label: string;
  readonly startedAtMs: number;
  readonly end: { readonly state: string; readonly atMs: number } | null;
}

/** Runs one seed and returns what it broke: empty for a product that keeps its promises. */
export async function simulateChildren(seed: number, store?: BrokenStore): Promise<readonly string[]> {
  const draw = draws(seed);
  const s = await stage({
    catalogue: true,
    config: {
      commands: { ownerAllowFrom: people.map((name) => `telegram:${name}`) },
      agents: { defaults: { subagents: limits } },
    },
    ...(store === undefined ? {} : { store }),
  });
  const broken = new Set<string>();
  try {
    s.model.answers(script(draw));
    let died: Died = null;
    for (let second = 0; second < seconds; second += 1) {
      act(s, draw, second);
      died = await harm(s, draw, second, died);
      await s.pass(1_000);
      await concurrency(s, broken);
    }
    await s.kill();
    await s.start();
    await s
      .until(
        async () => (await openRows(s)).length === 0 && (await children(s)).every(({ end }) => end !== null),
        "rest",
        600_000,
      )
      .catch(() => broken.add("ends: not all rows and sub-agents came to an end"));
    await judge(s, broken);
    return [...broken];
  } finally {
    await s.close();
  }
}

function act(s: Stage, draw: Draw, second: number): void {
  for (const name of people)
    for (let nth = 0; nth < actsEach; nth += 1) {
      if (Math.floor(draw(`when ${name} ${nth}`) * secondsOfActs) !== second) continue;
      const text = weighted(draw(`what ${name} ${nth}`), [
        [6, `fan ${name}${nth} ${1 + Math.floor(draw(`many ${name} ${nth}`) * 5)}`],
        [1, "/stop"],
        [1, "/subagents kill 1"],
        [1, "hello"],
      ]);
      s.person(name).says(text, { id: `telegram:default:${name}-${nth}`, messageId: `${name}-${nth}` });
    }
}

/**
 * `died`: tells whether the death that was planned last has come; null when none is. Returns the same for
 * later.
 */
async function harm(s: Stage, draw: Draw, second: number, died: Died): Promise<Died> {
  if (died?.() === true) {
    await s.kill();
    await s.start();
    return null;
  }
  if (draw(`death ${second}`) < 0.06) {
    return s.dieAtWrite(1 + Math.floor(draw(`write ${second}`) * 25));
  }
  return died;
}

/** What a sub-agent does follows from its label, so that it does the same in every life. */
function script(draw: Draw): (asked: Asked) => Answer {
  const spawn = (label: string): Answer => ({
    calls: { name: "sessions_spawn", args: { task: `${label} do it`, label } },
  });
  return ({ users, messages, text }) => {
    const label = /Task from session \S+: (\S+)/.exec(users[0] ?? "")?.[1];
    const results = messages.filter(({ role }) => role === "tool").length;
    if (label !== undefined) {
      const afterMs = Math.floor(draw(`time ${label}`) * 20_000);
      const kind = weighted(draw(`kind ${label}`), [
        [5, "answers"],
        [1, "fails"],
        [1, "skips"],
        [2, "spawns"],
      ] as const);
      if (kind === "spawns" && results === 0 && !text.includes("[System Message] Sub-agent"))
        return spawn(`${label}.1`);
      if (kind === "fails") return { afterMs, fails: "refused" };
      return { afterMs, says: [kind === "skips" ? "ANNOUNCE_SKIP" : `${label} is done`] };
    }
    const fan = /fan (\S+) (\d)$/.exec(text);
    const since = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
    const begun = since.filter(({ role }) => role === "tool").length;
    return fan !== null && begun < Number(fan[2]) ? spawn(`${fan[1]}-${begun}`) : "ok";
  };
}

async function children(s: Stage): Promise<readonly Child[]> {
  const cells = await s.store().cells.list("child:", 1_000);
  return cells.map(({ value }) => JSON.parse(value) as Child);
}

async function openRows(s: Stage): Promise<readonly RowView[]> {
  return (await s.rows()).filter(({ state }) => state === "waiting" || state === "claimed");
}

/** No process runs more turns of sub-agents at once than it may. */
async function concurrency(s: Stage, broken: Set<string>): Promise<void> {
  const held = (await s.store().turns.list("subagent", 1_000)).filter(({ holder }) => holder !== null);
  for (const [holder, lanes] of Map.groupBy(held, (lane) => lane.holder))
    if (lanes.length > limits.maxConcurrent)
      broken.add(`limits: ${holder} runs ${lanes.length} turns at once`);
}

async function judge(s: Stage, broken: Set<string>): Promise<void> {
  const rows = await s.rows();
  const all = await children(s);
  const told = rows.filter((row) => {
    const internal = row.payload === "" ? undefined : parseRowPayload(row.payload).internal;
    return internal?.kind === "child";
  });
  for (const child of all) {
    if (child.end === null) broken.add(`ends: ${child.label} never ended`);
    const own = told.filter(({ payload }) => parseRowPayload(payload).internal?.id === child.id);
    const words = (await s.transcript(child.session)).flatMap((entry) =>
      entry.type === "assistant"
        ? entry.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
        : [],
    );
    const skips = words.at(-1) === "ANNOUNCE_SKIP";
    if (own.length > 1) broken.add(`once: ${child.label} was told ${own.length} times`);
    if (own.length === 0 && !skips && child.end !== null) broken.add(`once: ${child.label} was never told`);
    for (const { lane } of own)
      if (lane !== child.parent) broken.add(`place: ${child.label} of ${child.parent} was told to ${lane}`);
    const depth = Number(/-(\d)$/.exec(child.id)?.[1]);
    if (!(depth <= limits.maxSpawnDepth)) broken.add(`limits: ${child.label} is ${depth} deep`);
    const beside = all.filter(
      (each) =>
        each.parent === child.parent &&
        each.startedAtMs <= child.startedAtMs &&
        (each.end === null || each.end.atMs > child.startedAtMs),
    );
    if (beside.length > limits.maxChildrenPerAgent)
      broken.add(`limits: ${beside.length} sub-agents of ${child.parent} at once`);
  }
}
