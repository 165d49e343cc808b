// Forgets a person, or hands out what is stored of one: both by the same look at everything, so that what was
// shown is what goes.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "@parley/config";
import type { MemoryEngine } from "@parley/memory";
import { Fault, type Clock, type Log, type MethodResult } from "@parley/protocol";
import { memoryTarget, tellForgotten } from "@parley/runner";
import type { Store, StoredRecord, Verdict } from "@parley/store";
import { belongings } from "./belongings.ts";
import { cutFiles, cutLogs, filesOf, leftovers, type PersonFiles } from "./person-files.ts";
import { marksOf, personIn, type Person, type PersonMarks } from "./person.ts";
import { surveyor, type Survey } from "./survey.ts";

export interface PersonPorts {
  readonly config: Config;
  readonly store: Pick<Store, "scrub" | "cells">;
  readonly memory: Pick<MemoryEngine, "reindex">;
  /** The state folder. */
  readonly home: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PersonLook {
  readonly person: Person;
  readonly marks: PersonMarks;
  readonly survey: Survey;
  readonly judge: (record: StoredRecord) => Verdict;
  readonly counts: { [kind: string]: number };
  readonly rewritten: number;
  readonly media: readonly string[];
  readonly files: PersonFiles;
}

type Forgotten = MethodResult<"people.forget">;

const recordPrefix = "person-forgotten:";
const mediaName = /[0-9a-f]{64}\.[a-z0-9]{1,8}/g;
const names: { readonly [kind in StoredRecord["kind"]]: string } = {
  session: "sessions",
  row: "messages",
  turn: "turns",
  step: "steps",
  entry: "transcript entries",
  delivery: "answers",
  part: "parts of answers",
  event: "events",
  cell: "records",
  lane: "queues",
};
/** What people call the records of these cells. */
const cellNames: { readonly [prefix: string]: string } = {
  paired: "pairings",
  pairing: "pairing requests",
  approval: "approvals",
  question: "questions",
  usage: "usage records",
  "prompt:turn": "prompt records",
  "prompt:text": "prompt texts",
  "memory-note": "origins of notes",
  job: "schedules",
  cronrun: "runs of schedules",
};

export function peopleStored({ config, store, memory, home, clock, log }: PersonPorts) {
  const scrub = store.scrub;
  const agents = config.agents.list;

  async function look(text: string): Promise<PersonLook & { readonly scrub: NonNullable<typeof scrub> }> {
    const person = personIn(text, config.session.identityLinks);
    if (scrub === undefined)
      throw new Fault("unsupported", "this store cannot be looked through for a person");
    const marks = marksOf(person);
    const sight = surveyor(marks);
    await scrub((record) => sight.see(record), false);
    const survey = sight.end();
    const cells = new Set(
      survey.attachments.map(
        ({ account, ref }) =>
          `media:${account}:${createHash("sha256").update(ref).digest("hex").slice(0, 32)}`,
      ),
    );
    const judge = belongings(marks, survey, cells);
    const counts: { [kind: string]: number } = {};
    let rewritten = 0;
    const gone = new Set<string>();
    const kept = new Set<string>();
    await scrub((record) => {
      const verdict = judge(record);
      const media = Object.values(record.texts).flatMap((each) => each.match(mediaName) ?? []);
      for (const name of media) (verdict === "remove" ? gone : kept).add(name);
      if (verdict === "remove") {
        const name = nameOf(record);
        counts[name] = (counts[name] ?? 0) + 1;
      } else if (verdict !== "keep") rewritten += 1;
      return verdict;
    }, false);
    const media = [...gone].filter((name) => !kept.has(name) && existsSync(join(home, "media", name)));
    const files = await filesOf(person, marks, survey, { home, agents, cells: store.cells });
    return { person, marks, survey, judge, counts, rewritten, media, files, scrub };
  }

  async function forget(text: string, confirm: boolean): Promise<Forgotten> {
    const found = await look(text);
    const { person, marks, survey, judge, counts, rewritten, media, files } = found;
    const lines = (cuts: PersonFiles["notes"]): number =>
      cuts.reduce((sum, { lines: gone }) => sum + gone.length, 0);
    const told = {
      ...counts,
      ...(media.length === 0 ? {} : { "files of messages": media.length }),
      ...(files.notes.length === 0 ? {} : { "lines of notes": lines(files.notes) }),
      ...(files.results.length === 0 ? {} : { "kept results": files.results.length }),
      ...(files.logs.length === 0 ? {} : { "lines of the log": lines(files.logs) }),
    };
    if (confirm) {
      if (survey.busy.size > 0)
        throw new Fault(
          "conflict",
          `something of ${person.name} is still at work (${[...survey.busy].slice(0, 3).join(", ")}): /stop there, or wait until it has ended; \`parley lanes\` shows it`,
        );
      // Files first: what says whose they are goes with the records.
      for (const name of media) rmSync(join(home, "media", name), { force: true });
      cutFiles([...files.notes, ...files.results]);
      cutLogs(files.logs, marks, survey);
      await found.scrub(judge, true);
      if (files.notes.length > 0)
        for (const agent of agents)
          if (agent.memorySearch.enabled) {
            await memory.reindex(memoryTarget(home, agent));
            await tellForgotten(store.cells, agent.id, clock.now());
          }
      const record = { atMs: clock.now(), counts: told, rewritten };
      await store.cells.put(`${recordPrefix}${record.atMs}`, JSON.stringify(record), {});
      log.info(record, "a person was forgotten");
    }
    return {
      person: person.name,
      ids: person.ids.map(({ channel, id }) => `${channel}:${id}`),
      done: confirm,
      counts: told,
      rewritten,
      sessions: [...survey.sessions],
      shared: [...survey.spokeIn],
      names: [...survey.names],
      busy: [...survey.busy],
      notes: [...notesOn(found, confirm)],
    };
  }

  function* notesOn({ marks, survey }: PersonLook, done: boolean): Generator<string> {
    if (survey.unknownEntries > 0)
      yield `${survey.unknownEntries} older entries of private sessions that several people share do not say who wrote them: they stay (\`parley sessions forget\` removes such a session)`;
    for (const path of leftovers(
      home,
      agents.map(({ workspace }) => workspace),
      marks,
    ))
      yield `${path} ${done ? "names" : "would still name"} them: it is yours to change`;
    const copies = readdirSync(home).filter((name) => /^state\.db\.|\.db$/.test(name) && name !== "state.db");
    for (const name of copies)
      yield `${join(home, name)} is a copy of the database of an earlier time: it keeps what it has`;
    yield "copies outside stay: backups, a git history of the workspace, messages on the platforms, what was sent to models";
  }

  return { look, forget };
}

function nameOf({ kind, id }: StoredRecord): string {
  if (kind !== "cell") return names[kind];
  const prefix = Object.keys(cellNames).find(
    (each) => id.startsWith(`${each}:`) || id.startsWith(`${each}/`),
  );
  return prefix === undefined ? names.cell : (cellNames[prefix] ?? names.cell);
}
