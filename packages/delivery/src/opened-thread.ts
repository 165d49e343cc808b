// Keeps the parts of a delivery in the thread that its first part opened: a new thread, or a post in a forum.
// Receipts carry the thread, so a restart in between finds it.
import { formatContent, parseContent, type Address, type Receipt } from "@parley/protocol";
import type { DeliveryPart, DeliveryView, PartView } from "@parley/store";

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

/** The thread that a delivery's parts are in: one that it opened, or that it was planned for. */
export function threadOf(parts: readonly PartView[]): string | undefined {
  const opened = threadIn(...parts.map((part) => part.receipt));
  if (opened !== undefined || parts[0] === undefined) return opened;
  const content = parseContent(parts[0].content);
  return content.kind === "rendered" ? content.thread : undefined;
}

/** What of a delivery was not sent, to be sent by another one: in the same thread, if it opened one. */
export function unsentParts({ parts }: DeliveryView): readonly DeliveryPart[] {
  const thread = threadOf(parts);
  return parts
    .filter((part) => part.state !== "sent")
    .map(({ content, into }) => ({
      content: thread === undefined ? content : inThatThread(content, thread),
      ...(into === undefined ? {} : { into }),
    }));
}

function inThatThread(text: string, thread: string): string {
  const content = parseContent(text);
  return content.kind === "rendered" ? formatContent({ ...content, thread }) : text;
}
