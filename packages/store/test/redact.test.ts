// Forgetting in the database: every place that holds words, and no byte of them left in the files.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog, type SessionKey } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { sqliteStore } from "../src/index.ts";
import { options, tempDir } from "./open-sqlite.ts";
import { delivery, lane, row, takeDeliveryBatch, takeTurn } from "./subject.ts";

test("rewrites what is stored, counts it, and leaves the rest as it was", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-redact-"));
  const store = await sqliteStore({
    path: join(folder, "state.db"),
    clock: virtualClock(),
    log: silentLog,
    bootId: "boot",
    onFatal: () => {},
  });
  try {
    for (let n = 0; n < 450; n += 1)
      await store.cells.put(`cell-${n}`, n % 3 === 0 ? `zanzibar ${n}` : `plain ${n}`, {});
    const key = "agent:main:main" as SessionKey;
    await store.sessions.patch(key, { note: "zanzibar too", other: 1 });
    await store.events.append("s", "e1", '{"text":"zanzibar"}');
    const change = (text: string): string | null =>
      text.includes("zanzibar") ? text.replaceAll("zanzibar", "[gone]") : null;
    expect(await store.redact?.(change)).toBe(152);
    expect((await store.cells.get("cell-3"))?.value).toBe("[gone] 3");
    expect((await store.cells.get("cell-4"))?.value).toBe("plain 4");
    expect((await store.sessions.open(key)).fields).toEqual({ note: "[gone] too", other: 1 });
    expect(await store.redact?.(change)).toBe(0);
    for (const name of readdirSync(folder))
      expect([name, readFileSync(join(folder, name)).includes("zanzibar")]).toEqual([name, false]);
    await store.cells.put("after", "works", {});
    expect((await store.cells.get("after"))?.value).toBe("works");
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
});

test("words go from messages, reasons, records of turns, transcripts and answers, each counted, and everything goes on", async () => {
  const folder = tempDir();
  const path = join(folder, "state.db");
  const store = await sqliteStore(options(path));
  const word = "zanzibar";
  await store.inbox.accept([
    row("1", { payload: `{"text":"${word}"}` }),
    row("2", { lane: lane("b"), payload: `{"text":"${word} waits"}` }),
    row("3", { as: { kind: "closed", outcome: "refused", reason: `${word} is refused` } }),
  ]);
  const turn = await takeTurn(store);
  await store.turns.checkpoint(turn, 0, { steps: [{ kind: "model", body: `{"said":"${word}"}` }] });
  await store.turns.commit(turn, turn.id, {
    outcome: "answered",
    entries: [`{"said":"${word}"}`, `{"said":"tea"}`, `{"said":"${word} again"}`],
    deliveries: [
      delivery("d", { parts: [{ content: `${word} is sent` }, { content: "tea" }, { content: "x" }] }),
    ],
  });
  const batch = await takeDeliveryBatch(store);
  await store.outbox.record(batch, [
    { delivery: "d", part: 0, to: "sending", attempt: 1 },
    { delivery: "d", part: 0, to: "failed", reason: `nobody takes ${word}` },
    { delivery: "d", part: 1, to: "sending", attempt: 1 },
    { delivery: "d", part: 1, to: "sent", receipt: `{"at":"${word}"}` },
  ]);
  const open = await takeTurn(store);
  await store.turns.checkpoint(open, 0, { steps: [{ kind: "model", body: `{"said":"${word}"}` }] });
  await store.sessions.reset(lane("a"));
  const change = (text: string): string | null =>
    text.includes(word) ? text.replaceAll(word, "[gone]") : null;
  // Three rows, one open step, two entries, and content, reason and receipt of two parts.
  expect(await store.redact?.(change)).toBe(3 + 1 + 2 + 3);
  expect(readFileSync(path).includes(word)).toBe(false);
  expect((await store.sessions.open(lane("a"))).fields).toEqual({ rewritten: 2 });
  expect(
    (await store.sessions.transcript(lane("a"), { epoch: 1, limit: 9 })).map(({ body }) => body),
  ).toEqual(['{"said":"[gone]"}', '{"said":"tea"}', '{"said":"[gone] again"}']);
  expect((await store.outbox.find({ id: "d", limit: 1 }))[0]?.parts).toMatchObject([
    { content: "[gone] is sent", reason: "nobody takes [gone]", receipt: null },
    { content: "tea", reason: null, receipt: '{"at":"[gone]"}' },
    { content: "x", state: "queued" },
  ]);
  expect(await store.inbox.find({ limit: 9 })).toMatchObject([
    { outcome: "refused", reason: "[gone] is refused" },
    { payload: '{"text":"[gone] waits"}' },
    { payload: '{"text":"[gone]"}' },
  ]);
  expect((await store.turns.find(open.id))?.log).toEqual([{ kind: "model", body: '{"said":"[gone]"}' }]);
  expect(await store.turns.checkpoint(open, 1, { steps: [{ kind: "model", body: "{}" }] })).toBe(2);
  await store.close();
  rmSync(folder, { recursive: true });
});
