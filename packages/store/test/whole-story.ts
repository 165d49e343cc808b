// A story that calls every verb of a store, and after each what it answered and what became of each stored
// record: a field in the wrong place, a time from the wrong clock, an index that keeps what left are lines
// that differ. Two people, accounts, pools and lanes stand beside each other throughout.
import type { Change, Store, StoredRecord, Verdict } from "../src/index.ts";
import type { TestClock } from "./clock.ts";
import {
  account,
  chat,
  delivery,
  isIdle,
  lane,
  row,
  takeDeliveryBatch,
  takeTurn,
  want,
  wantOut,
} from "./subject.ts";

/** Each record that is stored, by its name, with its fields. */
export type Stored = ReadonlyMap<string, ReadonlyMap<string, string>>;

export interface Told {
  readonly store: Store;
  readonly clock: TestClock;
  /** Reads everything that is stored, beside the store's own verbs. */
  readonly stored: () => Promise<Stored>;
}

const dayMs = 86_400_000;

/** The same text for the same value, in whatever order its fields came. */
export function steady(value: unknown): string {
  return (
    JSON.stringify(value, (_name, each: unknown) =>
      typeof each === "object" && each !== null && !Array.isArray(each)
        ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : each,
    ) ?? "nothing"
  );
}

/** A text as JSON is shown as what it holds. */
export function fieldsOf(value: unknown, path: string, into: Map<string, string>): Map<string, string> {
  let held = value;
  if (typeof value === "string" && /^[[{"]/.test(value))
    try {
      held = JSON.parse(value);
    } catch {
      // It only begins like one.
    }
  if (typeof held !== "object" || held === null || Object.keys(held).length === 0)
    return into.set(path, typeof held === "string" ? held : steady(held));
  for (const [name, each] of Object.entries(held))
    fieldsOf(each, path === "" ? name : `${path}.${name}`, into);
  return into;
}

const line = (fields: ReadonlyMap<string, string>): string =>
  [...fields]
    .map(([name, value]) => `${name}=${value}`)
    .toSorted()
    .join("  ");

function differences(before: Stored, after: Stored): readonly string[] {
  const lines: string[] = [];
  for (const [name, old] of before) {
    const now = after.get(name);
    if (now === undefined) lines.push(`  - ${name}`);
    else {
      const moved = [...new Set([...old.keys(), ...now.keys()])]
        .filter((field) => old.get(field) !== now.get(field))
        .toSorted()
        .map((field) => `${field}: ${old.get(field) ?? "nothing"} -> ${now.get(field) ?? "nothing"}`);
      if (moved.length > 0) lines.push(`  ~ ${name}  ${moved.join("  ")}`);
    }
  }
  for (const [name, fields] of after) if (!before.has(name)) lines.push(`  + ${name}  ${line(fields)}`);
  return lines.toSorted();
}

/**
 * What the verbs answered, which is the same of every driver, and what they left. Times count from the
 * beginning of the story.
 */
export async function wholeStory({
  store,
  clock,
  stored,
}: Told): Promise<{ readonly answers: string; readonly left: string }> {
  const startMs = clock.now();
  const answers: string[] = [];
  const left: string[] = [];
  let before = await stored();
  left.push("at the beginning", ...differences(new Map(), before));
  const heard: string[] = [];
  store.onReady((...what) => void heard.push(what.join(" ")));

  /** Waits a little longer before each verb, so that no two have the same time. */
  let waitMs = 0;
  async function told<T>(words: string, ask: () => Promise<T>): Promise<T> {
    clock.advance((waitMs += 1));
    const answer = await ask().then(
      (value) => ({ value }),
      (error: { code: string; message: string }) => ({ refused: `${error.code}: ${error.message}` }),
    );
    const after = await stored();
    const shown = "value" in answer ? steady(answer.value) : answer.refused;
    answers.push(`${words}: ${shown}`);
    left.push(words, ...differences(before, after));
    if (heard.length > 0) left.push(`  woken ${[...new Set(heard.splice(0))].join(", ")}`);
    before = after;
    return ("value" in answer ? answer.value : undefined) as T;
  }

  const subject = (name: string, n: number): string => `telegram:default/${chat(name)}/${n}`;
  const far = { lane: lane("far"), conversation: "discord:other:channel:9" as never, pool: "cron" };
  const { inbox, turns, outbox, sessions, cells, events } = store;

  const begin = (id: string, part = 0, attempt = 1, more: object = {}): Change => {
    return { delivery: id, part, to: "sending", attempt, ...more };
  };
  const sent = (id: string, part = 0): Change => {
    return { delivery: id, part, to: "sent", receipt: `{"messageId":"${id}.${part}"}` };
  };

  await told("accepts work, a note and an edit of one person, late work of another, and two strangers", () =>
    inbox.accept([
      row("1", { subject: subject("a", 1), version: 1 }),
      row("2", { as: { kind: "context", keep: 2 }, authority: "other" }),
      row("3", { subject: subject("a", 1), version: 4, as: { kind: "edit" }, payload: '{"text":"edited"}' }),
      row("4", {
        ...far,
        subject: "s/4",
        as: { kind: "work", afterMs: 800, ticket: "t4" },
        authority: "owner",
      }),
      row("5", { as: { kind: "closed", outcome: "refused", reason: "not paired" } }),
      row("6", { ...far, as: { kind: "closed", outcome: "refused", reason: "a stranger" } }),
      row("7", { lane: lane("c"), as: { kind: "work", barrier: true } }),
    ]),
  );
  await told("more notes than are kept", () =>
    inbox.accept(["9", "10"].map((id) => row(id, { as: { kind: "context", keep: 2 } }))),
  );
  await told("work behind it, and an edit that is too late", () =>
    inbox.accept([
      row("11"),
      row("12", { subject: subject("a", 1), version: 2, as: { kind: "edit" } }),
      row("13", { as: { kind: "closed", outcome: "dead", reason: "cannot be read" } }),
    ]),
  );
  const first = await told("w1 takes a turn", () => takeTurn(store, { maxRows: 1 }));
  const barrier = await told("w2 takes the barrier", () => takeTurn(store, { holder: "w2", leaseMs: 100 }));
  await told("nobody gets more", () => turns.take({ ...want, holder: "w3" }));
  await told("the barrier ends", () =>
    turns.commit(barrier, barrier.id, {
      outcome: "commanded",
      entries: [],
      patch: { list: [], model: "m0" },
    }),
  );
  await told("w1 keeps it", () => turns.extend(first, 5_000));
  const texts = { kind: "model", body: '{"said":"a"}' } as const;
  await told("w1 writes steps with a preview, a row for another lane and two cells", () =>
    turns.checkpoint(first, 0, {
      steps: [texts, { kind: "preview", body: "{}" }],
      deliveries: [
        delivery("p", { open: true, cause: first.id, parts: [{ content: "so far" }] }),
        delivery("q", { pool: "discord:other", lane: "discord:other:channel:9" as never, cause: "q" }),
      ],
      rows: [
        row("14", {
          lane: lane("child"),
          pool: "sub",
          authority: "agent",
          as: { kind: "work", ticket: "up" },
        }),
      ],
      cells: [
        { key: "used", value: "1", expect: 0, ttlMs: 900 },
        { key: "kept", value: '{"a":1}' },
      ],
    }),
  );
  await told("the preview is sent", async () => {
    const batch = await takeDeliveryBatch(store, { holder: "w4" });
    await outbox.record(batch, [begin("p"), sent("p")], { afterMs: 0, reason: "sent" });
  });
  await told("what came meanwhile joins", () => turns.absorb(first, 2, 9));
  await told("asked again, the same joined", () => turns.absorb(first, 2, 9));
  await told("w1 waits for an answer", () =>
    turns.park(first, { tickets: ["t1", "t2"], wake: "answer", untilMs: startMs + 60_000 }),
  );
  await told("the answer comes, and more", () =>
    inbox.accept([
      row("15", { subject: "ticket:t1", as: { kind: "work", ticket: "t1" }, conversation: chat("z") }),
      row("16", { authority: "owner" }),
    ]),
  );
  const second = await told("w2 takes it up", () => takeTurn(store, { holder: "w2", leaseMs: 50 }));
  clock.advance(50);
  const third = await told("w3 takes it when w2 is late", () => takeTurn(store, { holder: "w3" }));
  await told("w2 lives", () => turns.lived(second));
  await told("w2 writes nothing more", () => turns.extend(second, 9));
  await told("w3 gives it back for a while", () =>
    turns.release(third, { afterMs: 30, reason: "outage", refund: true }),
  );
  clock.advance(30);
  const fourth = await told("w3 takes it once more", () => takeTurn(store, { holder: "w3" }));
  await told("w3 lives", () => turns.lived(fourth));
  await told("the turn is shown while it runs", () => turns.find(first.id));
  await told("somebody stops it, and what waits", () =>
    inbox.stop(lane("a"), { turn: "open", rows: "all", reason: "/stop", outcome: "superseded" }),
  );
  const last = await told("w1 takes it to its end", () => takeTurn(store));
  await told("w1 ends it with all that a turn can leave", () =>
    turns.commit(last, last.id, {
      outcome: "stopped",
      reason: "it was stopped",
      entries: ['{"n":1}', '{"n":2}'],
      deliveries: [
        delivery("end", {
          closes: "p",
          cause: last.id,
          parts: [{ content: "all", into: "p/0" }, { content: "more" }],
        }),
        delivery("status", { passes: true, cause: "status" }),
        delivery("next", { cause: "next" }),
      ],
      rows: [row("17", { lane: lane("parent"), pool: "sub" })],
      patch: { model: "m1", list: [], gone: null },
      contextThrough: last.context.at(-1)?.seq ?? 0,
      cells: [
        { key: "used", value: null },
        { key: "late", value: "2", ttlMs: 70_000 },
      ],
    }),
  );
  await told("the turn is shown when it is over", () => turns.find(first.id));
  await told("w1 asks again for its end", () =>
    turns.commit(last, last.id, { outcome: "answered", entries: ['{"n":3}'] }),
  );
  await inbox.accept(["18", "19", "20"].map((id) => row(id)));
  // Last of all that is accepted: SQLite gives a number to what it then does not store.
  await told("the same comes again", () =>
    inbox.accept([row("18"), row("8", { subject: "s/4" }), row("5", { lane: lane("c") })]),
  );
  const dying = await told("a turn of three", () => takeTurn(store, { leaseMs: 10 }));
  clock.advance(10);
  const again = await told("whose holder died", () => takeTurn(store, { holder: "w2" }));
  await told("is split", () => turns.split(again));
  await told("and ends dead", () =>
    turns.commit(again, dying.id, { outcome: "dead", reason: "three strikes", entries: [] }),
  );
  await told("what is dead is dismissed", () =>
    inbox.dismiss(["telegram:default:18", "telegram:default:19"]),
  );
  await told("what is in trouble", () => store.troubled());
  await told("some of what waits is stopped", () =>
    inbox.stop(lane("a"), { rows: { keepOldest: 1 }, reason: "cap" }),
  );
  await told("the lanes of sessions", () => turns.list(undefined, 9));

  const other = { pool: "discord:other", holder: "w2", leaseMs: 40, maxRows: 5 };
  const elsewhere = await told("w2 takes what another account sends", () => outbox.take(other));
  if (isIdle(elsewhere)) throw new Error("there was nothing to send");
  await told("begins", () => outbox.record(elsewhere, [begin("q")]));
  clock.advance(40);
  const late = await told("is late, and begins again", async () => {
    const batch = await takeDeliveryBatch(store, { ...other, holder: "w3" });
    await outbox.record(batch, [begin("q", 0, 2)]);
    return batch;
  });
  await told("does not know what became of it", () =>
    outbox.record(late, [{ delivery: "q", part: 0, to: "ambiguous", reason: "no answer" }], {
      afterMs: 9,
      reason: "done",
    }),
  );
  const batch = await told("w1 takes what the chat gets", () => takeDeliveryBatch(store));
  await told("w1 sends the head in three messages", async () => {
    const split = [{ content: "x", into: "p/0" }, { content: "y" }, { content: "z" }];
    await outbox.record(batch, [begin("end", 0, 1, { split }), sent("end")]);
    await outbox.record(batch, [
      begin("end", 1),
      { delivery: "end", part: 1, to: "queued", reason: "429" },
      begin("end", 1, 2),
      begin("end", 1, 3, { idempotent: true }),
      sent("end", 1),
    ]);
  });
  await told("the rest fails, and the answer of a command begins", () =>
    outbox.record(batch, [
      begin("end", 2),
      { delivery: "end", part: 2, to: "failed", reason: "400" },
      begin("status"),
    ]),
  );
  await told("w1 keeps the chat", () => outbox.extend(batch, 7_000));
  await told("an operator drops what waits and what failed", () =>
    outbox.drop(["next", "end", "status", "none"], "operator"),
  );
  await told("w1 gives it back", () => outbox.release(batch, { afterMs: 600, reason: "429" }));
  await told("the lanes of conversations", () => outbox.list(undefined, 9));
  await told("a leader is made, and another term is refused", async () => {
    const leader = await cells.put(`leader:${account}`, "node-1", { expect: 0, ttlMs: 500 });
    await outbox.take({ ...wantOut, term: (leader?.version ?? 0) + 1 });
  });
  await told("all deliveries", () => outbox.find({ limit: 9 }));

  await told("a cell is renewed, another is removed, a third is not as expected", async () => {
    const kept = await cells.get("kept");
    return [
      await cells.touch("kept", kept?.version ?? 0, 80_000),
      await cells.touch("late", 1, 9),
      await cells.remove("late"),
      await cells.put("kept", "no", { expect: 0 }),
      await cells.list("", 9),
    ];
  });
  await told("events of two streams, and one that comes again", async () => [
    await events.append("web:a", "e1", '{"text":"one"}'),
    await events.append("control", "e2", "two"),
    await events.append("web:a", "e1", "other"),
    await events.append("web:a", "e3", "three"),
  ]);
  await told("what a client missed", async () => [
    await events.after("web:a", 1, 9),
    await events.newest("web:a", 1),
    await events.newest("web:a", 9, 3),
  ]);
  await told("a session is patched", () => sessions.patch(lane("a"), { model: null, level: { deep: [1] } }));
  await told("another begins anew", () => sessions.reset(lane("c")));
  await told("the first begins anew", () => sessions.reset(lane("a")));
  await told("what was said before is trimmed", () => sessions.trim(lane("a"), 2));
  await told("all is forgotten", () => sessions.forget(lane("a"), "gone"));
  await told("the sessions", () => sessions.list({ limit: 9 }));
  await told("the store is asked whether it is well", () => store.check());
  await told("words are forgotten", async () =>
    store.redact?.((text) => (text.includes("edited") ? "{}" : null)),
  );
  await told("one person is forgotten", async () =>
    store.scrub?.(({ kind, id, lane: at, texts }: StoredRecord): Verdict => {
      if (at === far.lane && kind === "row") return "remove";
      if (kind === "cell" && id === "kept") return { value: texts["value"]?.replace("1", "2") ?? "" };
      if (kind === "event" && id === "e3") return "remove";
      return kind === "turn" && id === barrier.id ? "remove" : "keep";
    }, true),
  );
  clock.advance(5 * dayMs);
  await told("five days on, a slice of what ended leaves", () => store.sweep(2));
  await told("then the rest", async () => {
    let slices = 1;
    while (await store.sweep(3)) slices += 1;
    return slices;
  });
  clock.advance(2 * dayMs);
  await told("seven days on, what stood idle leaves", () => store.sweep(50));
  await told("all rows", () => inbox.find({ dismissed: true, limit: 20 }));
  await told("it closes", () => store.close());
  const timed = (lines: readonly string[]): string =>
    `${lines.join("\n")}\n`.replaceAll(/\b1[67]\d{11}\b/g, (time) => `T+${Number(time) - startMs}`);
  return { answers: timed(answers), left: timed(left) };
}
