// Gives recent daily notes to the first message after a bare /new or /reset, so that a new conversation does
// not begin with nothing. They are given once, in private only, and bounded; the message builder fences them
// as data.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { rootedReader, tailOf } from "@parley/agent";
import { type Address, type Json, type Log, recentDays } from "@parley/protocol";
import type { Cells, Session, Turn } from "@parley/store";
import type { NotesPlace } from "./notes-place.ts";
import { markedLines, untrustedIn } from "./untrusted-lines.ts";

interface StartupSettings {
  readonly enabled: boolean;
  readonly dailyMemoryDays: number;
  readonly maxFileChars: number;
  readonly maxTotalChars: number;
}

export interface StartupRequest {
  readonly workspace: string;
  readonly notes: Pick<NotesPlace, "folder" | "originOf">;
  /** Knows which lines strangers had a hand in. */
  readonly cells: Pick<Cells, "get">;
  /** IANA name. */
  readonly timeZone: string;
  readonly nowMs: number;
  readonly settings: StartupSettings;
  readonly log: Log;
}

export interface StartupNotes {
  readonly text: string;
  /** Where text of strangers came from that a turn had read before it wrote a line of these. */
  readonly untrusted?: string;
}

/** Session field: the epoch whose first message carries the notes; null once it did. */
const startupField = "startupMemory";

export function startupDue(epoch: number): { readonly [field: string]: Json } {
  return { [startupField]: epoch };
}

/**
 * Returns what one turn is told and what its commit records. A resumed turn reads again, because only a
 * committed turn counts as told.
 */
export async function startupFor(
  turn: Pick<Turn, "epoch">,
  session: Pick<Session, "fields">,
  address: Address,
  notes: (() => Promise<StartupNotes | null>) | undefined,
): Promise<{ readonly told: StartupNotes | null; readonly patch: { readonly [field: string]: Json } }> {
  if (session.fields[startupField] !== turn.epoch || address.kind !== "dm") return { told: null, patch: {} };
  return { told: (await notes?.()) ?? null, patch: { [startupField]: null } };
}

const mostFiles = 20;

/** Returns the newest day first, or null when there is nothing to tell. */
export async function startupNotes({
  workspace,
  notes: place,
  cells,
  timeZone,
  nowMs,
  settings,
  log,
}: StartupRequest): Promise<StartupNotes | null> {
  if (!settings.enabled) return null;
  const days = recentDays(nowMs, timeZone, settings.dailyMemoryDays);
  // An unreadable folder has no notes.
  const names = await readdir(join(workspace, place.folder)).catch((): string[] => []);
  // A day's plain note comes first, then its named ones.
  const files = days.flatMap((day) => [
    ...names.filter((name) => name === `${day}.md`),
    ...names.filter((name) => name.startsWith(`${day}-`) && name.endsWith(".md")).toSorted(),
  ]);
  const reader = rootedReader();
  const originOf = await place.originOf();
  const notes: string[] = [];
  const sources = new Set<string>();
  let leftChars = settings.maxTotalChars;
  for (const name of files.slice(0, mostFiles)) {
    const path = `${place.folder}/${name}`;
    const file = await reader.read(workspace, path);
    if (file.state === "refused") log.warn({ path, reason: file.reason }, "a daily note was not read");
    if (file.state !== "present" || file.text.trim() === "") continue;
    const origin = originOf(join(workspace, path), file.sha256);
    if (origin?.use === "leave out") {
      log.warn({ path, reason: origin.reason, who: origin.who }, "a daily note was left out");
      continue;
    }
    const title = `## ${path}\n${origin === null ? "" : `[${origin.reason}]\n`}`;
    const roomChars = Math.min(settings.maxFileChars, leftChars - title.length - 1);
    if (roomChars <= 0) break;
    const source = await untrustedIn(cells, workspace, path, file.text);
    if (source !== null) sources.add(source);
    const marked = await markedLines(cells, workspace, path, file.text.trim());
    const note = title + newest(marked, roomChars, path);
    notes.push(note);
    leftChars -= note.length + 1;
  }
  if (notes.length === 0) return null;
  const text = notes.join("\n");
  return sources.size === 0 ? { text } : { text, untrusted: [...sources].join(", ") };
}

/** Keeps the end of the text, because notes are appended and the end is the newest. */
function newest(text: string, maxChars: number, path: string): string {
  if (text.length <= maxChars) return text;
  const marker = `[...earlier notes left out, read ${path} for all...]\n`;
  return maxChars <= marker.length ? tailOf(text, maxChars) : marker + tailOf(text, maxChars - marker.length);
}
