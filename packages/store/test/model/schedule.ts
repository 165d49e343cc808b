// A random schedule of verbs, run on a driver and on the reference at once and compared after each; then
// everything is drained and the invariants I2, I3, I4, I5 and I11 are checked. Leases that were lost stay in
// play: stale holders write on purpose.
import fc from "fast-check";
import { isDeepStrictEqual } from "node:util";
import { Fault } from "@parley/protocol";
import type { Change, DeliveryView, Lease, NewDelivery, NewRow, Park, Store, Turn } from "../../src/index.ts";
import { chat, delivery, isIdle, lane, row, want, wantOut } from "../subject.ts";
import type { TestClock } from "../clock.ts";
import { checkDrained, drain } from "./drain.ts";
import { type ModelLease, Refusal } from "./lanes-model.ts";
import { outboxModel } from "./outbox-model.ts";
import { turnsModel } from "./turns-model.ts";

const verbs = [
  "accept",
  "accept",
  "take",
  "take",
  "take",
  "extend",
  "release",
  "absorb",
  "lived",
  "split",
  "checkpoint",
  "park",
  "ticket",
  "stop",
  "commit",
  "commit",
  "reset",
  "post",
  "out.take",
  "out.take",
  "out.record",
  "out.record",
  "out.record",
  "out.release",
  "out.drop",
  "advance",
] as const;

/** A verb and the numbers that its arguments are drawn from. */
export interface Move {
  readonly verb: (typeof verbs)[number];
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

const small = fc.nat(1000);
export const schedules: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.record({ verb: fc.constantFrom(...verbs), a: small, b: small, c: small }),
  { minLength: 20, maxLength: 120 },
);

const lanes = [lane("a"), lane("b"), lane("c")] as const;
const chats = [chat("a"), chat("b")] as const;
const authorities = ["owner", "guest"] as const;

function pick<T>(list: readonly T[], n: number): T {
  return list[n % list.length] as T;
}

interface HeldTurn {
  readonly real: Turn;
  readonly model: ModelLease;
  readonly id: string;
}

interface HeldParcel {
  readonly real: Lease;
  readonly model: ModelLease;
}

