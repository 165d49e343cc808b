// `parley outbox list|show|retry|drop`: answers on their way, and those that did not arrive.
import type { DeliveryStory } from "@parley/protocol";
import { document, line, result, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

export interface OutboxFilter {
  readonly troubled?: boolean;
  readonly lane?: string;
}

export async function outboxList(terminal: Console, { troubled, lane }: OutboxFilter): Promise<ExitCode> {
  const filter = { ...(troubled === undefined ? {} : { troubled }), ...(lane === undefined ? {} : { lane }) };
  const found = await withState(terminal, (client) => client.request("outbox.list", filter));
  if (terminal.json) document(terminal.out, found);
  else if (found.deliveries.length === 0) line(terminal.out, "Nothing waits and nothing is in trouble.");
  else for (const text of found.deliveries.flatMap(deliveryLines)) line(terminal.out, text);
  return exitCodes.ok;
}

export async function outboxShow(terminal: Console, id: string): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("outbox.show", { id }));
  if (terminal.json) document(terminal.out, found);
  else for (const text of deliveryLines(found)) line(terminal.out, text);
  return exitCodes.ok;
}

export async function outboxAct(terminal: Console, act: "retry" | "drop", id: string): Promise<ExitCode> {
  const done = await withState(terminal, (client) => client.request(`outbox.${act}`, { id }));
  const words = act === "retry" ? `It is sent again as ${done.id}.` : `Dropped ${done.id}.`;
  result(terminal, done, words);
  return exitCodes.ok;
}

function deliveryLines({ id, conversation, state, text, parts, createdAtMs }: DeliveryStory): string[] {
  const sent = parts.filter((part) => part.state === "sent").length;
  const reason = parts.find((part) => part.reason !== null && part.state !== "sent")?.reason;
  return [
    `${id}  ${state}  ${sent} of ${parts.length} sent  to ${conversation}  since ${new Date(createdAtMs).toISOString()}`,
    ...(reason === undefined || reason === null ? [] : [`  ${reason}`]),
    `  "${text}"`,
  ];
}
