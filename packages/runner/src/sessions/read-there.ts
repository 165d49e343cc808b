// Says whether text of strangers stands before a session's model, so that what is told of the session, in its
// own words or in theirs, carries the mark.
import type { Entry } from "@parley/protocol";
import type { Session, Sessions, StoredEntry } from "@parley/store";
import { readEntry, sessionHistory } from "../transcript/history.ts";

/** Where the first of it came from, in an epoch of the session; undefined: there is none. */
export async function readThere(
  sessions: Pick<Sessions, "transcript">,
  session: Session,
  epoch = session.epoch,
): Promise<string | undefined> {
  const history = await sessionHistory(sessions, session, epoch);
  return history.map(({ entry }) => sourceIn(entry)).find((each) => each !== undefined);
}

/** The same of these entries alone. */
export function readIn(stored: readonly StoredEntry[]): string | undefined {
  return stored.map(({ body }) => sourceIn(readEntry(body))).find((each) => each !== undefined);
}

export function sourceIn(entry: Entry | null): string | undefined {
  return entry?.type === "user" || entry?.type === "toolResult" ? entry.untrusted : undefined;
}

/** As a tool tells it. */
export function told(
  text: string,
  source: string | undefined,
): { readonly text: string; readonly untrusted?: { readonly source: string } } {
  return source === undefined ? { text } : { text, untrusted: { source } };
}
