// Plans the platform calls of a delivery: messages of an answer, or the actions that change one. The plan is
// made once and journaled with the first send, so a repeat after a crash is the same calls with the same keys
// (I4, I5). What cannot be done is refused here, with its reason, before the platform is asked.
import type { Channel } from "@parley/channels";
import { formatContent, parseContent, type Action, type Content, type OutboxAction } from "@parley/protocol";
import type { DeliveryView, NewDelivery, Outbox, PartView } from "@parley/store";
import { editedText, lateMs, type RenderMeant } from "./render.ts";
import { messagesOf, quotedId, threadOpenedBy, type SentMessage } from "./targets.ts";

/** One platform call. */
export type Planned = Extract<Content, { kind: "rendered" | "act" }>;

export interface PlannedParts {
  /** The parts as they will be sent. */
  readonly parts: readonly PartView[];
  /** The split to journal with the first `sending`; null when it is journaled already. */
  readonly split: readonly Planned[] | null;
}

export interface PlanOptions {
  readonly render: RenderMeant;
  readonly outbox: Pick<Outbox, "find">;
}

/** Plans a delivery; one that has begun keeps its plan. */
export async function plannedParts(
  options: PlanOptions,
  channel: Channel,
  delivery: DeliveryView,
  nowMs: number,
): Promise<PlannedParts | { readonly impossible: string }> {
  const [first] = delivery.parts;
  if (delivery.split || first === undefined) return { parts: delivery.parts, split: null };
  const content = parseContent(first.content);
  let split: readonly Planned[];
  switch (content.kind) {
    case "reply": {
      const replyTo = await quotedId(options.outbox, delivery.lane, content.replyTo);
      const { replyTo: _meant, inThreadOf, ...unquoted } = content;
      const answer = replyTo === undefined ? unquoted : { ...unquoted, replyTo };
      split = rendered(options.render(answer, channel, lateMs(delivery, nowMs)));
      if (inThreadOf === undefined) break;
      const thread = await threadOpenedBy(options.outbox, delivery.lane, inThreadOf);
      if (thread === undefined) return { impossible: `${inThreadOf} opened no thread` };
      split = split.map((planned) => ({ ...planned, thread }));
      break;
    }
    case "preview":
      split = rendered(options.render(content, channel, lateMs(delivery, nowMs)));
      break;
    case "action": {
      const planned = await plannedActions(options, channel, delivery, content.action);
      if ("impossible" in planned) return planned;
      split = planned;
      break;
    }
    default:
      return { parts: delivery.parts, split: null };
  }
  const parts = split.map((planned, index) => ({
    ...first,
    ...(index === 0 ? {} : { intoReceipt: null }),
    content: formatContent(planned),
  }));
  return { parts, split };
}

/** Lets the first message take the place of the preview, if the delivery edits one. */
export function splitPart(
  delivery: DeliveryView,
  content: Planned,
  index: number,
): NewDelivery["parts"][number] {
  const into = index === 0 ? delivery.parts[0]?.into : undefined;
  return { content: formatContent(content), ...(into === undefined ? {} : { into }) };
}

function rendered(parts: ReturnType<RenderMeant>): readonly Planned[] {
  return parts.map((part) => ({ v: 1, kind: "rendered", part }));
}

async function plannedActions(
  { render, outbox }: PlanOptions,
  channel: Channel,
  { lane }: DeliveryView,
  action: OutboxAction,
): Promise<readonly Planned[] | { readonly impossible: string }> {
  const can = (kind: Action["kind"]): boolean => channel.actions?.includes(kind) === true;
  // Where nothing can be edited, the channel is told what the new message replaces.
  if (!can(action.kind) && !(action.kind === "edit" && channel.act === undefined))
    return { impossible: `${channel.name} cannot do this: ${action.kind}` };
  const found = action.target === undefined ? null : await messagesOf(outbox, lane, action.target);
  if (found !== null && "gone" in found) return { impossible: found.gone };
  switch (action.kind) {
    case "edit": {
      const [first, ...rest] = found ?? [];
      if (first === undefined) return { impossible: "an edit names the message that it changes" };
      const text = editedText(action, channel, first.isFile);
      if (text === null) return { impossible: "there is nothing to see in it" };
      const surplus = can("remove") ? continuations(rest) : [];
      return [acting({ kind: "edit", messageId: first.messageId, ...text }, first), ...surplus.map(removal)];
    }
    case "remove":
      return (found ?? []).map(removal);
    case "react":
    case "pin": {
      const { target: _meant, ...rest } = action;
      return (found ?? [])
        .slice(0, 1)
        .map((message) => acting({ ...rest, messageId: message.messageId }, message));
    }
    case "createThread": {
      const { target: _meant, parts = [], silent, ...rest } = action;
      const quietly = silent === undefined ? {} : { silent };
      const inside = rendered(render({ v: 1, kind: "reply", parts, ...quietly }, channel, 0));
      const [first] = inside;
      const hung = found?.[0];
      return [
        acting(
          {
            ...rest,
            ...(hung === undefined ? {} : { messageId: hung.messageId }),
            ...(first?.kind === "rendered" ? { first: first.part } : {}),
          },
          hung,
        ),
        ...inside,
      ];
    }
  }
}

function acting(action: Action, at?: SentMessage): Planned {
  return { v: 1, kind: "act", action, ...(at?.thread === undefined ? {} : { thread: at.thread }) };
}

function removal(message: SentMessage): Planned {
  return acting({ kind: "remove", messageId: message.messageId }, message);
}

/** The messages that go on with the text of the first; files of its album stand between them. */
function continuations(rest: readonly SentMessage[]): readonly SentMessage[] {
  const next = rest.findIndex(({ isFile, continues }) => !isFile && !continues);
  return (next === -1 ? rest : rest.slice(0, next)).filter(({ continues }) => continues);
}
