// The outbox as plain data, written from the contract and not from a driver.
import type { Change, NewDelivery, PartState, Want } from "../../src/index.ts";
import { laneBook, type ModelLease, Refusal } from "./lanes-model.ts";

interface ModelPart {
  state: PartState;
  token: number;
  attempts: number;
  resends: number;
  flagged: boolean;
}

export interface ModelDelivery {
  readonly given: NewDelivery;
  parts: ModelPart[];
  split: boolean;
  closed: boolean;
  dropped: boolean;
  done: boolean;
  /** It went before replies that waited. */
  passed: boolean;
}

const fresh = (): ModelPart => ({ state: "queued", token: 0, attempts: 0, resends: 0, flagged: false });
const isActive = (part: ModelPart): boolean => part.state === "queued" || part.state === "sending";

export function outboxModel(now: () => number) {
  const lanes = laneBook(now);
  const all = new Map<string, ModelDelivery>();
  /** Per conversation, in the order in which they are sent. */
  const order = new Map<string, ModelDelivery[]>();

  const holds = (each: ModelDelivery): boolean =>
    each.given.open === true && !each.closed && each.parts.every(({ state }) => state === "sent");
  const settle = (each: ModelDelivery): void => {
    if (!each.parts.some(isActive) && !holds(each)) each.done = true;
  };
  const undone = (lane: string) => (order.get(lane) ?? []).filter(({ done }) => !done);
  const hasWork = (lane: string): boolean => undone(lane)[0]?.parts.some(isActive) === true;

  const post = (list: readonly NewDelivery[]): void => {
    for (const given of list) {
      if (all.has(given.id)) continue;
      const made: ModelDelivery = {
        given,
        parts: given.parts.map(fresh),
        split: false,
        closed: false,
        dropped: false,
        done: false,
        passed: false,
      };
      const line = order.get(given.lane) ?? [];
      const preview = line.find(
        (each) => each.given.id === given.closes && each.given.open === true && !each.closed && !each.done,
      );
      const head = given.passes === true ? line.find(({ done, passed }) => !done && !passed) : undefined;
      if (preview === undefined && head !== undefined) {
        made.passed = true;
        let at =
          line.findLastIndex(
            ({ done, passed, given: { cause } }) => !done && !passed && cause === head.given.cause,
          ) + 1;
        while (line[at]?.passed === true) at += 1;
        line.splice(at, 0, made);
      } else if (preview === undefined) line.push(made);
      else {
        preview.closed = true;
        preview.dropped = true;
        for (const part of preview.parts) if (part.state === "queued") part.state = "failed";
        settle(preview);
        line.splice(line.indexOf(preview) + 1, 0, made);
      }
      order.set(given.lane, line);
      all.set(given.id, made);
      const lane = lanes.open(given.lane, given.pool);
      if (lane.holder === null && hasWork(given.lane)) lane.at ??= now();
    }
  };

  const apply = (draft: readonly ModelDelivery[], change: Change, token: number): void => {
    const index = draft.findIndex((each) => each.given.id === change.delivery);
    const each = draft[index];
    if (each === undefined) throw new Refusal("invalid");
    const known = each.parts[change.part];
    const isRepeat =
      change.to === "sending"
        ? known?.attempts === change.attempt && known.token === token
        : known?.state === change.to;
    if (isRepeat) return;
    if (
      draft.slice(0, index).some((before) => !before.done && (before.parts.some(isActive) || holds(before)))
    )
      throw new Refusal("invalid");
    if (each.done) throw new Refusal("invalid");
    if (change.to === "sending" && change.split !== undefined) {
      if (each.split || each.parts.some(({ attempts, state }) => attempts > 0 || state !== "queued"))
        throw new Refusal("invalid");
      each.parts = change.split.map(fresh);
      each.split = true;
    }
    const part = each.parts[change.part];
    if (part === undefined || each.parts.slice(0, change.part).some(isActive)) throw new Refusal("invalid");
    if (change.to === "sending") {
      const isResend = part.state === "sending" || part.state === "ambiguous";
      const isRisk = isResend && change.idempotent !== true;
      if (!isResend && part.state !== "queued") throw new Refusal("invalid");
      if (change.attempt !== part.attempts + 1 || (isRisk && part.flagged)) throw new Refusal("invalid");
      if (isResend && each.parts.slice(change.part + 1).some(({ attempts }) => attempts > 0))
        throw new Refusal("invalid");
      Object.assign(part, {
        state: "sending",
        token,
        attempts: change.attempt,
        resends: part.resends + (isResend ? 1 : 0),
        flagged: part.flagged || isRisk,
      });
      return;
    }
    const allowed: readonly PartState[] =
      change.to === "sent"
        ? ["sending", "ambiguous"]
        : change.to === "failed"
          ? ["queued", "sending", "ambiguous"]
          : ["sending"];
    if (!allowed.includes(part.state)) throw new Refusal("invalid");
    part.state = change.to;
  };

  const release = (lease: ModelLease, afterMs: number): void => {
    const lane = lanes.fenced(lease);
    lane.holder = null;
    lane.at = hasWork(lane.lane) ? now() + afterMs : null;
  };

  return {
    lanes,
    all,
    order,
    post,
    undone,
    take(want: Want, chosen: string | null): ModelLease | null {
      const due = lanes.due(want.pool);
      for (const lane of due) if (!hasWork(lane.lane)) lane.at = lane.holder = null;
      const left = lanes.due(want.pool);
      const lane = left.find((each) => each.lane === chosen);
      if (lane === undefined || left.some((each) => (each.at ?? 0) < (lane.at ?? 0))) {
        if (chosen === null && left.length === 0) return null;
        throw new Error(`${chosen ?? "nothing"} was taken, but due are ${JSON.stringify(left)}`);
      }
      return lanes.lease(lane, want.holder, want.leaseMs);
    },
    release,
    record(lease: ModelLease, changes: readonly Change[], releaseAfterMs?: number): boolean {
      lanes.fenced(lease);
      const line = order.get(lease.lane) ?? [];
      const draft = structuredClone(line);
      for (const change of changes) apply(draft, change, lease.token);
      draft.forEach((next, index) => {
        const each = line[index] as ModelDelivery;
        Object.assign(each, { parts: next.parts, split: next.split });
        settle(each);
      });
      if (releaseAfterMs !== undefined) release(lease, releaseAfterMs);
      return releaseAfterMs !== undefined;
    },
    drop(id: string): number {
      const each = all.get(id);
      const isTroubled = each?.parts.some(({ state }) => state !== "sent") === true;
      if (each === undefined || each.dropped || (each.done && !isTroubled)) return 0;
      each.dropped = each.closed = true;
      if (each.done) return 1;
      for (const part of each.parts) if (part.state === "queued") part.state = "failed";
      settle(each);
      const lane = lanes.get(each.given.lane);
      if (lane !== undefined && lane.holder === null)
        lane.at = hasWork(lane.lane) ? (lane.at ?? now()) : null;
      return 1;
    },
  };
}
