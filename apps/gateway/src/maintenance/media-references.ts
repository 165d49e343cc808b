// Finds which kept files something still names: messages and turns that are not over, what waits to go out,
// transcripts, and the results of devices. What nothing names may go.
import type { Store } from "@parley/store";

export type ReferringStore = Pick<Store, "sessions" | "inbox" | "outbox" | "turns" | "cells">;

const nameForm = /[0-9a-f]{64}\.[a-z0-9]{1,8}/g;
const mostSessions = 100_000;
const mostRows = 20_000;
const entriesAtOnce = 1_000;
/** So many epochs in a row without a word: what was before them went already. */
const emptyInARow = 100;
const callsOfDevices = "device-call:";

/** Of these names, those that are referenced. */
export async function referencedMedia(
  { sessions, inbox, outbox, turns, cells }: ReferringStore,
  names: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  const read = (text: string): void => {
    for (const [name] of text.matchAll(nameForm)) if (names.has(name)) used.add(name);
  };
  for (const state of ["waiting", "claimed", "context", "ended"] as const) {
    const seen = new Set<string>();
    for (const { payload, turn } of await inbox.find({ state, limit: mostRows })) {
      read(payload);
      if (state !== "claimed" || turn === null || seen.has(turn)) continue;
      seen.add(turn);
      read(JSON.stringify((await turns.find(turn))?.log ?? []));
    }
  }
  for (const delivery of await outbox.find({ limit: mostRows })) read(JSON.stringify(delivery));
  for (const { value } of await cells.list(callsOfDevices, mostRows)) read(value);
  for (const { key, epoch: current } of await sessions.list({ limit: mostSessions })) {
    let empty = 0;
    for (let epoch = current; epoch >= 1 && empty < emptyInARow; epoch -= 1) {
      let inEpoch = 0;
      for (let afterSeq = 0; ;) {
        const found = await sessions.transcript(key, { epoch, afterSeq, limit: entriesAtOnce });
        for (const { body } of found) read(body);
        inEpoch += found.length;
        afterSeq = found.at(-1)?.seq ?? afterSeq;
        if (found.length < entriesAtOnce) break;
      }
      empty = inEpoch === 0 ? empty + 1 : 0;
    }
  }
  return used;
}
