// The call of a job's webhook as a cell: written with the end of the run, taken away once the call was
// answered. A process that dies in between makes it again, with the slot's id as its key for the receiver.
import type { CellWrite } from "@parley/store";
import type { Job } from "@parley/schedules";
import { z } from "zod";
import type { RunEnding } from "./run-log.ts";

const callSchema = z.object({
  v: z.literal(1),
  url: z.string(),
  /** The slot's, which the receiver can tell a repeat by. */
  id: z.string(),
  job: z.string(),
  /** JSON text. */
  body: z.string(),
  tries: z.number(),
  /** No try before this. */
  afterMs: z.number(),
  /** No try after this; absent in a cell of an earlier version. */
  untilMs: z.number().exactOptional(),
  /** It is not called again, whatever it answers. */
  once: z.boolean().exactOptional(),
});

export type WebhookCall = z.infer<typeof callSchema>;

export const webhookPrefix = "cronhook:";
/** For so long a receiver that is away is called again. */
const keptMs = 86_400_000;

export function webhookCell(
  { id, name, delivery }: Pick<Job, "id" | "name" | "delivery">,
  slot: string,
  { outcome, reason }: RunEnding,
  said: string,
  nowMs: number,
): readonly CellWrite[] {
  if (delivery.kind !== "webhook") return [];
  const body = JSON.stringify({
    id: slot,
    job: { id, name },
    status: outcome,
    error: reason,
    text: said,
    at: new Date(nowMs).toISOString(),
  });
  const once = delivery.bestEffort ? { once: true } : {};
  return [
    writtenCall({
      v: 1,
      url: delivery.url,
      id: slot,
      job: id,
      body,
      tries: 0,
      afterMs: nowMs,
      untilMs: nowMs + keptMs,
      ...once,
    }),
  ];
}

export function writtenCall(call: WebhookCall): CellWrite {
  return { key: `${webhookPrefix}${call.id}`, value: JSON.stringify(call), ttlMs: keptMs };
}

export function readCall(value: string): WebhookCall | null {
  const parsed = callSchema.safeParse(JSON.parse(value));
  return parsed.success ? parsed.data : null;
}