export async function runSchedule(moves: readonly Move[], store: Store, clock: TestClock): Promise<void> {
  const outbox = outboxModel(() => clock.now());
  const model = turnsModel(() => clock.now(), outbox.post);
  const names = new Map<string, string>();
  const turns: HeldTurn[] = [];
  const parcels: HeldParcel[] = [];
  const grown = new Map<string, readonly string[]>();
  let made = 0;

  const newRow = ({ a, b, c }: Move): NewRow => {
    const as =
      c % 7 === 0
        ? ({ kind: "context", keep: 2 } as const)
        : c % 7 === 1
          ? ({ kind: "edit" } as const)
          : c % 7 === 2
            ? ({ kind: "closed", outcome: "refused", reason: "x" } as const)
            : ({
                kind: "work",
                ...(c % 5 === 0 ? { afterMs: 400 } : {}),
                ...(c % 11 === 0 ? { barrier: true } : {}),
              } as const);
    const id = b % 6 === 0 && made > 0 ? `r${a % made}` : `r${made++}`;
    const subject = b % 3 === 0 || c % 7 === 1 ? { subject: `s${a % 4}`, version: c % 4 } : {};
    const pool = b % 13 === 0 ? "cron" : "main";
    return row(id, {
      lane: pick(lanes, a),
      conversation: pick(chats, b >> 1),
      authority: pick(authorities, c >> 2),
      pool,
      as,
      ...subject,
    });
  };
  const newDeliveries = ({ a, b, c }: Move): readonly NewDelivery[] => {
    const open = c % 4 === 0;
    const previews = [...outbox.all.values()].filter(
      ({ given, done }) => given.open === true && (!done || b % 4 === 0),
    );
    const closes = c % 4 === 1 && previews.length > 0 ? { closes: pick(previews, b).given.id } : {};
    const target =
      closes.closes === undefined
        ? pick(chats, a)
        : (outbox.all.get(closes.closes)?.given.lane ?? pick(chats, a));
    const parts = open || b % 2 === 0 ? [{ content: "x" }] : [{ content: "x" }, { content: "y" }];
    const passes = c % 4 === 2 ? { passes: true } : {};
    const id = `d${b % 5 === 0 && made > 0 ? a % made : made++}`;
    return [
      delivery(id, {
        lane: target,
        cause: `t${(b >> 1) % 3}`,
        parts,
        ...(open ? { open } : {}),
        ...closes,
        ...passes,
      }),
    ];
  };

  /** The reference's answer against the driver's; refusals are compared by their code. */
  const same = async (
    verb: string,
    real: () => Promise<unknown>,
    reference: () => unknown,
  ): Promise<void> => {
    const [found, expected] = [await outcome(real), await outcome(async () => reference())];
    if (!isDeepStrictEqual(found, expected))
      throw new Error(`${verb}: the driver answered ${show(found)}, the reference ${show(expected)}`);
  };

  const take = async (move: Move): Promise<void> => {
    const asked = {
      ...want,
      pool: move.c % 4 === 0 ? "cron" : "main",
      holder: `w${move.a % 3}`,
      maxRows: 1 + (move.b % 4),
    };
    const taken = await store.turns.take(asked);
    const name = `t${names.size}`;
    const expected = model.take(asked, isIdle(taken) ? null : taken.lane, name);
    if (expected === null || isIdle(taken)) {
      if (isIdle(taken) && taken.nextAtMs !== model.lanes.nextAt(asked.pool))
        throw new Error(`take: idle until ${taken.nextAtMs}`);
      return;
    }
    if (!names.has(taken.id)) names.set(taken.id, expected.turn.id);
    const { turn } = expected;
    const view = {
      id: names.get(taken.id),
      attempt: taken.attempt,
      epoch: taken.epoch,
      rows: taken.rows.map(({ id, payload, version }) => [id, payload, version]),
      log: taken.log.map(({ kind, body }) => (kind === "absorbed" ? `absorbed ${body}` : body)),
      tickets: taken.tickets,
      stop: taken.stop,
    };
    const { id, attempt, epoch, log, stop } = turn;
    await same(
      "take",
      async () => view,
      () => ({
        id,
        attempt,
        epoch,
        rows: turn.rows.map((each) => [each.row.id, each.payload, each.version]),
        log,
        tickets: turn.park?.tickets ?? [],
        stop,
      }),
    );
    turns.push({ real: taken, model: expected.lease, id: taken.id });
  };

  const commit = (held: HeldTurn, move: Move): Promise<void> => {
    const name = names.get(held.id) ?? "";
    const what = {
      outcome: "answered" as const,
      entries: [`"${name}"`],
      deliveries:
        move.c % 2 === 0 ? [delivery(`${name}/0`, { lane: held.real.conversation, cause: held.id })] : [],
      rows: move.c % 9 === 0 ? [row(`child-${name}`, { lane: pick(lanes, move.b) })] : [],
    };
    return same(
      "commit",
      async () => (await store.turns.commit(held.real, held.id, what)).seq,
      () => model.commit(held.model, name, what),
    );
  };

  const change = (held: HeldParcel, { a, b, c }: Move): readonly Change[] => {
    const line = outbox.undone(held.model.lane);
    const each = a % 5 === 0 ? pick([...outbox.all.values()], b) : (line[a % 7 === 0 ? 1 : 0] ?? line[0]);
    if (each === undefined) return [];
    const wanted = each.parts.findIndex(({ state }) => state === "queued" || state === "sending");
    const n = c % 6 === 0 ? c % 3 : Math.max(0, wanted);
    const part = each.parts[n];
    const at = { delivery: each.given.id, part: n };
    const begin: Change = {
      ...at,
      to: "sending",
      attempt: (part?.attempts ?? 0) + (b % 8 === 0 ? 2 : 1),
      idempotent: c % 3 === 0,
      ...(b % 4 === 1 ? { split: [{ content: "s" }, { content: "t" }] } : {}),
    };
    if (part?.state !== "sending" || b % 6 === 0) return [begin];
    if (c % 5 < 3) return [{ ...at, to: "sent", receipt: "r" }];
    return [{ ...at, to: pick(["queued", "failed", "ambiguous"] as const, c), reason: "x" }];
  };

  const run = async (move: Move): Promise<void> => {
    const { verb, a, b, c } = move;
    const held = turns.length === 0 ? null : b % 3 === 0 ? pick(turns, a) : (turns.at(-1) ?? null);
    const parcel = parcels.length === 0 ? null : b % 4 === 0 ? pick(parcels, a) : (parcels.at(-1) ?? null);
    const length = model.turns.get(names.get(held?.id ?? "") ?? "")?.log.length ?? 0;
    switch (verb) {
      case "accept": {
        const list = [newRow(move), ...(b % 2 === 0 ? [newRow({ ...move, a: b, b: c, c: a })] : [])];
        const real = async () =>
          (await store.inbox.accept(list)).map(({ id, verdict, waiting }) => ({ id, verdict, waiting }));
        return same(verb, real, () => model.accept(list));
      }
      case "ticket": {
        const list = [
          row(`k${made++}`, {
            lane: pick(lanes, a),
            conversation: pick(chats, b),
            authority: "guest",
            subject: `ticket:${c % 3}.${a % 5}`,
            as: { kind: "work", ticket: `${c % 3}` },
          }),
        ];
        const real = async () =>
          (await store.inbox.accept(list)).map(({ id, verdict, waiting }) => ({ id, verdict, waiting }));
        return same(verb, real, () => model.accept(list));
      }
      case "take":
        return take(move);
      case "stop": {
        const rows = pick([undefined, "all", { keepNewest: 1 }] as const, c);
        const what = {
          reason: "stop",
          ...(b % 2 === 0 ? { turn: "open" } : {}),
          ...(rows === undefined ? {} : { rows }),
        };
        const real = async () => {
          const { turn, rows: ended } = await store.inbox.stop(pick(lanes, a), what);
          return { turn: turn === null ? null : names.get(turn), rows: ended };
        };
        return same(verb, real, () => model.stop(pick(lanes, a), what));
      }
      case "reset":
        await store.sessions.open(pick(lanes, a));
        await store.sessions.reset(pick(lanes, a));
        return model.reset(pick(lanes, a));
      case "post": {
        const list = newDeliveries(move);
        return same(
          verb,
          () => store.outbox.post(list),
          () => outbox.post(list),
        );
      }
      case "out.take": {
        const taken = await store.outbox.take({ ...wantOut, holder: `s${a % 2}` });
        const lease = outbox.take({ ...wantOut, holder: `s${a % 2}` }, isIdle(taken) ? null : taken.lane);
        if (lease === null || isIdle(taken)) return;
        await same(
          verb,
          async () => taken.deliveries.map(({ id }) => id),
          () =>
            outbox
              .undone(lease.lane)
              .slice(0, 20)
              .map(({ given }) => given.id),
        );
        parcels.push({ real: taken, model: lease });
        return;
      }
      case "out.drop": {
        const each = [...outbox.all.values()][a % Math.max(1, outbox.all.size)];
        if (each === undefined || c % 3 > 0) return;
        return same(
          verb,
          () => store.outbox.drop([each.given.id], "x"),
          () => outbox.drop(each.given.id),
        );
      }
      case "advance":
        return clock.advance(pick([1, 200, 700, 31_000], a));
    }
    if (verb.startsWith("out.")) {
      if (parcel === null) return;
      if (verb === "out.release")
        return same(
          verb,
          () => store.outbox.release(parcel.real, { afterMs: c, reason: "x" }),
          () => outbox.release(parcel.model, c),
        );
      const changes = change(parcel, move);
      const gives = (a + b) % 4 === 0;
      return same(
        verb,
        () => store.outbox.record(parcel.real, changes, gives ? { afterMs: c, reason: "x" } : undefined),
        () => outbox.record(parcel.model, changes, gives ? c : undefined),
      );
    }
    if (held === null) return;
    const { real, model: lease } = held;
    switch (verb) {
      case "extend":
        return same(
          verb,
          () => store.turns.extend(real, 20_000 + c),
          () => model.extend(lease, 20_000 + c),
        );
      case "release":
        return same(
          verb,
          () => store.turns.release(real, { afterMs: c, reason: "x", refund: b % 2 === 0 }),
          () => model.release(lease, { afterMs: c, reason: "x", refund: b % 2 === 0 }),
        );
      case "absorb":
        return same(
          verb,
          async () => (await store.turns.absorb(real, Math.max(0, length - (c % 3)), 3)).map(({ id }) => id),
          () => model.absorb(lease, Math.max(0, length - (c % 3)), 3),
        );
      case "lived":
        return same(
          verb,
          () => store.turns.lived(real),
          () => model.lived(lease),
        );
      case "split":
        return same(
          verb,
          async () => (await store.turns.split(real)).rows.map(({ id }) => id),
          () => model.split(lease),
        );
      case "checkpoint": {
        const steps = [{ kind: "model" as const, body: `"${c}"` }];
        const deliveries = c % 3 === 0 ? newDeliveries(move) : [];
        const rows = c % 5 === 0 ? [row(`child-${c}`, { lane: pick(lanes, b) })] : [];
        const at = c % 4 === 0 ? Math.max(0, length - 1) : length;
        return same(
          verb,
          () => store.turns.checkpoint(real, at, { steps, deliveries, rows }),
          () =>
            model.checkpoint(
              lease,
              at,
              steps.map(({ body }) => body),
              deliveries,
              rows,
            ),
        );
      }
      case "park": {
        const how: Park = {
          tickets: [`${c % 3}`],
          wake: b % 2 === 0 ? "any" : "answer",
          untilMs: clock.now() + 5000,
        };
        return same(
          verb,
          () => store.turns.park(real, how),
          () => model.park(lease, how),
        );
      }
      case "commit":
        return commit(held, move);
    }
  };

  /** Everything that can be read, in the terms of the contract. */
  const compare = async (verb: string): Promise<void> => {
    const rows = await store.inbox.find({ limit: 1000 });
    await same(
      `rows after ${verb}`,
      async () =>
        rows
          .map((each) => [
            each.id,
            each.state,
            each.outcome,
            names.get(each.turn ?? "") ?? null,
            each.payload,
            each.version,
          ])
          .toReversed(),
      () =>
        model.rows.map((each) => [
          each.row.id,
          each.state,
          each.outcome,
          each.turn,
          each.payload,
          each.version,
        ]),
    );
    const views = await store.turns.list(undefined, 100);
    await same(
      `lanes after ${verb}`,
      async () =>
        views
          .filter(({ atMs }) => atMs !== null)
          .map(({ lane: name, pool, atMs, holder, waiting }) => ({ name, pool, atMs, holder, waiting }))
          .toSorted(byName),
      () =>
        model.lanes
          .all()
          .filter(({ at }) => at !== null)
          .map(({ lane: name, pool, at: atMs, holder }) => ({
            name,
            pool,
            atMs,
            holder,
            waiting: model.waiting(name).length,
          }))
          .toSorted(byName),
    );
    await same(
      `deliveries after ${verb}`,
      async () => (await store.outbox.find({ limit: 1000 })).toReversed().map(deliveryShape),
      () =>
        [...outbox.all.values()].map((each) => ({
          id: each.given.id,
          done: each.done,
          split: each.split,
          parts: each.parts.map(({ state, attempts, resends, flagged }) => [
            state,
            attempts,
            resends,
            flagged,
          ]),
        })),
    );
    for (const key of lanes) await compareTranscript(key);
  };

  /** I11: the transcript only grows. */
  const compareTranscript = async (key: (typeof lanes)[number]): Promise<void> => {
    const epochs = model.sessions.get(key)?.epoch ?? 0;
    const entries: string[] = [];
    for (let epoch = 1; epoch <= epochs; epoch += 1) {
      for (const each of await store.sessions.transcript(key, { epoch, limit: 1000 }))
        entries[each.seq - 1] = `${each.epoch} ${names.get(each.turn)} ${each.body}`;
    }
    const before = grown.get(key) ?? [];
    if (!isDeepStrictEqual(entries.slice(0, before.length), before))
      throw new Error(`the transcript of ${key} changed: ${show(before)} -> ${show(entries)}`);
    grown.set(key, entries);
    await same(
      "transcript",
      async () => entries,
      () =>
        (model.sessions.get(key)?.entries ?? []).map(({ epoch, turn, body }) => `${epoch} ${turn} ${body}`),
    );
  };

  for (const move of moves) {
    await run(move);
    await compare(move.verb);
  }
  await drain(store, clock);
  await checkDrained(store, lanes);
}

async function outcome(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return { answer: (await run()) ?? null };
  } catch (error) {
    if (error instanceof Fault || error instanceof Refusal) return { refused: error.code };
    throw error;
  }
}

function deliveryShape({ id, done, split, parts }: DeliveryView) {
  return {
    id,
    done,
    split,
    parts: parts.map(({ state, attempts, resends, flagged }) => [state, attempts, resends, flagged]),
  };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
