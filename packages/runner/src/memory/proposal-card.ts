// Shows an owner what the nightly upkeep proposes: every line as it is and as it would be, with a button for
// yes and one for no. What was decided later takes the place of the buttons.
import {
  conversationKey,
  parseConversationKey,
  visibleText,
  type Address,
  type Part,
} from "@parley/protocol";
import type { CellWrite, NewDelivery } from "@parley/store";
import { cardDelivery, cardParts, fenced, outcomeInCard, type CardPlace } from "../shown-card.ts";
import type { Proposal, ProposedChange } from "./proposal.ts";

/** Longer proposals stand in a message of their own, so that the one with the buttons stays whole. */
const shortChars = 1_500;

export function proposalCard(
  proposal: Proposal,
  address: Address,
  owners: readonly string[],
): { readonly deliveries: readonly NewDelivery[]; readonly cells: readonly CellWrite[] } {
  const { id, agent, changes, createdAtMs, expiresAtMs } = proposal;
  const block = changes.map((change, at) => `${at + 1}. ${changeWords(change)}`).join("\n\n");
  const isLong = block.length > shortChars;
  const days = Math.max(1, Math.round((expiresAtMs - createdAtMs) / 86_400_000));
  const head = `🧹 Notes of agent "${agent}": ${changes.length} ${changes.length === 1 ? "change is" : "changes are"} proposed. Nothing is changed until you accept.`;
  const some = changes.length > 1 ? `, \`/memory accept ${id} 1\` for one of them` : "";
  const tail = `Within ${days} days, with a button or with \`/memory accept ${id}\`${some} or \`/memory refuse ${id}\`.`;
  const limits = {
    allowed: owners.flatMap((owner) =>
      owner.startsWith(`${address.channel}:`) ? [owner.slice(address.channel.length + 1)] : [],
    ),
    untilMs: expiresAtMs,
  };
  const buttons = [
    [
      {
        label: "✅ Accept",
        value: `/memory accept ${id}`,
        style: "success" as const,
        ...limits,
      },
      { label: "⛔ Refuse", value: `/memory refuse ${id}`, style: "danger" as const, ...limits },
    ],
  ];
  const markdown = isLong ? `${head} They stand in full above.\n\n${tail}` : `${head}\n\n${block}\n\n${tail}`;
  const meant: readonly Part[] = [{ kind: "text", markdown, buttons }];
  const place = placeOf(proposal, address);
  const { parts, cells } = cardParts(meant, place);
  const card = cardDelivery(parts, place);
  const above = cardDelivery([{ kind: "text", markdown: block }], { ...place, id: `${place.id}/words` });
  return { deliveries: isLong ? [above, card] : [card], cells };
}

/** The card with its outcome, without buttons, wherever it is shown. */
export function settledProposal(proposal: Proposal): readonly NewDelivery[] {
  return proposal.shownIn.map((conversation) => {
    const address = parseConversationKey(conversation);
    return outcomeInCard(
      `🧹 Notes of agent "${proposal.agent}" (\`${proposal.id}\`): ${outcomeWords(proposal)}`,
      placeOf(proposal, address),
    );
  });
}

export function outcomeWords({ state, changes, chosen = [], plan, left = [], by }: Proposal): string {
  const who = by === undefined ? "" : ` by ${visibleText(by.name.slice(0, 40)) || visibleText(by.person)}`;
  switch (state) {
    case "open":
      return "nobody has decided yet.";
    case "accepting":
      return `accepted${who}; the notes are being written.`;
    case "accepted": {
      const done = chosen.length - (plan?.refused.filter((reason) => reason !== null).length ?? 0);
      const all = `${done} of ${changes.length} ${changes.length === 1 ? "change" : "changes"} made`;
      return [`accepted${who}, ${all}.`, ...left.map((each) => `- ${each}`)].join("\n");
    }
    case "refused":
      return `refused${who}; nothing was changed.`;
    case "expired":
      return "nobody decided in time; nothing was changed.";
  }
}

/** Notes may hold anybody's words, so they stand in a fence that they cannot close. */
export function changeWords({ kind, lines, text, why, untrusted }: ProposedChange): string {
  const shown = lines.map(({ path, line, text: said }) => `${path}#L${line}  ${said.trim()}`);
  const becomes =
    text !== null
      ? [`=> ${text}`]
      : ["=> the first line holds; each other one is marked as superseded by it"];
  const told = [
    kind === "merge" ? "These say the same:" : "These cannot all be true:",
    fenced([...shown, ...becomes].map((each) => visibleText(each)).join("\n")),
    ...(why === "" ? [] : [fenced(visibleText(why))]),
    ...(untrusted === undefined
      ? []
      : [`⚠️ Noted after reading text of strangers: ${fenced(visibleText(untrusted))}`]),
  ];
  return told.join("\n");
}

function placeOf({ id, turn }: Proposal, address: Address): CardPlace {
  return { id: `memory-proposal:${id}:${conversationKey(address)}`, address, cause: turn };
}
