// Two owners, or two processes, who decide about the same proposal of the notes' upkeep: one of them is
// first, and nothing is done twice or remembered of what did not happen. Real notes, a real store, time that
// stands still.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noRedaction } from "@parley/agent";
import { memoryEngine } from "@parley/memory";
import { silentLog, type Address, type Log } from "@parley/protocol";
import { sqliteStore, type Cells } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { markLines } from "../src/memory/untrusted-lines.ts";
import { noteUpkeep } from "../src/memory/upkeep.ts";

const dayMs = 86_400_000;
const note = "memory/2026-01-01.md";
const olga = { person: "telegram:olga", name: "Olga", owner: true };
const ann = { person: "telegram:ann", name: "Ann", owner: true };
const dm = { channel: "telegram", account: "default", kind: "dm", peer: "olga" } as const;
const merge = {
  kind: "merge",
  lines: [`${note}#L1`, `${note}#L2`],
  text: "The ferry to Hven leaves at nine.",
  why: "the same",
} as const;

interface World {
  readonly log?: Log;
  readonly owners?: readonly string[];
  readonly ownersAt?: readonly Address[];
  readonly zone?: string;
  /** False: a daemon without memory. */
  readonly memory?: boolean;
  readonly notes?: { readonly [path: string]: string };
}

async function setUp({
  log = silentLog,
  owners = [olga.person],
  ownersAt = [dm],
  zone = "UTC",
  memory = true,
  notes = {
    [note]: "- Ferry to Hven leaves at nine.\n- The ferry to Hven leaves at nine\n- It rained\n",
  },
}: World = {}) {
  const workspace = await mkdtemp(join(tmpdir(), "parley-upkeep-"));
  onTestFinished(() => rm(workspace, { recursive: true, force: true }));
  await mkdir(join(workspace, "memory"));
  for (const [path, text] of Object.entries(notes)) await writeFile(join(workspace, path), text);
  const clock = virtualClock();
  const store = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal: (error: unknown): never => {
      throw error;
    },
  });
  onTestFinished(() => store.close());
  const engine = memoryEngine({ clock });
  const posted: string[] = [];
  /** A process of its own over the same store; `meanwhile` runs once, after the first read of a proposal. */
  function process(meanwhile?: () => Promise<unknown>) {
    let left = meanwhile;
    const cells: Cells = {
      ...store.cells,
      async get(key) {
        const cell = await store.cells.get(key);
        if (!key.startsWith("memory-proposal:") || left === undefined) return cell;
        const now = left;
        left = undefined;
        await now();
        return cell;
      },
    };
    return noteUpkeep({
      machine: { home: workspace, ...(memory ? { memory: { engine } as never } : {}) },
      config: {
        agents: {
          list: [{ id: "main", workspace, memorySearch: { embedder: null, sources: [] } }],
          defaults: { userTimezone: zone },
        },
      } as never,
      cells,
      outbox: {
        post: (deliveries) => (posted.push(...deliveries.map(({ id }) => id)), store.outbox.post(deliveries)),
      },
      owners: async () => owners,
      ownersAt: async () => ownersAt,
      redaction: noRedaction,
      clock,
      log,
    });
  }
  async function propose(call = "c1", changes: readonly object[] = [merge]) {
    const scope = { agent: "main", session: "agent:main:cron:memory-upkeep-main", turn: "t1", callId: call };
    const { text, effects } = await process().propose(scope as never, changes as never, 100_000);
    for (const { key, value, ttlMs } of effects?.cells ?? [])
      await store.cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
    await store.outbox.post(effects?.deliveries ?? []);
    return { text, id: /Proposed as (\w+)/.exec(text)?.[1] ?? "none" };
  }
  const count = async (prefix: string) => (await store.cells.list(prefix, 100)).length;
  const read = (path = note) => readFile(join(workspace, path), "utf8");
  const readAll = async () =>
    Object.fromEntries(await Promise.all(Object.keys(notes).map(async (path) => [path, await read(path)])));
  const write = (path: string, text: string) => writeFile(join(workspace, path), text);
  return { workspace, clock, store, process, propose, count, read, readAll, write, posted };
}
const said = (work: Promise<string>): Promise<string> =>
  work.catch(({ code, message }: { code: string; message: string }) => `${code}: ${message}`);
