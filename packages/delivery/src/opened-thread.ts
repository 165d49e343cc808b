// Keeps the parts of a delivery in the thread that its first part opened: a new thread, or a post in a forum.
// Receipts carry the thread, so a restart in between finds it.
import type { Address, Receipt } from "@parley/protocol";

/** The thread named by the last of these receipts (JSON text) that names one. */
export function threadIn(...receipts: readonly (string | null)[]): string | undefined {
  return receipts
    .flatMap((text) => {
      const thread = text === null ? undefined : (JSON.parse(text) as Receipt).extra?.["thread"];
      return typeof thread === "string" ? [thread] : [];
    })
    .at(-1);
}

export function placeOf(to: Address, thread: string | undefined): Address {
  return thread === undefined ? to : { ...to, thread };
}

export function inThread(receipt: Receipt, thread: string | undefined): Receipt {
  return thread === undefined ? receipt : { ...receipt, extra: { ...receipt.extra, thread } };
}
