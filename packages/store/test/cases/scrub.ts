// Contract of showing everything that is stored to a judge: what it sees, and what is left of what it removes
// or rewrites.
import { expect } from "vitest";
import type { Store, StoredRecord, Verdict } from "../../src/index.ts";
import {
  chat,
  delivery,
  lane,
  row,
  type StoreCase,
  takeDeliveryBatch,
  takeTurn,
  want,
  wantOut,
} from "../subject.ts";

const theirs = "zanzibar4711";

/** Two people who were answered, in private and in a group, with everything that is kept of it. */
async function lived(store: Store): Promise<void> {
  const group = { lane: lane("group"), conversation: chat("group") };
  await store.inbox.accept([
    row("zed", { lane: lane(theirs), conversation: chat(theirs), payload: `{"text":"${theirs} speaks"}` }),
  ]);
  const turn = await takeTurn(store);
  await store.turns.checkpoint(turn, 0, { steps: [{ kind: "model", body: `{"said":"${theirs}"}` }] });
  await store.turns.commit(turn, turn.id, {
    outcome: "answered",
    entries: [`{"said":"${theirs}"}`, `{"said":"hello"}`],
    deliveries: [
      delivery("to-zed", { lane: chat(theirs), cause: turn.id, parts: [{ content: `to ${theirs}` }] }),
    ],
  });
  const batch = await takeDeliveryBatch(store);
  await store.outbox.record(batch, [
    { delivery: "to-zed", part: 0, to: "sending", attempt: 1 },
    { delivery: "to-zed", part: 0, to: "failed", reason: `nobody takes ${theirs}` },
  ]);
  await store.outbox.release(batch, { afterMs: 0, reason: "failed" });
  await store.inbox.accept([
    row("olga", { ...group, payload: `{"text":"${theirs} said tea"}` }),
    row("heard", { ...group, as: { kind: "context", keep: 5 }, payload: `{"text":"context of ${theirs}"}` }),
  ]);
  const other = await takeTurn(store);
  await store.turns.commit(other, other.id, {
    outcome: "answered",
    entries: [`{"said":"tea for ${theirs}"}`, `{"said":"tea"}`, `{"said":"words of ${theirs}"}`],
    deliveries: [delivery("to-all", { lane: chat("group"), cause: other.id, parts: [{ content: "tea" }] })],
  });
  await store.sessions.patch(lane("group"), { note: theirs, model: "m", list: [] });
  await store.sessions.patch(lane(theirs), { note: "theirs" });
  await store.cells.put(`paired:${theirs}`, "x", {});
  await store.cells.put(`grant:${theirs}`, "x", { ttlMs: 1e9 });
  await store.cells.put("list", `a ${theirs} b`, {});
  await store.cells.put("plain", "p", {});
  await store.events.append(`web:${theirs}`, `event-${theirs}`, "{}");
  await store.events.append("web:olga", "event-olga", `{"text":"of ${theirs}"}`);
}

/** Theirs goes; of the others' their name goes. */
function judge(record: StoredRecord): Verdict {
  const { kind, id, lane: at, conversation, turn, texts } = record;
  if ([id, at, conversation, turn].some((each) => each.includes(theirs) || each.endsWith(":zed")))
    return "remove";
  if (kind === "row" && id.endsWith(":heard")) return "remove";
  if (texts["body"]?.includes("words of") === true) return "remove";
  if (kind === "session" && texts["fields"]?.includes(theirs) === true) {
    const { note: _, ...rest } = JSON.parse(texts["fields"]) as { readonly [name: string]: unknown };
    return { fields: JSON.stringify(rest) };
  }
  const after = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, text.replaceAll(theirs, "[removed]")]),
  );
  return Object.entries(after).some(([name, text]) => text !== texts[name]) ? after : "keep";
}

async function all(store: Store): Promise<readonly StoredRecord[]> {
  const seen: StoredRecord[] = [];
  await store.scrub?.((record) => {
    seen.push(record);
    return "keep";
  }, false);
  return seen;
}

