// Keeps what a person wrote and did not send, and how far each conversation was read, over a reload.

const draftName = (thread: string | null): string => `parley.draft.${thread ?? ""}`;
const readName = (thread: string | null): string => `parley.read.${thread ?? ""}`;

export function draftOf(storage: Storage, thread: string | null): string {
  return storage.getItem(draftName(thread)) ?? "";
}

export function keepDraft(storage: Storage, thread: string | null, text: string): void {
  if (text === "") storage.removeItem(draftName(thread));
  else storage.setItem(draftName(thread), text);
}

/** The seq of the newest message that was seen. */
export function readThrough(storage: Storage, thread: string | null): number {
  return Number(storage.getItem(readName(thread)) ?? 0);
}

export function keepRead(storage: Storage, thread: string | null, seq: number): void {
  if (seq > readThrough(storage, thread)) storage.setItem(readName(thread), String(seq));
}
