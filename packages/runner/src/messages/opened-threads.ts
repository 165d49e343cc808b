// Tells a call that opens a thread which one it became. The outbox opens it, so the turn parks for a moment
// and looks at the receipt; after some seconds the call says that the thread is on its way. Nothing here
// opens anything: a repeat of the call finds its own delivery (I7).
import type { Place } from "@parley/access";
import { Fault, parseConversationKey, type Address, type Receipt } from "@parley/protocol";
import type { DeliveryView, Outbox } from "@parley/store";
import type { Done } from "@parley/tools";
import { spellingOf, type KnownPlace } from "./known-places.ts";

/** When the receipt is looked for, after the call: most platforms answer within the first second. */
const looksAfterMs = [300, 1_000, 2_500, 6_000];

/** Until when the call waits; null when it has waited long enough. */
export function nextLookAtMs(calledAtMs: number, nowMs: number): number | null {
  const next = looksAfterMs.find((afterMs) => calledAtMs + afterMs > nowMs);
  return next === undefined ? null : calledAtMs + next;
}

/**
 * What a call says of the thread that its delivery opens. Throws Fault("unavailable") when the platform
 * opened none.
 */
export function openedThread(delivery: DeliveryView, nowMs: number): Done {
  const [first] = delivery.parts;
  const handle = `Handle: ${delivery.id}`;
  const thread = threadIn(first?.receipt ?? null);
  if (first?.state === "sent") {
    const lines =
      thread === null
        ? ["thread: opened.", handle]
        : [
            `thread: opened, id ${thread}. To write in it, give ${within(delivery, thread)} as \`to\`.`,
            handle,
          ];
    return { text: lines.join("\n") };
  }
  if (first?.state === "failed")
    throw new Fault(
      "unavailable",
      `the thread could not be opened: ${first.reason ?? "the platform refused"}`,
    );
  if (first?.state === "ambiguous")
    return {
      text: `thread: nobody knows whether it was opened (${first.reason ?? "no answer"}).\n${handle}`,
    };
  const text = [
    "thread: it is still on its way and opens by itself. Do not repeat it.",
    handle,
    "To write in it, give this handle as `to`.",
  ].join("\n");
  const untilMs = nextLookAtMs(delivery.createdAtMs, nowMs);
  return untilMs === null ? { text } : { text, waitsFor: { ticket: `thread:${delivery.id}`, untilMs } };
}

function within({ lane }: DeliveryView, thread: string): string {
  return spellingOf(inside(lane, thread));
}

function inside(lane: DeliveryView["lane"], thread: string): Address {
  return { ...parseConversationKey(lane), thread };
}

function threadIn(receipt: string | null): string | null {
  const thread = receipt === null ? undefined : (JSON.parse(receipt) as Receipt).extra?.["thread"];
  return typeof thread === "string" ? thread : null;
}

/**
 * The threads of this id that the agent opened and nobody wrote in yet. `known`: a thread has the rules of
 * the place in which it was opened.
 */
export async function openedPlaces(
  outbox: Pick<Outbox, "find">,
  { id, agent }: { readonly id: string; readonly agent: string },
  known: readonly KnownPlace[],
): Promise<readonly Place[]> {
  const found = await outbox.find({ receipt: `"thread":${JSON.stringify(id)}`, limit: 20 });
  return found
    .filter(({ cause, parts }) => {
      return cause.startsWith(`agent:${agent}:`) && parts.some(({ receipt }) => threadIn(receipt) === id);
    })
    .flatMap(({ lane }) => {
      const { thread: _other, ...outer } = parseConversationKey(lane);
      const at = known.find(({ address }) => address.peer === outer.peer && address.kind === outer.kind);
      if (at === undefined) return [];
      const { guild } = at;
      const parent = outer.kind === "channel" ? { parent: outer.peer } : {};
      return [{ address: inside(lane, id), ...(guild === undefined ? {} : { guild }), ...parent }];
    })
    .slice(0, 1);
}
