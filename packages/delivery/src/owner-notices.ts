// Tells the owners, in their private chats with the same bot, that an answer did not arrive somewhere. The
// notice's id limits this to one in a while per conversation, and a failed notice causes no other.
import {
  accountKey,
  parseContent,
  parseConversationKey,
  type Address,
  type Clock,
  type Log,
} from "@parley/protocol";
import type { DeliveryView, Outbox } from "@parley/store";
import { textDelivery } from "./notice.ts";
import { isPersonNotice } from "./person-notices.ts";

export interface OwnerNoticesOptions {
  readonly outbox: Pick<Outbox, "post">;
  /** `<channel>:<id>` of each owner. */
  readonly owners: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Log;
}

const onceInMs = 4 * 3_600_000;
const reasonChars = 300;
const idPrefix = "trouble:";
/** Channels where a private chat has the same id as its person. */
const privateChatsByPerson = new Set(["telegram", "discord"]);

export function ownerNotices({
  outbox,
  owners,
  clock,
  log,
}: OwnerNoticesOptions): (delivery: DeliveryView, reason: string) => void {
  async function tell(delivery: DeliveryView, reason: string): Promise<void> {
    const from = parseConversationKey(delivery.lane);
    if (!privateChatsByPerson.has(from.channel)) return;
    const addresses = (await owners()).flatMap((owner): Address[] => {
      const [channel, peer] = [owner.slice(0, owner.indexOf(":")), owner.slice(owner.indexOf(":") + 1)];
      const isHere = from.kind === "dm" && from.peer === peer;
      return channel === from.channel && !isHere
        ? [{ channel, account: from.account, kind: "dm", peer }]
        : [];
    });
    const period = Math.floor(clock.now() / onceInMs);
    const where = `${accountKey(from)}, ${from.kind} ${from.peer}${from.thread === undefined ? "" : `, topic ${from.thread}`}`;
    const text = `⚠️ An answer did not arrive (${where}): ${reason.slice(0, reasonChars)}\n\n\`parley outbox list --troubled\` shows what is in trouble.`;
    await outbox.post(
      addresses.map((to) =>
        textDelivery(`${idPrefix}${delivery.lane}:${period}:${to.peer}`, to, text, delivery.cause),
      ),
    );
  }

  return (delivery, reason) => {
    if (delivery.id.startsWith(idPrefix) || isPersonNotice(delivery) || isAction(delivery)) return;
    tell(delivery, reason).catch((error: unknown) =>
      log.warn({ delivery: delivery.id, error }, "the owners could not be told"),
    );
  };
}

/** An edit or a reaction that was refused is the agent's matter; the outbox shows it. */
function isAction({ parts: [first] }: DeliveryView): boolean {
  const kind = first === undefined ? null : parseContent(first.content).kind;
  return kind === "action" || kind === "act";
}
