// One process of the kill loop: a platform that redelivers, a holder of turns, or a deliverer. It is killed
// at any instant, so all that it claims to have seen goes to a log first, in one write each. Real time:
// leases are short.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isFault, sleep, systemClock, systemIds } from "@parley/protocol";
import type { Change, DeliveryView, DeliveryBatch, Store } from "../../src/index.ts";
import { openStore } from "./open-store.ts";
import { chat, delivery, isIdle, lane, row, want, wantOut } from "../subject.ts";

const [dir = "", place = "", role = "", name = ""] = process.argv.slice(2);
const clock = systemClock();
const ids = systemIds();
const holder = `${role}-${process.pid}`;
const leaseMs = 300;

const log = (file: string, line: string): void => appendFileSync(join(dir, file), `${line}\n`);
const below = (n: number): number => Math.floor(ids.chance() * n);

/**
 * Sends events one after another; one without an acknowledgement is sent again under its id, as platforms do.
 */
async function platform(store: Store): Promise<void> {
  const acked = `acked-${name}.log`;
  const begin = existsSync(join(dir, acked))
    ? readFileSync(join(dir, acked), "utf8").split("\n").length - 1
    : 0;
  for (let n = begin; ; n += 1) {
    const peer = `${n % 5}`;
    await store.inbox.accept([
      row(`${name}-${n}`, { lane: lane(peer), conversation: chat(peer), subject: `${name}/${n}` }),
    ]);
    log(acked, `telegram:default:${name}-${n}`);
    await sleep(clock, below(4));
  }
}

async function turns(store: Store): Promise<void> {
  for (;;) {
    const turn = await store.turns.take({ ...want, holder, leaseMs, maxRows: 3 });
    if (isIdle(turn)) await sleep(clock, 5);
    else {
      await withLease(async () => {
        const at = await store.turns.checkpoint(turn, turn.log.length, {
          steps: [{ kind: "model", body: `${process.pid}` }],
        });
        const more = await store.turns.absorb(turn, at, 2);
        await sleep(clock, below(6));
        const parts = [{ content: "one" }, { content: "two" }];
        const rows = [...turn.rows, ...more].map(({ id }) => id);
        await store.turns.commit(turn, turn.id, {
          outcome: "answered",
          entries: [JSON.stringify(rows)],
          deliveries: [delivery(`${turn.id}/0`, { lane: turn.conversation, parts, cause: turn.id })],
        });
      });
    }
  }
}

async function deliveries(store: Store): Promise<void> {
  for (;;) {
    const parcel = await store.outbox.take({ ...wantOut, holder, leaseMs });
    if (isIdle(parcel)) await sleep(clock, 5);
    else {
      await withLease(async () => {
        for (const each of parcel.deliveries) await deliver(store, parcel, each);
        await store.outbox.release(parcel, { afterMs: 0, reason: "sent" });
      });
    }
  }
}

async function deliver(store: Store, parcel: DeliveryBatch, { id, parts }: DeliveryView): Promise<void> {
  for (const [part, { state, attempts, flagged }] of parts.entries()) {
    if (state !== "queued" && state !== "sending") continue;
    const settle: Change = { delivery: id, part, to: "sent", receipt: "r" };
    if (state === "sending" && flagged)
      await store.outbox.record(parcel, [{ ...settle, to: "ambiguous", reason: "twice" }]);
    else {
      await store.outbox.record(parcel, [{ delivery: id, part, to: "sending", attempt: attempts + 1 }]);
      log("sends.log", `${id} ${part}`);
      await sleep(clock, below(3));
      await store.outbox.record(parcel, [settle]);
    }
  }
}

/** A lost lease is somebody else's work now. */
async function withLease(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isFault(error, "conflict")) throw error;
  }
}

const store = await openStore(place, { clock, bootId: holder });
const roles: { readonly [role: string]: (store: Store) => Promise<void> } = { platform, turns, deliveries };
await roles[role]?.(store);
