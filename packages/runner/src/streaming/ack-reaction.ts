// Sets an emoji on the message that a turn answers, so that people see at once that it was noticed, and takes
// it away when the turn has ended. Like typing it is best effort: a failure costs nothing but the emoji.
import { ackOf } from "@parley/access";
import { accountKey, deadline, parseConversationKey } from "@parley/protocol";
import type { LeaseHandle } from "@parley/queue";
import type { Turn } from "@parley/store";
import { isUnseen } from "../sessions/asked-rows.ts";
import { isAddressed, isAsked, messageIdOf, openingRows } from "../turn-rows.ts";
import type { Services } from "../turn-scope.ts";

export interface AckReaction {
  show(): void;
  /** Takes it away again, where the config wants that. */
  remove(): void;
}

const timeoutMs = 10_000;
const none: AckReaction = { show() {}, remove() {} };

export function ackReaction(
  { config, channel, clock, log }: Pick<Services, "config" | "channel" | "clock" | "log">,
  turn: Turn,
  lease: Pick<LeaseHandle, "cover">,
): AckReaction {
  const address = parseConversationKey(turn.conversation);
  const account = accountKey(address);
  const wanted = ackOf(config, account);
  const platform = channel(account);
  const row = openingRows(turn).findLast((each) => messageIdOf(each) !== null);
  const messageId = row === undefined ? null : messageIdOf(row);
  if (wanted === null || platform === null || row === undefined || messageId === null) return none;
  const canReact = platform.capabilities.reactions && platform.actions?.includes("react") === true;
  const isPrivate = address.kind === "dm";
  const called = isAddressed(row) && isAsked(row);
  const isMeant = {
    all: true,
    direct: isPrivate,
    "group-all": !isPrivate,
    "group-mentions": !isPrivate && called,
  }[wanted.scope];
  if (!canReact || !isMeant || isUnseen(turn.lane, turn.rows)) return none;

  let last: Promise<unknown> = Promise.resolve();

  /** One after the other, or a removal could come before what it removes. */
  function react(emoji: string | null, covered: () => Promise<unknown>): void {
    const timeout = deadline(clock, timeoutMs, "a reaction");
    last = last
      .then(covered)
      .then(() =>
        platform?.act?.(
          address,
          { kind: "react", messageId: messageId ?? "", emoji },
          { idempotencyKey: `${turn.id}/ack/${emoji === null ? "off" : "on"}`, signal: timeout.signal },
        ),
      )
      .catch((error: unknown) => log.info({ turn: turn.id, emoji, error }, "the reaction was not set"))
      .finally(() => timeout.cancel());
  }

  return {
    show: () => react(wanted.emoji, () => lease.cover(timeoutMs)),
    remove: () => {
      // The lease ended with the turn; nobody else reacts to this message.
      if (config.messages.removeAckAfterReply) react(null, async () => {});
    },
  };
}
