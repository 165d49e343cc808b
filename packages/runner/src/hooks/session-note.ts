// Saves what was said last in a conversation that ended as a note of the agent's memory: by the same door as
// the notes before a compaction, with who said it and what it follows. The note names its conversation, so
// that one that is there already is not written twice.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { disarmedLine, hideSecrets, type Redaction } from "@parley/agent";
import { localDay, parseRowPayload, type Clock, type Entry, type SessionKey } from "@parley/protocol";
import type { Cells, Inbox, Row, Sessions } from "@parley/store";
import type { FileOrigins } from "../file-origins.ts";
import { readEntry } from "../transcript/history.ts";
import { memoryNote } from "../memory/memory-note.ts";
import { noteHistory } from "../memory/note-history.ts";
import { notesPlace } from "../memory/notes-place.ts";
import { stampLines } from "../memory/provenance.ts";
import { speakersOf } from "../turn-rows.ts";

export interface SessionNoteNeeds {
  readonly sessions: Pick<Sessions, "transcript">;
  readonly inbox: Pick<Inbox, "find">;
  readonly cells: Pick<Cells, "get" | "put" | "list" | "remove">;
  readonly redaction: Redaction;
  readonly origins: Pick<FileOrigins, "of" | "added"> | undefined;
  readonly clock: Clock;
}

export interface EndedConversation {
  readonly key: SessionKey;
  readonly epoch: number;
  readonly agent: string;
  readonly workspace: string;
  readonly timeZone: string;
  readonly endedAtMs: number;
  /** "/new", for example. */
  readonly by: string;
}

/** What a note holds, and a little less. */
const noteChars = 7_500;
const lineChars = 600;
const lookedAt = 400;
const slugChars = 40;
const slugWords = 6;

interface SaidLine {
  readonly who: "user" | "assistant";
  readonly name: string;
  readonly text: string;
}

/** Returns the note's path in the workspace; null where nothing was said, or it is kept already. */
export async function keepConversation(
  needs: SessionNoteNeeds,
  ended: EndedConversation,
  mostMessages: number,
): Promise<string | null> {
  const { sessions, inbox, cells, redaction, origins, clock } = needs;
  const { key, epoch, agent, workspace, timeZone, endedAtMs, by } = ended;
  const entries = (await sessions.transcript(key, { epoch, newest: true, limit: lookedAt })).flatMap(
    ({ body }) => readEntry(body) ?? [],
  );
  const rows = await rowsOf(inbox, entries);
  const said = entries.flatMap((entry) => linesOf(entry, rows)).slice(-mostMessages);
  if (!said.some(({ who }) => who === "user")) return null;
  const speakers = speakersOf([...rows.values()].filter(isPersons));
  const place = notesPlace(workspace, key, speakers, origins);
  const day = localDay(endedAtMs, timeZone);
  const stem = `${day}-${slugOf(said) ?? timeOf(endedAtMs, timeZone)}`;
  const path = `${place.folder}/${stem}.md`;
  const mark = `- Session: ${key}, conversation ${epoch}`;
  const there = await readFile(join(workspace, path), "utf8").catch(() => "");
  if (there.includes(`${mark}\n`)) return null;
  const head = [
    `# Conversation until ${day} ${timeOf(endedAtMs, timeZone, ":")}`,
    "",
    mark,
    `- Ended by: ${by}`,
    "",
    "## What was said last",
    "",
  ].join("\n");
  const text = hideSecrets(`${head}${lastThatFit(said, noteChars - head.length)}`, redaction.secrets);
  const untrusted = entries.flatMap((entry) =>
    (entry.type === "user" || entry.type === "toolResult") && entry.untrusted !== undefined
      ? [entry.untrusted]
      : [],
  )[0];
  const tool = memoryNote(workspace, place, stem, async () => {}, {
    isSecret: () => false,
    changing: (file, before, after) =>
      noteHistory({ cells, clock }).record(
        agent,
        { path: file, session: key, turn: "", by: speakers.senders, tool: "session-memory" },
        before,
        after,
      ),
    stamp: (words) =>
      stampLines(cells, agent, words, {
        session: key,
        turn: "",
        by: speakers.senders,
        atMs: clock.now(),
        tool: "session-memory",
        untrusted,
      }),
  });
  await tool.run({ text }, undefined as never);
  return path;
}

async function rowsOf(
  inbox: Pick<Inbox, "find">,
  entries: readonly Entry[],
): Promise<ReadonlyMap<string, Row>> {
  const ids = entries.flatMap((entry) => (entry.type === "user" ? entry.rows : []));
  const found = new Map<string, Row>();
  for (const id of new Set(ids)) {
    const [row] = await inbox.find({ id, dismissed: true, limit: 1 });
    if (row !== undefined && row.payload !== "") found.set(id, row);
  }
  return found;
}

function isPersons({ payload }: Row): boolean {
  return parseRowPayload(payload).internal === undefined;
}

function linesOf(entry: Entry, rows: ReadonlyMap<string, Row>): readonly SaidLine[] {
  if (entry.type === "assistant")
    return entry.content.flatMap((part) =>
      part.type === "text" && part.text.trim() !== ""
        ? [{ who: "assistant" as const, name: "assistant", text: part.text }]
        : [],
    );
  if (entry.type !== "user") return [];
  const own = entry.rows.flatMap((id) => rows.get(id) ?? []);
  if (own.length > 0)
    return own.filter(isPersons).flatMap(({ payload }): SaidLine[] => {
      const { text, sender } = parseRowPayload(payload).inbound;
      return text.trim() === "" ? [] : [{ who: "user", name: sender.name || "user", text }];
    });
  const words = entry.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
  return words.trim() === "" ? [] : [{ who: "user", name: "user", text: words }];
}

/** The first words of a person, as a file may be called; null where none are left. */
function slugOf(said: readonly SaidLine[]): string | null {
  const words = said.find(({ who, text }) => who === "user" && !text.startsWith("/"))?.text ?? "";
  const slug = words
    .slice(0, 400)
    .normalize("NFKC")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .slice(0, slugWords)
    .join("-")
    .slice(0, slugChars)
    .toWellFormed()
    .replace(/-+$/, "");
  return slug === "" ? null : slug;
}

function timeOf(atMs: number, timeZone: string, between = ""): string {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" }).format(
    atMs,
  );
  return parts.replace(":", between);
}

function lastThatFit(said: readonly SaidLine[], chars: number): string {
  const lines: string[] = [];
  let left = chars;
  for (const { who, name, text } of said.toReversed()) {
    const line = `- ${who === "user" ? disarmedLine(name, 60) : "assistant"}: ${disarmedLine(text, lineChars)}`;
    if (line.length + 1 > left) break;
    left -= line.length + 1;
    lines.unshift(line);
  }
  return lines.join("\n");
}
