// Builds the delivering side of one message path: what is sent, what trouble is told to whom, and what the
// hooks hear of it.
import type { Channel } from "@parley/channels";
import {
  accountRateLimits,
  causeRows,
  channelRender,
  deliverer,
  ownerNotices,
  personNotices,
  type UnreachableChats,
} from "@parley/delivery";
import type { Store } from "@parley/store";
import type { LaneWork } from "./lane-work.ts";
import type { MessagePathParts } from "./parts.ts";
import type { PathHooks } from "../hooks/heard.ts";

export interface PathDeliveryNeeds {
  readonly channel: (account: string) => Channel | null;
  readonly closed: UnreachableChats;
  /** `<channel>:<id>` of each owner. */
  readonly owners: () => Promise<readonly string[]>;
  readonly heard: Pick<PathHooks, "sent" | "failed">;
}

export function pathDelivery(
  { config, kept, moved, settleEdits, clock, log }: MessagePathParts,
  { inbox, outbox }: Pick<Store, "inbox" | "outbox">,
  { channel, closed, owners, heard }: PathDeliveryNeeds,
): LaneWork["deliver"] {
  const rateLimitOf = accountRateLimits({ config, kept: kept.rateLimits, clock });
  const tellOwners = ownerNotices({ outbox, owners, clock, log });
  return (account) =>
    deliverer({
      outbox,
      channel: () => channel(account),
      moved,
      closed,
      render: channelRender,
      rateLimit: rateLimitOf(account),
      beforeEdit: async (messageId) => settleEdits?.(account, messageId),
      clock,
      log,
      rowsOf: causeRows(inbox, log),
      onTrouble(delivery, reason) {
        heard.failed(delivery, reason);
        tellOwners(delivery, reason);
      },
      onFailed: personNotices({ outbox, closed, log }),
      onSent: heard.sent,
    });
}