const shown = ({ kind, id, lane: at, open, texts }: StoredRecord): string =>
  [
    kind,
    kind === "lane" ? at : id.replace(/#\d+$/, "#"),
    open ? "open" : "",
    ...Object.keys(texts).toSorted(),
  ].join(" ");

export const scrubCases: readonly StoreCase[] = [
  {
    title: "a judge sees each record once with its texts, and looking changes nothing",
    async run({ store }) {
      await lived(store);
      const seen = await all(store);
      expect(seen.map(shown).toSorted()).toEqual(
        [
          `cell grant:${theirs}  value`,
          "cell list  value",
          `cell paired:${theirs}  value`,
          "cell plain  value",
          "delivery to-all open",
          "delivery to-zed ",
          `entry ${lane("group")}#  body`,
          `entry ${lane("group")}#  body`,
          `entry ${lane("group")}#  body`,
          `entry ${lane(theirs)}#  body`,
          `entry ${lane(theirs)}#  body`,
          `event event-${theirs}  body`,
          "event event-olga  body",
          `lane ${chat("group")} `,
          `lane ${chat(theirs)} `,
          `lane ${lane("group")} `,
          `lane ${lane(theirs)} `,
          "part to-all open content",
          "part to-zed  content reason",
          "row telegram:default:heard  payload",
          "row telegram:default:olga  payload",
          "row telegram:default:zed  payload",
          `session ${lane("group")}  fields`,
          `session ${lane(theirs)}  fields`,
          `turn ${lane("group")}# `,
          `turn ${lane(theirs)}# `,
        ].toSorted(),
      );
      const counted = await store.scrub?.(judge, false);
      expect(await all(store)).toEqual(seen);
      expect(counted).toEqual({ removed: 14, rewritten: 5 });
    },
  },
  {
    title: "a judge is told which rows and turns are at work, and which have ended",
    async run({ store }) {
      await store.inbox.accept([row("ended")]);
      const first = await takeTurn(store);
      await store.turns.commit(first, first.id, { outcome: "answered", entries: [] });
      await store.inbox.accept([row("claimed"), row("heard", { as: { kind: "context", keep: 5 } })]);
      await takeTurn(store);
      await store.inbox.accept([row("waiting")]);
      const seen = (await all(store)).filter(({ kind }) => kind === "row" || kind === "turn");
      expect(seen.map(({ kind, id, open }) => `${kind} ${id.split(":").at(-1)} ${open}`).toSorted()).toEqual([
        "row claimed true",
        "row ended false",
        "row heard false",
        "row waiting true",
        expect.stringMatching(/^turn a#\d+ false$/),
        expect.stringMatching(/^turn a#\d+ true$/),
      ]);
    },
  },
  {
    title: "what a judge removes and rewrites is gone from every place, and the others go on",
    async run({ store }) {
      await lived(store);
      expect(await store.scrub?.(judge, true)).toEqual({ removed: 14, rewritten: 5 });
      expect(JSON.stringify(await all(store))).not.toContain(theirs);
      expect(await store.scrub?.(judge, true)).toEqual({ removed: 0, rewritten: 0 });

      // Whoever remembers the transcript sees that it was changed.
      expect((await store.sessions.open(lane("group"))).fields).toEqual({
        model: "m",
        list: [],
        rewritten: 2,
      });
      const said = await store.sessions.transcript(lane("group"), { limit: 9 });
      expect(said.map(({ seq, body }) => [seq, body])).toEqual([
        [1, '{"said":"tea for [removed]"}'],
        [2, '{"said":"tea"}'],
      ]);
      expect((await store.cells.get("list"))?.value).toBe("a [removed] b");
      expect(await store.cells.list("", 9)).toHaveLength(2);
      expect((await store.events.after("web:olga", 0, 9)).events).toMatchObject([
        { body: '{"text":"of [removed]"}' },
      ]);
      expect(await store.troubled()).toEqual({ rows: 0, deliveries: 0 });

      const batch = await takeDeliveryBatch(store);
      await store.outbox.record(batch, [
        { delivery: "to-all", part: 0, to: "sending", attempt: 1 },
        { delivery: "to-all", part: 0, to: "sent", receipt: "r" },
      ]);
      // Who comes again is a stranger, under the same keys.
      await store.inbox.accept([row("zed", { lane: lane(theirs), conversation: chat(theirs) })]);
      const turn = await takeTurn(store);
      expect(turn.rows.map(({ id }) => id)).toEqual(["telegram:default:zed"]);
      expect(
        await store.turns.commit(turn, turn.id, { outcome: "answered", entries: ['"new"'] }),
      ).toBeDefined();
      expect(await store.sessions.transcript(lane(theirs), { limit: 9 })).toMatchObject([
        { seq: 1, body: '"new"' },
      ]);
      while (await store.sweep(100));
    },
  },
  {
    title:
      "a judge sees each of more than some hundreds of records once, also while it removes every other one",
    async run({ store }) {
      const many = Array.from({ length: 401 }, (_, n) => n);
      const as = { kind: "closed", outcome: "refused", reason: "x" } as const;
      await store.inbox.accept(many.map((n) => row(`r-${n}`, { as })));
      await store.outbox.post(many.map((n) => delivery(`d-${n}`, { lane: chat(`${n}`) })));
      for (const n of many) await store.cells.put(`c-${n}`, "x", {});
      for (const n of many) await store.events.append("web:x", `e-${n}`, "x");
      const numbered = /-(\d+)$/;
      const seen = new Map<string, number>();
      const half = (record: StoredRecord): Verdict => {
        const number = numbered.exec(record.id)?.[1];
        if (number === undefined || record.kind === "part") return "keep";
        seen.set(record.kind, (seen.get(record.kind) ?? 0) + 1);
        return Number(number) % 2 === 1 ? "remove" : "keep";
      };
      expect(await store.scrub?.(half, true)).toEqual({ removed: 4 * 200, rewritten: 0 });
      expect(Object.fromEntries(seen)).toEqual({ row: 401, delivery: 401, cell: 401, event: 401 });
      seen.clear();
      expect(await store.scrub?.(half, true)).toEqual({ removed: 0, rewritten: 0 });
      expect(Object.fromEntries(seen)).toEqual({ row: 201, delivery: 201, cell: 201, event: 201 });
      expect((await store.inbox.find({ limit: 999 })).map(({ id }) => id.split("-")[1])).toEqual(
        many
          .filter((n) => n % 2 === 0)
          .map(String)
          .toReversed(),
      );
    },
  },
  {
    title:
      "of an open turn's log a step is rewritten, another removed, and the turn goes on behind what is left",
    async run({ store }) {
      await store.inbox.accept([row("1"), row("b", { lane: lane("b") })]);
      const turn = await takeTurn(store);
      const other = await takeTurn(store);
      const step = (body: string) => ({ kind: "model" as const, body });
      await store.turns.checkpoint(turn, 0, { steps: [step("plain"), step(theirs), step("goes")] });
      await store.turns.checkpoint(other, 0, { steps: [step(`of ${theirs}`)] });
      const steps = (await all(store)).filter(({ kind }) => kind === "step");
      const said = (of: typeof turn, body: string): StoredRecord => {
        return {
          kind: "step",
          id: of.id,
          lane: of.lane,
          conversation: "",
          turn: of.id,
          open: false,
          texts: { body },
        };
      };
      const byBody = (a: StoredRecord, b: StoredRecord): number =>
        (a.texts["body"] ?? "") < (b.texts["body"] ?? "") ? -1 : 1;
      expect(steps.toSorted(byBody)).toEqual([
        said(turn, "goes"),
        said(other, `of ${theirs}`),
        said(turn, "plain"),
        said(turn, theirs),
      ]);
      const verdict = ({ kind, texts: { body = "" } }: StoredRecord): Verdict =>
        kind !== "step" || body === "plain"
          ? "keep"
          : body === "goes"
            ? "remove"
            : { body: body.replace(theirs, "[gone]") };
      expect(await store.scrub?.(verdict, false)).toEqual({ removed: 1, rewritten: 2 });
      expect(await store.scrub?.(verdict, true)).toMatchObject({ removed: 1 });
      expect((await store.turns.find(turn.id))?.log).toEqual([step("plain"), step("[gone]")]);
      expect((await store.turns.find(other.id))?.log).toEqual([step("of [gone]")]);
      expect(await store.turns.checkpoint(turn, 2, { steps: [step("next")] })).toBe(3);
    },
  },
  {
    title: "a lane from which a judge removed all that waited is idle, and the next one in its pool is taken",
    async run({ store, clock }) {
      await store.inbox.accept([row("zed")]);
      await store.outbox.post([delivery("to-zed")]);
      clock.advance(1);
      await store.inbox.accept([row("b", { lane: lane("b") })]);
      await store.outbox.post([delivery("b", { lane: chat("b") })]);
      const gone = ({ kind, id }: StoredRecord): Verdict =>
        (kind === "row" || kind === "delivery" || kind === "part") && id.endsWith("zed") ? "remove" : "keep";
      await store.scrub?.(gone, true);
      const [turn, batch] = [await takeTurn(store), await takeDeliveryBatch(store)];
      expect([turn.lane, batch.lane]).toEqual([lane("b"), chat("b")]);
      const until = clock.now() + want.leaseMs;
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: until });
      expect(await store.outbox.take(wantOut)).toEqual({ idle: true, nextAtMs: until });
      for (const lanes of [await store.turns.list(undefined, 9), await store.outbox.list(undefined, 9)])
        expect(lanes.map(({ atMs, holder, waiting }) => [atMs, holder, waiting])).toEqual([
          [until, "w1", lanes[0]?.waiting],
          [null, null, 0],
        ]);
      // It is a lane like any other.
      await store.inbox.accept([row("again")]);
      expect((await takeTurn(store)).lane).toBe(lane("a"));
    },
  },
];
