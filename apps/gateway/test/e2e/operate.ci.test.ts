// The operator's view of a real daemon: one id from event to receipt, dead letters, answers that did not
// arrive, backup and restore, safe mode, a damaged database. Through the edges only: chats, the control
// plane, the command line, the log.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { MethodResult, Story } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, type Daemon } from "./daemon.ts";
import { findableGateway, logged, parley, parleyJson } from "./operator.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

const alice = 4242;

async function status(daemon: Daemon): Promise<MethodResult<"status">> {
  const client = await controlClient(daemon);
  const found = (await client.call("status")) as MethodResult<"status">;
  client.close();
  return found;
}

test("one id leads from the event to the receipt, in the log, to the operator and in the chat", async () => {
  const daemon = await w.start({ config: await findableGateway() });
  const person = w.telegram.as({ id: alice, name: "Alice" });
  const said = person.says("hello operator");
  await w.answered(alice, 1);
  const answer = w.answers(alice)[0];

  const story = (await parleyJson(daemon.home, "why", "hello", "operator")) as Story;
  expect(story.row).toMatchObject({
    messageId: String(said.message_id),
    sender: "Alice (telegram:4242)",
    outcome: "answered",
  });
  expect(story.turn?.steps).toEqual([{ kind: "model", name: "fake/m1", end: "stop" }]);
  expect(story.deliveries.map(({ state, parts }) => [state, parts[0]?.messageId])).toEqual([
    ["sent", String(answer?.id)],
  ]);
  const { id } = story.row;
  await eventually(() => logged(daemon, id).includes("sent"));
  expect(logged(daemon, id).filter((line) => !line.startsWith("prompt"))).toEqual([
    "received",
    "turn begins",
    "turn committed",
    "sent",
  ]);

  const turn = story.turn?.id ?? "";
  const client = await controlClient(daemon);
  for (const query of [id, turn, `${turn}/0`, String(said.message_id), String(answer?.id)]) {
    expect(((await client.call("why", { query })) as Story).row.id).toBe(id);
  }
  client.close();
  const { out } = await parley(daemon.home, "why", turn);
  for (const word of [
    "Received",
    "Admitted",
    "Waited",
    "Turn",
    "Tokens",
    "Ended      answered",
    `sent as message ${answer?.id}`,
  ]) {
    expect(out).toContain(word);
  }

  person.says("/why", { replyTo: answer?.id ?? 0 });
  person.says("/why");
  person.says("/status");
  const [, named, last, state] = await w.answered(alice, 4);
  expect(named).toMatch(/About "hello operator":[\s\S]*it ended: answered[\s\S]*sent in 1 message/);
  expect(last).toBe(named);
  expect(state).toMatch(
    /^Parley \S+: ok\nModel: fake\/m1\nContext: \S+ of \S+ tokens \(\d+ %\)\nQueue: steer; idle, 0 waiting\nUsed so far: /,
  );
  const stranger = w.telegram.as(5);
  stranger.says(`/why ${id}`);
  expect((await w.answered(5, 1))[0]).toContain("no such message in this conversation");
});

test("what failed for good is counted, shown, tried again and dropped", async () => {
  w.models.reply(({ lastUserText }) =>
    lastUserText.includes("poison") ? { status: 400 } : `echo: ${lastUserText}`,
  );
  const daemon = await w.start({ config: await findableGateway() });
  const client = await controlClient(daemon);
  const [eve, bob] = [w.telegram.as(alice), w.telegram.as(7)];
  eve.says("poison");
  await w.answered(alice, 1);
  bob.says("anyone?");
  await w.answered(7, 1);
  bob.blocks();
  bob.says("still there?");
  const troubled = await eventually(async () => {
    const { deliveries } = (await client.call("outbox.list", {
      troubled: true,
    })) as MethodResult<"outbox.list">;
    return deliveries.length === 1 && deliveries[0];
  });
  expect(troubled).toMatchObject({
    state: "failed",
    conversation: "telegram:default:dm:7",
    text: "echo: still there?",
  });
  expect(await client.call("status")).toMatchObject({ deadRows: 1, deliveriesTroubled: 1 });

  bob.unblocks();
  expect(await parleyJson(daemon.home, "outbox", "retry", troubled.id)).toEqual({ id: `${troubled.id}~2` });
  expect((await w.answered(7, 2))[1]).toBe("echo: still there?");

  const { rows } = (await parleyJson(daemon.home, "dead", "list")) as MethodResult<"dead.list">;
  expect(rows).toMatchObject([{ text: "poison", conversation: "telegram:default:dm:4242" }]);
  const dead = rows[0]?.id ?? "";
  expect(logged(daemon, dead)).toContain("a model call failed");
  expect(await client.call("dead.retry", { id: dead })).toEqual({ id: `${dead}~2` });
  const again = await eventually(async () => {
    const [row] = ((await client.call("dead.list")) as MethodResult<"dead.list">).rows;
    return row?.id === `${dead}~2` && row.id;
  });
  expect(await client.call("dead.drop", { id: again })).toEqual({ id: again });
  expect(await client.call("status")).toMatchObject({ state: "ok", deadRows: 0, deliveriesTroubled: 0 });
  client.close();
});

