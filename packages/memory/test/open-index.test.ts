// What is taken up before a question, what goes on behind it, and what is left of what was forgotten.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { MemoryTarget } from "../src/contract.ts";
import { isEmpty, openedIndex, type OpenIndex } from "../src/open-index.ts";
import { knownTalks, takeTalk } from "../src/talk.ts";

let root: string;
let clock: VirtualClock;
let target: MemoryTarget;
let index: OpenIndex;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "parley-open-index-"));
  clock = virtualClock();
  target = {
    workspace: join(root, "workspace"),
    indexPath: join(root, "index", "main.sqlite"),
    chunking: { tokens: 400, overlap: 0 },
    embedder: null,
    talk: false,
  };
});
afterEach(() => {
  index.close();
  rmSync(root, { recursive: true, force: true });
});

function write(path: string, text: string): void {
  const file = join(target.workspace, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
const open = (lost: string | null = null): OpenIndex => (index = openedIndex(target, clock, lost));
const texts = (): readonly string[] =>
  (index.file.db.prepare("SELECT text FROM chunks ORDER BY text").all() as { text: string }[]).map(
    ({ text }) => text,
  );
const bytesHold = (word: string): boolean =>
  readdirSync(dirname(target.indexPath)).some((name) =>
    readFileSync(join(dirname(target.indexPath), name)).includes(word),
  );
const isDone = async (work: Promise<void>): Promise<boolean> => {
  let done = false;
  void work.then(() => (done = true));
  await clock.advance(0);
  return done;
};

test("what has no time before the question goes on behind it, a slice each millisecond", async () => {
  for (const name of ["a", "b", "c"]) write(`memory/${name}.md`, name);
  open("the index was removed");
  await index.upToDate(0);
  expect([texts(), index.filesLeft(), index.rebuilt()]).toEqual([["a"], 2, "the index was removed"]);
  await clock.advance(1);
  expect([texts(), index.filesLeft()]).toEqual([["a", "b"], 1]);
  await clock.advance(1);
  expect([texts(), index.filesLeft(), index.rebuilt()]).toEqual([
    ["a", "b", "c"],
    0,
    "the index was removed",
  ]);
  await clock.advance(1);
  expect([index.filesLeft(), index.rebuilt(), clock.armed()]).toEqual([0, null, 0]);
});

test("with time enough all is taken up before the question", async () => {
  for (const name of ["a", "b", "c"]) write(`memory/${name}.md`, name);
  open("lost");
  await index.upToDate(1);
  expect([texts(), index.filesLeft(), index.rebuilt(), clock.armed()]).toEqual([["a", "b", "c"], 0, null, 0]);
});

test("a question during a pass waits for it and looks anew, as long as it has time", async () => {
  for (const name of ["a", "b", "c", "d"]) write(`memory/${name}.md`, name);
  open();
  await index.upToDate(0);
  write("memory/new.md", "new");
  const patient = index.upToDate(Infinity);
  const other = index.upToDate(50);
  expect(await isDone(patient)).toBe(false);
  await clock.advance(4);
  expect([await isDone(patient), await isDone(other)]).toEqual([true, true]);
  expect(texts()).toEqual(["a", "b", "c", "d", "new"]);
});

test("a question with less time than the pass needs is answered with what there is", async () => {
  for (const name of ["a", "b", "c", "d"]) write(`memory/${name}.md`, name);
  open();
  await index.upToDate(0);
  const hasty = index.upToDate(2);
  await clock.advance(1);
  expect(await isDone(hasty)).toBe(false);
  await clock.advance(1);
  expect([await isDone(hasty), index.filesLeft()]).toEqual([true, 1]);
});

test("a pass ends where the index is closed, which may be said twice", async () => {
  for (const name of ["a", "b"]) write(`memory/${name}.md`, name);
  open();
  await index.upToDate(0);
  index.close();
  index.close();
  await clock.advance(10);
  expect(clock.armed()).toBe(0);
  open();
  expect(texts()).toEqual(["a"]);
});

test("what was forgotten leaves no byte, once, and what the notes still say is read anew", async () => {
  write("memory/a.md", "saffron");
  write("memory/b.md", "cardamom");
  open();
  await index.upToDate(1);
  expect(bytesHold("saffron")).toBe(true);
  rmSync(join(target.workspace, "memory/a.md"));
  index.forgotten(7);
  expect([texts(), isEmpty(index.file.db)]).toEqual([[], true]);
  await index.upToDate(1);
  expect([texts(), bytesHold("saffron"), bytesHold("cardamom")]).toEqual([["cardamom"], false, true]);
  index.forgotten(7);
  expect(texts()).toEqual(["cardamom"]);
  index.close();
  open();
  index.forgotten(7);
  expect(texts()).toEqual(["cardamom"]);
  index.forgotten(8);
  expect(texts()).toEqual([]);
});

test("an index of nothing has nothing to forget, and is read once", async () => {
  open();
  index.forgotten(7);
  write("memory/a.md", "saffron");
  await index.upToDate(1);
  index.forgotten(7);
  expect(texts()).toEqual(["saffron"]);
});

test("what is forgotten during a pass is taken out after it", async () => {
  for (const name of ["a", "b", "c"]) write(`memory/${name}.md`, name);
  open();
  await index.upToDate(0);
  index.forgotten(7);
  expect(texts()).toEqual(["a"]);
  await clock.advance(5);
  expect(texts()).toEqual(["a", "b", "c"]);
  index.forgotten(7);
  expect(texts()).toEqual([]);
});

test("a consent that was taken back leaves nothing of what was said, and a given one all", () => {
  target = { ...target, talk: true };
  open();
  const talk = {
    session: "s",
    since: "1",
    afterSeq: 0,
    throughSeq: 1,
    turns: [{ turn: "t", untrusted: null, heading: "h", lines: [{ seq: 1, text: "saffron" }] }],
  };
  takeTalk(index.file.db, null, target.chunking, talk as never);
  index.close();
  open();
  expect(texts()).toEqual(["saffron"]);
  index.close();
  target = { ...target, talk: false };
  open();
  expect([texts(), knownTalks(index.file.db, ["s"]), bytesHold("saffron")]).toEqual([[], [], false]);
});

test("other chunks or another folder are another index; the same one is kept", async () => {
  write("memory/a.md", "a");
  open();
  await index.upToDate(1);
  index.close();
  open();
  expect([texts(), index.rebuilt()]).toEqual([["a"], null]);
  const first = target;
  for (const other of [{ chunking: { tokens: 401, overlap: 0 } }, { workspace: join(root, "other") }])
    for (const next of [other, {}]) {
      index.close();
      target = { ...first, ...next };
      open();
      expect([texts(), index.rebuilt()]).toEqual([
        [],
        "the index was made by another version or with other settings",
      ]);
    }
});

test("the model before is asked only where the same service knows it", async () => {
  const models: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += String(part);
    const { model, input } = JSON.parse(body) as { model: string; input: readonly string[] };
    models.push(model);
    response.end(JSON.stringify({ data: input.map(() => ({ embedding: [1, 0] })) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  target = { ...target, embedder: { provider: "openai", model: "new", baseUrl, apiKey: "k" } };
  open();
  const serving = index.file.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('serving', ?)");
  for (const id of [
    `openai/old@${baseUrl}`,
    `voyage/old@${baseUrl}`,
    `openai/old@${baseUrl}/v1`,
    "openai/old@http://other.example",
  ]) {
    serving.run(id);
    await index.vectors?.near(id, [], 1);
  }
  // What is held to be compared goes with the passages.
  serving.run(`openai/new@${baseUrl}`);
  write("memory/a.md", "a");
  await index.upToDate(1);
  await index.vectors?.filled();
  const near = async (): Promise<number | undefined> =>
    (await index.vectors?.near("a", ["daily", "curated"], 1))?.scores.size;
  expect(await near()).toBe(1);
  index.wipe();
  expect(await near()).toBe(0);
  server.close();
  server.closeAllConnections();
  expect(models.slice(0, 4)).toEqual(["old", "new", "new", "new"]);
});

test("damage that is met behind a question ends nothing, and the next question tells it", async () => {
  for (const name of ["a", "b", "c"]) write(`memory/${name}.md`, name);
  open();
  await index.upToDate(0);
  index.file.db.exec("DROP TABLE chunks");
  await clock.advance(5);
  await expect(index.upToDate(Infinity)).rejects.toThrow(/no such table/);
});