const busy = "conflict: somebody else decides about it just now";

test("what another owner accepts while one refuses is written, and counts as refused nowhere", async () => {
  const { process, propose, count, read } = await setUp();
  const { id } = await propose();
  const other = process();
  expect(await said(process(() => other.accept(id, ann)).refuse(id, olga))).toBe(busy);
  expect(await read()).toContain("The ferry to Hven leaves at nine.");
  expect(await count("memory-refused:")).toBe(0);
  expect((await other.list()).map(({ state, by }) => [state, by?.name])).toEqual([["accepted", "Ann"]]);
  expect(await said(process().refuse(id, olga))).toMatch(/^conflict: this was decided before: /);
});

test("what another owner refuses while one accepts changes no note, and is not proposed again", async () => {
  const { process, propose, count, read } = await setUp();
  const before = await read();
  const { id } = await propose();
  const other = process();
  expect(await said(process(() => other.refuse(id, ann)).accept(id, olga))).toBe(busy);
  expect([await read(), await count("memory-refused:")]).toEqual([before, 1]);
  expect((await propose("c2")).text).toMatch(/an owner has refused a change of these lines/);
  expect(await said(process().accept(id, olga))).toMatch(/^conflict: this was decided before: /);
});

test("a press that comes again says what became of it, to whoever decided; two who accept at once write once", async () => {
  const { process, propose, store, read } = await setUp();
  const { id } = await propose();
  const other = process();
  expect(await said(process(() => other.accept(id, ann)).accept(id, olga))).toBe(busy);
  const words = await said(process().accept(` ${id.toUpperCase()} `, ann));
  expect(words).toContain("Ann");
  expect(await said(process().accept(id, olga))).toMatch(/^conflict: this was decided before: /);
  expect((await read()).match(/ferry/gi)).toHaveLength(1);
  const settled = (await store.outbox.find({ limit: 20 })).length;
  await process().heal();
  expect((await store.outbox.find({ limit: 20 })).length).toBe(settled);
  expect(await said(process().accept(id, { ...ann, owner: false }))).toMatch(/^denied: /);
  expect(await said(process().accept("none", ann))).toBe('missing: there is no proposal "none"');
});

test("what a process left when it died is done by the next: the notes of what was accepted, the marks of what was refused", async () => {
  const { clock, process, propose, store, count, read } = await setUp();
  const { id } = await propose();
  await process().refuse(id, olga);
  for (const { key } of await store.cells.list("memory-refused:", 9)) await store.cells.remove(key);
  await clock.advance(dayMs - 1);
  await process().heal();
  expect(await count("memory-refused:")).toBe(1);
  for (const { key } of await store.cells.list("memory-refused:", 9)) await store.cells.remove(key);
  const again = await propose("c2");
  const [kept] = await store.cells.list(`memory-proposal:${again.id}`, 1);
  const accepting = {
    ...JSON.parse(kept?.value ?? "{}"),
    state: "accepting",
    chosen: [0],
    by: { person: olga.person, name: "Olga" },
  };
  await store.cells.put(`memory-proposal:${again.id}`, JSON.stringify(accepting), {});
  await process().heal();
  expect((await read()).match(/ferry/gi)).toHaveLength(1);
  expect((await process().list())[0]).toMatchObject({ id: again.id, state: "accepted" });
});

test("a proposal is open for a week, to the millisecond, and then nobody decides about it", async () => {
  const { clock, process, propose, read } = await setUp();
  const before = await read();
  const { id } = await propose();
  const waits = "waits for an owner already";
  await clock.advance(7 * dayMs - 1);
  expect((await propose("c2")).text).toContain(waits);
  expect((await process().list()).map(({ state }) => state)).toEqual(["open"]);
  await clock.advance(1);
  expect(await said(process().accept(id, olga))).toMatch(/^conflict: this was decided before: /);
  expect((await process().list()).map(({ state }) => state)).toEqual(["expired"]);
  expect(await read()).toBe(before);
  expect((await propose("c3")).text).toMatch(/^Proposed as/);
});