test("a backup is taken while it runs and put back while it is stopped; what is read needs no daemon", async () => {
  const findable = await findableGateway();
  const daemon = await w.start({ config: findable });
  const { home } = daemon;
  const copy = join(home, "copy.db");
  const person = w.telegram.as(alice);
  person.says("before the backup");
  await w.answered(alice, 1);
  expect(await parley(home, "backup", copy)).toMatchObject({ exitCode: 0, err: "" });
  const client = await controlClient(daemon);
  await expect(client.call("backup", { path: copy })).rejects.toMatchObject({ code: "conflict" });
  await expect(client.call("backup", { path: "copy.db" })).rejects.toMatchObject({ code: "invalid" });
  client.close();
  expect(await parley(home, "restore", copy)).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining(`process ${daemon.pid}`) as string,
  });
  person.says("after the backup");
  await w.answered(alice, 2);
  expect(await daemon.stop()).toBe(0);

  // A broken config does not keep an operator from the records.
  const text = await readFile(join(home, "parley.json5"), "utf8");
  await writeFile(join(home, "parley.json5"), text.replace(/^\{/, "{ channles: {}, "));
  const told = await parley(home, "why", "after the backup");
  expect(told).toMatchObject({ exitCode: 0, out: expect.stringContaining("Ended      answered") as string });
  expect(told.err).toMatch(
    /^config: \S+parley\.json5:1:3 channles: unknown key "channles"\. Did you mean "channels"\?\n$/,
  );
  await writeFile(join(home, "parley.json5"), text);
  const restored = (await parleyJson(home, "restore", copy)) as MethodResult<"restore">;
  expect(restored.keptAs).toContain("state.db.replaced-");
  const next = await w.start({ home, config: findable });
  const back = await controlClient(next);
  expect(((await back.call("why", { query: "before the backup" })) as Story).row.outcome).toBe("answered");
  await expect(back.call("why", { query: "after the backup" })).rejects.toMatchObject({ code: "missing" });
  back.close();
  person.says("and on");
  await w.answered(alice, 3);
});

test("safe mode ends when asked; what the full check finds after an unclean stop stays in the status", async () => {
  const findable = await findableGateway();
  const first = await w.start({ config: findable });
  const { home } = first;
  w.telegram.as(alice).says("hello");
  await w.answered(alice, 1);
  expect(await first.stop()).toBe(0);
  spoil(join(home, "state.db"));

  const daemon = await w.start({ home, config: findable });
  const damaged = /state\.db is damaged \(.*deliveries_cause.*parley restore/;
  const held = await eventually(async () => {
    const found = await status(daemon);
    return found.reasons.some((reason) => damaged.test(reason)) && found;
  });
  expect(held).toMatchObject({ state: "safe-mode" });
  w.telegram.as(alice).says("are you there?");
  expect(await parley(home, "resume")).toMatchObject({
    exitCode: 0,
    out: "Safe mode is over; the channels are open.\n",
  });
  await w.answered(alice, 2);
  expect(await status(daemon)).toMatchObject({
    state: "degraded",
    reasons: [expect.stringMatching(damaged)],
  });
  expect((await parley(home, "lanes")).out).toContain("Sessions: 0 with work, 1 at rest");
});

/** Three boots that did not end, and an index that misses an entry: the quick check does not look there. */
function spoil(path: string): void {
  const reopened = (work: string): void => {
    const db = new DatabaseSync(path, { defensive: false });
    db.exec(`pragma writable_schema = on; ${work}`);
    db.close();
  };
  const index = "create index deliveries_cause on deliveries (cause)";
  reopened(`update sqlite_schema set sql = '${index} where cause is null' where name = 'deliveries_cause'`);
  reopened("update deliveries set cause = cause || '?'");
  reopened(`update sqlite_schema set sql = '${index}' where name = 'deliveries_cause'`);
  const now = Date.now();
  reopened([1, 2, 3].map((n) => `insert into boots (boot, started) values ('b${n}', ${now + n})`).join(";"));
}
