// Hands out what is stored of one person: a JSON document, and the files of their messages beside it. Of
// places that several people share it holds this person's own messages alone.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Fault, type Clock, type Entry, type MethodResult } from "@parley/protocol";
import type { StoredRecord } from "@parley/store";
import type { PersonLook } from "./forget-person.ts";
import type { PersonMarks } from "./person.ts";
import { cutSaidBy } from "./said-by.ts";
import { jsonIn, keyIn } from "./survey.ts";
import { tarOf, type TarFile } from "./tar.ts";

type Exported = MethodResult<"people.export">;
type Found = PersonLook & {
  readonly scrub: (judge: (record: StoredRecord) => "keep", write: false) => Promise<unknown>;
};

/** `to`: an absolute path. Throws Fault("conflict") where something stands there already. */
export async function exportPerson(
  found: Found,
  to: string,
  { home, clock }: { readonly home: string; readonly clock: Clock },
): Promise<Exported> {
  if (existsSync(to)) throw new Fault("conflict", `${to} is there already: name a new folder or file`);
  const { person, survey, marks, files, media } = found;
  const kinds: { [name: string]: unknown[] } = {
    sessions: [],
    transcripts: [],
    saidInSharedPlaces: [],
    messages: [],
    answers: [],
    records: [],
  };
  const put = (name: string, value: unknown): void => void kinds[name]?.push(value);
  await found.scrub((record) => {
    collect(record, found, marks, put);
    return "keep";
  }, false);
  const document = {
    v: 1,
    person: person.name,
    ids: person.ids.map(({ channel, id }) => `${channel}:${id}`),
    names: [...survey.names],
    exportedAtMs: clock.now(),
    ...kinds,
    notes: files.notes.map(({ path: file, lines }) => ({ path: file, lines })),
    media: media.map((name) => `media/${name}`),
  };
  const written: readonly TarFile[] = [
    { path: "person.json", bytes: Buffer.from(`${JSON.stringify(document, null, 2)}\n`) },
    ...media.map((name) => ({ path: `media/${name}`, bytes: readFileSync(join(home, "media", name)) })),
  ];
  save(to, written, clock.now());
  return {
    person: person.name,
    ids: document.ids,
    sessions: [...survey.sessions],
    shared: [...survey.spokeIn],
    path: to,
    counts: Object.fromEntries(
      [...Object.entries(kinds), ["notes", document.notes] as const, ["media", media] as const].flatMap(
        ([name, all]) => (all.length === 0 ? [] : [[name, all.length]]),
      ),
    ),
    bytes: written.reduce((sum, { bytes }) => sum + bytes.length, 0),
  };
}

function collect(
  record: StoredRecord,
  { judge, survey }: Found,
  marks: PersonMarks,
  put: (name: string, value: unknown) => void,
): void {
  const { kind, id, lane, turn, conversation, texts } = record;
  if (kind === "entry" && !survey.sessions.has(lane)) {
    const parts = keyIn(lane);
    const entry = jsonIn(texts["body"]) as Entry | null;
    if (entry?.type !== "user") return;
    if (entry.by?.every((each) => marks.names(each)) === true)
      put("saidInSharedPlaces", { session: lane, turn, atMs: entry.atMs, said: textsIn(entry) });
    if (parts === null || !("channel" in parts) || parts.channel === undefined) return;
    const { channel } = parts;
    const said = textsIn(entry).flatMap(
      (text) => cutSaidBy(text, (each) => marks.isId(channel, each), survey.names).said,
    );
    if (said.length > 0) put("saidInSharedPlaces", { session: lane, turn, atMs: entry.atMs, said });
    return;
  }
  if (judge(record) !== "remove") return;
  const read = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, jsonIn(text) ?? text]));
  if (kind === "session") put("sessions", { key: id, ...read });
  else if (kind === "entry") put("transcripts", { session: lane, turn, ...read });
  else if (kind === "row") put("messages", { id, session: lane, conversation, turn, ...read });
  else if (kind === "part") put("answers", { id, conversation: lane, cause: turn, ...read });
  // Prompts are the operator's words.
  else if (kind === "cell" && !id.startsWith("prompt:")) put("records", { key: id, ...read });
}

function textsIn(entry: Extract<Entry, { type: "user" }>): readonly string[] {
  return entry.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

/** A kill leaves nothing at the path. */
function save(to: string, files: readonly TarFile[], nowMs: number): void {
  const draft = join(dirname(to), `.${basename(to)}.parley-draft`);
  try {
    mkdirSync(dirname(to), { recursive: true });
    rmSync(draft, { recursive: true, force: true });
    if (to.endsWith(".tar")) writeFileSync(draft, tarOf(files, nowMs), { mode: 0o600 });
    else
      for (const { path, bytes } of files) {
        mkdirSync(join(draft, dirname(path)), { recursive: true, mode: 0o700 });
        writeFileSync(join(draft, path), bytes, { mode: 0o600 });
      }
    renameSync(draft, to);
  } catch (cause) {
    rmSync(draft, { recursive: true, force: true });
    throw new Fault("unavailable", `${to} cannot be written: ${String(cause)}`, { cause });
  }
}
