// Renders a request for approval in a chat: the whole action, never cut, with a button for each answer. The
// decision later replaces the buttons.
import {
  conversationKey,
  parseConversationKey,
  visibleText,
  type Address,
  type Button,
  type Part,
} from "@parley/protocol";
import type { CellWrite, NewDelivery } from "@parley/store";
import { textDelivery } from "@parley/delivery";
import { cardDelivery, cardParts, fenced, outcomeInCard, type CardPlace } from "../shown-card.ts";
import type { Approval } from "./approval.ts";
import { askedByLines } from "./asked-by.ts";

/**
 * An address where a request is shown, and which of its readers may decide; null lets every reader decide.
 */
export interface Surface {
  readonly address: Address;
  readonly approvers: readonly string[] | null;
}

/** A longer action goes out in separate messages, so that the one with the buttons stays a single message. */
const shortChars = 1_200;
/** Nobody reads more than this before pressing a button. */
export const longestShown = 12_000;

export function cardDeliveries(
  approval: Approval,
  { address, approvers }: Surface,
  closes: string | null,
): { readonly deliveries: readonly NewDelivery[]; readonly cells: readonly CellWrite[] } {
  const { id, shown, reason, grant, expiresAtMs, createdAtMs, agent } = approval;
  const isLong = shown.length > shortChars;
  const minutes = Math.max(1, Math.round((expiresAtMs - createdAtMs) / 60_000));
  const head = `🔐 **Approval \`${id}\`**: agent "${agent}" asks to ${deed(approval)} (${plain(reason)}).\n${fenced(askedByLines(approval))}`;
  const tail = [
    `Answer within ${minutes} minute${minutes === 1 ? "" : "s"} with a button, or with \`/approve ${id} once${grant === null ? "" : "|always"}\` or \`/deny ${id}\`.`,
    ...(grant === null ? [] : [alwaysWords(grant.files.length)]),
  ].join("\n");
  const block = fenced(shown);
  const markdown = isLong ? `${head}\nIt stands in full above.\n\n${tail}` : `${head}\n\n${block}\n\n${tail}`;
  const limits = approvers === null ? {} : { allowed: approvers, untilMs: expiresAtMs };
  const button = (label: string, answer: string, style: Button["style"] & string): Button => ({
    label,
    value: `/approve ${id} ${answer}`,
    style,
    ...limits,
  });
  const buttons = [
    [
      button("✅ Once", "once", "success"),
      ...(grant === null ? [] : [button("♾ Always", "always", "primary")]),
      button("⛔ Deny", "deny", "danger"),
    ],
  ];
  const meant: readonly Part[] = [{ kind: "text", markdown, buttons }];
  const place = cardPlace(approval, address);
  const { parts, cells } = cardParts(meant, place);
  const closing = closes === null ? {} : { closes };
  const card: NewDelivery = { ...cardDelivery(parts, place), ...(isLong ? {} : closing) };
  const words: readonly Part[] = [{ kind: "text", markdown: block }];
  const above: NewDelivery = { ...cardDelivery(words, { ...place, id: `${place.id}/words` }), ...closing };
  return { deliveries: isLong ? [above, card] : [card], cells };
}

function deed({ tool, args }: Approval): string {
  if (tool === "exec") return "run this command";
  return isOnDevice(tool, args) ? "run this command on a device" : `use \`${plain(tool)}\` outside`;
}

const isOnDevice = (tool: string, args: Approval["args"]): boolean =>
  tool === "nodes" && args["command"] === "run";

/** Tells people who asked but may not decide, once, or they would wait before a silent chat. */
export function toldElsewhere(
  { id, turn, conversation, tool, args }: Approval,
  closes: string | null,
): NewDelivery {
  const what =
    tool === "exec"
      ? "run a command"
      : isOnDevice(tool, args)
        ? "run a command on a device"
        : `use ${tool} outside`;
  const words = `🔐 For this I need leave to ${what}. Those who may give it have been asked; I go on when they have answered.`;
  const told = textDelivery(`approval:${id}:told`, parseConversationKey(conversation), words, turn);
  return closes === null ? told : { ...told, closes };
}

/** Replaces the request's message with the decision and removes its buttons. */
export function settledCard(approval: Approval, address: Address, words: string): NewDelivery {
  const { id, shown } = approval;
  const markdown = `${words}\n\n${shown.length > shortChars ? `Approval \`${id}\`` : fenced(shown)}`;
  return outcomeInCard(markdown, cardPlace(approval, address));
}

function cardPlace({ id, turn }: Approval, address: Address): CardPlace {
  return { id: `approval:${id}:${conversationKey(address)}`, address, cause: turn };
}

/** Promises only what is checked: a grant is bound to the listed files, and only they can void it. */
function alwaysWords(files: number): string {
  const bound = files === 0 ? "" : ", as long as each file above is as it is now";
  return `Always: exactly these words in this folder and sandbox${bound}, for this agent, whoever asks.`;
}

const longestReason = 300;

function plain(text: string): string {
  const words = visibleText(text.length > longestReason ? `${text.slice(0, longestReason)} ...` : text);
  return words.replaceAll(/[`*_[\]<>\s]+/g, " ").trim();
}
