// Tells a message's story in plain lines for operators: the same on a terminal and in any other client.
import type { DeliveryStory, Story, StoryStep, StoryTurn } from "@parley/protocol";

/** `links`: lines about what caused the row and what came of it in another session. */
export function storyWords(
  { row, admitted, waitedMs, waitedFor, turn, deliveries, now }: Omit<Story, "words">,
  links: readonly string[] = [],
): string[] {
  const said = row.messageId === null ? "" : `, message ${row.messageId}`;
  const late =
    row.sentAtMs === null ? "" : `, ${duration(row.receivedAtMs - row.sentAtMs)} after it was sent`;
  return [
    `Message    ${row.id}${said}${row.sender === null ? "" : ` from ${row.sender}`}`,
    ...(row.text === "" ? [] : [`           "${row.text}"`]),
    `Received   ${time(row.receivedAtMs)} in ${row.conversation}${late}`,
    ...links.slice(0, 1),
    admitted ? `Admitted   to ${row.session}` : `Refused    ${row.reason ?? "without a reason"}`,
    ...(turn === null
      ? []
      : [
          `Waited     ${duration(waitedMs)}${waitedFor.length === 0 ? "" : `, behind ${waitedFor.join(", ")}`}`,
        ]),
    ...(turn === null ? [] : turnWords(turn)),
    ...(row.outcome === null || !admitted ? [] : [`Ended      ${ending(row)}`]),
    ...links.slice(1),
    ...deliveries.flatMap(deliveryWords),
    ...(now === null ? [] : [`Now        ${now}`]),
  ];
}

function turnWords(turn: StoryTurn): string[] {
  const ran = turn.endedAtMs === null ? turn.state : `took ${duration(turn.endedAtMs - turn.openedAtMs)}`;
  const others = turn.rows.length > 1 ? `, for ${turn.rows.length} messages` : "";
  const stopped = turn.stop === null ? "" : `, stopped: ${turn.stop}`;
  const cached = turn.cacheReadTokens === 0 ? "" : `, ${turn.cacheReadTokens} from the cache`;
  const cost = turn.costUsd === undefined ? "" : `, $${turn.costUsd.toFixed(4)}`;
  return [
    `Turn       ${turn.id}, attempt ${turn.attempt}, ${ran}${others}${stopped}`,
    ...turn.steps.map((step, index) => `  step ${index + 1}   ${stepWords(step)}`),
    `Tokens     ${turn.inputTokens} in, ${turn.outputTokens} out${cached}${cost}`,
  ];
}

function stepWords({ kind, name, end }: StoryStep): string {
  return kind === "joined" ? `joined by ${name}` : `${kind} ${name}: ${end}`;
}

function ending({ outcome, reason, endedAtMs }: Story["row"]): string {
  const when = endedAtMs === null ? "" : ` at ${time(endedAtMs)}`;
  return `${outcome ?? ""}${when}${reason === null ? "" : ` (${reason})`}`;
}

function deliveryWords({ id, conversation, state, parts }: DeliveryStory): string[] {
  return [
    `Delivery   ${id} to ${conversation}: ${state}`,
    ...parts.map((part, index) => {
      const receipt = (part.messageId ?? "") === "" ? "" : ` as message ${part.messageId}`;
      const tries = part.attempts > 1 ? `, ${part.attempts} attempts` : "";
      const when = part.startedAtMs === null ? "" : ` at ${time(part.startedAtMs)}`;
      const doubled = part.flagged ? ", may have been seen twice" : "";
      const why = part.reason === null || part.state === "sent" ? "" : ` (${part.reason})`;
      return `  chunk ${index + 1}  ${part.state}${receipt}${when}${tries}${doubled}${why}`;
    }),
  ];
}

function time(atMs: number): string {
  return new Date(atMs).toISOString();
}

function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}
