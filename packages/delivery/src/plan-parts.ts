// Which platform messages a delivery becomes. It is rendered and split once, when its turn to be sent comes; a delivery that was begun keeps
// what it was split into, so a repeat after a crash is the same messages with the same keys (I4, I5).
import type { Channel } from "@parley/channels";
import { type RenderedPart, formatContent, parseContent, type Meant } from "@parley/protocol";
import type { DeliveryView, NewDelivery, PartView } from "@parley/store";

export type RenderMeant = (content: Meant, channel: Channel, lateMs: number) => readonly RenderedPart[];

export interface PlannedParts {
  /** As they will be sent. */
  readonly parts: readonly PartView[];
  /** To be journaled with the first sending; null when that was done. */
  readonly split: readonly RenderedPart[] | null;
}

/** Later than this a reply says that it is late. */
const lateAfterMs = 15 * 60_000;

/** Splits and renders once; a delivery that was begun keeps what it was split into. */
export function plannedParts(
  render: RenderMeant,
  channel: Channel,
  delivery: DeliveryView,
  nowMs: number,
): PlannedParts {
  const [first] = delivery.parts;
  if (delivery.split || first === undefined) return { parts: delivery.parts, split: null };
  const content = parseContent(first.content);
  if (content.kind !== "reply" && content.kind !== "preview") return { parts: delivery.parts, split: null };
  const rendered = render(content, channel, lateMs(delivery, nowMs));
  const parts = rendered.map((part, index) => ({
    ...first,
    ...(index === 0 ? {} : { intoReceipt: null }),
    content: formatContent({ v: 1, kind: "rendered", part }),
  }));
  return { parts, split: rendered };
}

/** 0 while it is on time. */
export function lateMs(delivery: DeliveryView, nowMs: number): number {
  const ageMs = nowMs - delivery.createdAtMs;
  return ageMs > lateAfterMs ? ageMs : 0;
}

/** The first rendered message takes the preview's place, if the delivery had one to edit. */
export function splitPart(
  delivery: DeliveryView,
  part: RenderedPart,
  index: number,
): NewDelivery["parts"][number] {
  const into = index === 0 ? delivery.parts[0]?.into : undefined;
  return {
    content: formatContent({ v: 1, kind: "rendered", part }),
    ...(into === undefined ? {} : { into }),
  };
}