test("of several changes only those that are named by their numbers are made; a line is in one change alone", async () => {
  const { process, propose, read } = await setUp();
  const { text, id } = await propose("c1", [
    merge,
    { ...merge, text: "Another." },
    { ...merge, lines: [`${note}#L1`] },
  ]);
  expect(text).toContain("1 changes");
  expect(text).toContain("another change of this proposal has one of them");
  expect(text).toContain("name two or more lines of one group");
  for (const number of [0, 2])
    expect(await said(process().accept(id, olga, [number]))).toBe(
      `invalid: there is no change ${number}: there are 1`,
    );
  await process().accept(id, olga, [1, 1]);
  expect((await read()).match(/ferry/gi)).toHaveLength(1);
});

const lunch = "memory/2026-01-02.md";
const ferry = ["- Ferry to Hven leaves at nine.", "* The ferry to Hven leaves at nine"] as const;
const lunches = [
  "- Lunch for the whole team costs ten kroner",
  "- Lunch for the whole team costs twelve kroner",
] as const;
const wanted = {
  kind: "merge",
  lines: [`${note}#L1`, `${note}#L3`],
  text: "Ferry to Hven: nine.",
  why: "said twice",
};
const costs = { kind: "contradiction", lines: [`${lunch}#L2`, `${lunch}#L1`], why: "the price rose" };
const discord = { channel: "discord", account: "work", kind: "dm", peer: "77" } as const;

/**
 * Two groups of lines over two files, three owners who read in two places, and all that is left of it, as
 * words.
 */
async function wholeStory() {
  const told: unknown[] = [];
  const world = await setUp({
    log: { ...silentLog, info: (...line: unknown[]) => void told.push(line) },
    owners: [olga.person, "discord:77", ann.person],
    ownersAt: [dm, discord],
    // A day later than in UTC, at this hour.
    zone: "Pacific/Kiritimati",
    notes: {
      [note]: `${ferry[0]}\r\n- It rained\n${ferry[1]}\n`,
      [lunch]: `${lunches.join("\n")}\n`,
    },
  });
  const { clock, store, process, workspace, readAll } = world;
  await clock.advance(dayMs + 11 * 3_600_000);
  const untrusted = async (path: string, source: string, ...lines: string[]) => {
    for (const line of lines)
      await markLines(
        store.cells,
        { agent: "main", workspace, untrusted: source },
        path,
        [...ferry, ...lunches, "- It rained"],
        [line],
      );
  };
  const left = async () => {
    const deliveries = await store.outbox.find({ limit: 30 });
    const cells = await store.cells.list("memory-", 100);
    return JSON.stringify(
      {
        notes: await readAll(),
        proposals: await process().list(),
        told: told.splice(0),
        deliveries: deliveries.map(({ id, pool, lane, cause, parts }) => ({
          at: [id, pool, lane, cause],
          parts: parts.map(({ content, into }) => [into, JSON.parse(content)]),
        })),
        cells: cells
          .filter(({ key }) => !key.startsWith("memory-proposal:"))
          .map(({ key, value, expiresAtMs }) => [
            key.replace(/^(memory-untrusted:)\w+/, "$1"),
            JSON.parse(value),
            expiresAtMs === null ? null : expiresAtMs - clock.now(),
          ]),
      },
      null,
      1,
    );
  };
  return { ...world, untrusted, left };
}

test("what the upkeep is shown says which lines are alike and from whom strangers' words came, each once", async () => {
  const { process, untrusted } = await wholeStory();
  await untrusted(lunch, "b.example", lunches[0]);
  await untrusted(note, "a.example", "- It rained");
  await untrusted(note, "b.example", ferry[1]);
  const shown = async (room: number) => {
    const { groups, more, untrusted: from } = await process().look({ agent: "main" } as never, room);
    return [groups.map((lines) => lines.map(({ path, line, text }) => [path, line, text])), more, from];
  };
  const [one, two] = [
    [
      [note, 1, ferry[0]],
      [note, 3, ferry[1]],
    ],
    [
      [lunch, 1, lunches[0]],
      [lunch, 2, lunches[1]],
    ],
  ];
  expect(await shown(100_000)).toEqual([[one, two], 0, ["b.example"]]);
  await untrusted(lunch, "c.example", lunches[1]);
  expect(await shown(100_000)).toEqual([[one, two], 0, ["b.example", "c.example"]]);
  expect(await shown(1)).toEqual([[one], 1, ["b.example"]]);
});

