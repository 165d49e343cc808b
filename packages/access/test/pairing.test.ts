import { isFault } from "@parley/protocol";
import { seededIds, virtualClock, directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { owners } from "../src/owners.ts";
import { pairingStore } from "../src/pairing.ts";
import { pairingDecisions } from "../src/pairing.ts";
import { memoryStore } from "./store.ts";

async function desk(configured: readonly string[] = []) {
  const clock = virtualClock();
  const { cells } = await memoryStore(clock);
  const book = pairingStore(cells, clock, seededIds(1));
  const own = owners(configured, cells);
  const letIn = async (id: string, channel = "telegram"): Promise<void> => {
    const answer = await book.ask(directMessage({ sender: { id }, address: { channel } }));
    if (answer.kind === "asked") await at.approve(answer.code);
  };
  const at = pairingDecisions(book, own);
  return { at, book, own, letIn, clock };
}

const owns = (own: ReturnType<typeof owners>, id: string): Promise<boolean> =>
  own.isOwner(directMessage({ sender: { id } }));

test("the first one let in is the owner, and no longer when put out; the next one then is", async () => {
  const { at, own, letIn, book } = await desk();
  await letIn("1");
  await letIn("2");
  expect([await owns(own, "1"), await owns(own, "2")]).toEqual([true, false]);
  await at.revoke("2");
  expect(await owns(own, "1")).toBe(true);
  await at.revoke("telegram:default:1");
  expect([await owns(own, "1"), await book.isPaired(directMessage({ sender: { id: "1" } }))]).toEqual([
    false,
    false,
  ]);
  await letIn("3");
  expect(await owns(own, "3")).toBe(true);
});

test("owners that the config names are neither made nor unmade here", async () => {
  const { at, own, letIn } = await desk(["telegram:1"]);
  await letIn("2");
  expect(await owns(own, "2")).toBe(false);
  await letIn("1");
  await at.revoke("1");
  expect(await owns(own, "1")).toBe(true);
});

test("an id that is nobody, the end of somebody's, or several people is refused by name", async () => {
  const { at, letIn } = await desk();
  await letIn("12");
  await letIn("12", "discord");
  for (const id of ["2", "", "telegram", "telegram:12:", "*"])
    await expect(at.revoke(id)).rejects.toSatisfy((error) => isFault(error, "missing"));
  await expect(at.revoke("12")).rejects.toThrow(/is several: .*telegram:default:12/);
  expect(await at.revoke("discord:12")).toMatchObject({ channel: "discord", senderId: "12" });
  expect((await at.list()).paired.map(({ channel }) => channel)).toEqual(["telegram"]);
});

test("a code is of eight clear characters, works once and for an hour, and a fourth stranger has to wait", async () => {
  const { at, book, clock } = await desk();
  const ask = (id: string) => book.ask(directMessage({ sender: { id } }));
  const asked = await Promise.all(["1", "2", "3"].map(ask));
  const codes = asked.map((answer) => (answer.kind === "asked" ? answer.code : ""));
  for (const code of codes) expect(code).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
  expect(await ask("4")).toEqual({ kind: "full" });
  expect(await ask("1")).toEqual({ kind: "pending" });
  await at.approve(codes[0] ?? "");
  await expect(at.approve(codes[0] ?? "")).rejects.toThrow(/used or older/);
  await clock.advance(3_600_000);
  await expect(at.approve(codes[1] ?? "")).rejects.toThrow(/used or older/);
});

test("who asks again has the same code, told once for each message, until it is over", async () => {
  const { book } = await desk();
  const eve = directMessage({ sender: { id: "5" } });
  const first = await book.ask({ ...eve, id: "m1" });
  expect(await book.ask({ ...eve, id: "m1" })).toEqual(first);
  expect(await book.ask({ ...eve, id: "m2" })).toEqual({ kind: "pending" });
  const other = await book.ask({ ...directMessage({ sender: { id: "6" } }), id: "m3" });
  expect(other).toMatchObject({ kind: "asked" });
  expect(other).not.toEqual(first);
});