test("a proposal leaves a card in every owner's chat; accepted, it leaves the notes, their history and whose words they are", async () => {
  const { clock, process, propose, untrusted, left } = await wholeStory();
  await untrusted(lunch, "b.example", lunches[0]);
  const { text, id } = await propose("c1", [wanted, costs]);
  const table = [text, await left()];
  await clock.advance(1_000);
  // In any order, and again: each is made once.
  table.push(await process().accept(id, ann, [2, 1, 2]), await left());
  // A press that comes again changes nothing more, a later day neither.
  await clock.advance(dayMs);
  const before = await left();
  expect(await process().accept(id, ann)).toBe("accepted by Ann, 2 of 2 changes made.");
  await process().heal();
  expect(await left()).toBe(before);
  await expect(table.join("\n")).toMatchFileSnapshot("tables/upkeep-accepted.txt");
});

test("of an accepted proposal, a change of lines that somebody else changed is left out, and told by its number", async () => {
  const { process, propose, write, left } = await wholeStory();
  const { id } = await propose("c1", [wanted, costs]);
  await write(lunch, `${lunches[1]}\n`);
  expect(await process().accept(id, ann)).toBe(
    `accepted by Ann, 1 of 2 changes made.\n- change 2: ${lunch} was changed since`,
  );
  const { notes, proposals, told, cells } = JSON.parse(await left());
  expect([notes, told, proposals[0].left, proposals[0].plan.refused]).toEqual([
    { [note]: "- Ferry to Hven: nine.\r\n- It rained\n", [lunch]: `${lunches[1]}\n` },
    [
      [{ proposal: id, by: ann.person, chosen: 2 }, "notes upkeep accepted"],
      [{ proposal: id, agent: "main", by: ann.person, left: 1 }, "notes tidied"],
    ],
    [`change 2: ${lunch} was changed since`],
    [null, `${lunch} was changed since`],
  ]);
  expect(cells.map(([key]: [string]) => key.replace(/:main:.*/, ""))).toEqual([
    "memory-change",
    "memory-looked",
    "memory-looked",
    "memory-note",
  ]);
  // Of one alone, its number is the one that the card shows.
  const alone = await wholeStory();
  const other = await alone.propose("c1", [wanted, costs]);
  await alone.write(lunch, `${lunches[1]}\n`);
  expect(await alone.process().accept(other.id, ann, [2])).toBe(
    `accepted by Ann, 0 of 2 changes made.\n- change 2: ${lunch} was changed since`,
  );
  expect((await alone.readAll())[note]).toBe(`${ferry[0]}\r\n- It rained\n${ferry[1]}\n`);
});

test("a process that goes on with what one planned writes the day of the plan, and no note that was changed meanwhile", async () => {
  const { clock, process, propose, write, store, left, readAll } = await wholeStory();
  const notes = await readAll();
  const { id } = await propose("c1", [wanted, costs]);
  await process().accept(id, ann);
  const cell = await store.cells.get(`memory-proposal:${id}`);
  const { left: _left, endedAtMs: _endedAtMs, ...planned } = JSON.parse(cell?.value ?? "");
  // As if it had died with the first note written, and somebody wrote in the second one.
  const dead = async (texts: object) => {
    for (const [path, text] of Object.entries(texts)) await write(path, text);
    await store.cells.put(`memory-proposal:${id}`, JSON.stringify({ ...planned, state: "accepting" }), {});
    await clock.advance(dayMs);
    await process().heal();
    const now = JSON.parse(await left());
    return [now.proposals[0].state, now.proposals[0].left, now.notes, now.told.at(-1)];
  };
  const first = "- Ferry to Hven: nine.\r\n- It rained\n";
  const second = `${lunches[0]} [superseded 2026-01-03: ${lunches[1].slice(2)}]\n${lunches[1]}\n`;
  const tidied = (count: number) => [
    { proposal: id, agent: "main", by: ann.person, left: count },
    "notes tidied",
  ];
  expect(await dead({ [lunch]: notes[lunch] })).toEqual([
    "accepted",
    [],
    { [note]: first, [lunch]: second },
    tidied(0),
  ]);
  const changed = `${notes[lunch]}- A word\n`;
  expect(await dead({ [note]: notes[note], [lunch]: changed })).toEqual([
    "accepted",
    [`${lunch} was changed meanwhile and is left as it is`],
    { [note]: first, [lunch]: changed },
    tidied(1),
  ]);
  // What was written twice is one change of each note.
  expect(await store.cells.list("memory-change:main:", 9)).toHaveLength(2);
});

test("what was refused or nobody decided leaves the notes as they are; its cards are settled anew for a day, no longer", async () => {
  const { clock, process, propose, posted, store, left, count } = await wholeStory();
  const { id } = await propose("c1", [wanted]);
  expect(await process().refuse(id, olga)).toBe("refused by Olga; nothing was changed.");
  expect(await process().refuse(id, olga)).toBe("refused by Olga; nothing was changed.");
  expect(await said(process().refuse(id, ann))).toBe(
    "conflict: this was decided before: refused by Olga; nothing was changed.",
  );
  expect(await said(process().accept(id, olga))).toBe(
    "conflict: this was decided before: refused by Olga; nothing was changed.",
  );
  const refused = await left();
  const forget = async () => {
    for (const { key } of await store.cells.list("memory-refused:", 9)) await store.cells.remove(key);
    posted.length = 0;
  };
  await forget();
  await clock.advance(dayMs - 1);
  await process().heal();
  const places = ["telegram:default:dm:olga", "discord:work:dm:77"];
  const settled = (of: string) => places.map((place) => `memory-proposal:${of}:${place}/settled`);
  expect([posted, await count("memory-refused:")]).toEqual([settled(id), 1]);
  await forget();
  await clock.advance(1);
  await process().heal();
  expect([posted, await count("memory-refused:")]).toEqual([[], 0]);
  // The one of another night: nobody decides, and the first look after its time says so.
  const other = await propose("c2", [costs]);
  posted.length = 0;
  await clock.advance(7 * dayMs - 1);
  await process().heal();
  expect(posted).toEqual([]);
  await clock.advance(1);
  await process().heal();
  expect(posted).toEqual([...settled(other.id), ...settled(other.id)]);
  expect(await said(process().accept(other.id, olga))).toBe(
    "conflict: this was decided before: nobody decided in time; nothing was changed.",
  );
  expect(await said(process().refuse(other.id, olga))).toBe(
    "conflict: this was decided before: nobody decided in time; nothing was changed.",
  );
  await expect([refused, await left()].join("\n")).toMatchFileSnapshot("tables/upkeep-refused.txt");
});

test("of a long list ten changes are proposed; a name that is no proposal is said back, forty characters of it", async () => {
  const { process, propose } = await wholeStory();
  const wrong = { ...wanted, lines: ["x#L1"] };
  const { text } = await propose("c1", [...Array(9).fill(wrong), wanted, costs]);
  expect(text.split("\n")).toEqual([
    expect.stringMatching(/^Proposed as \w{8}: 1 changes\. An owner decides\.$/),
    ...Array(9).fill("Not proposed: x#L1: name two or more lines of one group, as look shows them."),
    "Not proposed: only the first 10 changes were taken.",
  ]);
  const none = await propose("c2", [wrong]);
  expect(none.text).toBe(
    "Nothing is proposed.\nNot proposed: x#L1: name two or more lines of one group, as look shows them.",
  );
  expect(await said(process().refuse("n".repeat(41), { ...olga, owner: false }))).toBe(
    `missing: there is no proposal "${"n".repeat(40)}"`,
  );
});

test("where no notes are searched nothing is looked at, nor decided", async () => {
  const { process, propose } = await setUp({ memory: false });
  const none = "unsupported: there is no memory here";
  expect(await said(process().look({ agent: "main" } as never, 1) as never)).toBe(none);
  expect(await said(propose() as never)).toBe(none);
  expect(await process().list()).toEqual([]);
  await process().heal();
});
