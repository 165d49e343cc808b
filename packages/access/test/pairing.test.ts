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
  await clock.advance(3_599_999);
  expect(await at.approve(codes[2] ?? "")).toMatchObject({ senderId: "3", atMs: clock.now() });
  expect(await ask("2")).toEqual({ kind: "pending" });
  await clock.advance(1);
  await expect(at.approve(codes[1] ?? "")).rejects.toThrow(/used or older/);
  // Its place is free again, and a new code is another one.
  const again = await ask("2");
  expect(again).toMatchObject({ kind: "asked" });
  expect(codes).not.toContain(again.kind === "asked" ? again.code : "");
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

test("whose word is an owner's: the operator's own pages and programs, unless they are guests; else whom the config or the first pairing names", async () => {
  const { own } = await desk(["telegram:1"]);
  const by = (channel: string, id: string, roles?: string[]) =>
    own.isOwner({
      channel,
      sender: { id, name: "", isBot: false, ...(roles === undefined ? {} : { roles }) },
    });
  expect([
    await by("web", "9"),
    await by("api", "9"),
    await by("web", "9", ["guest"]),
    await by("api", "9", ["guest"]),
    await by("hook", "9"),
    await by("telegram", "1", ["guest"]),
    await by("discord", "1"),
  ]).toEqual([true, true, false, false, false, true, false]);
  expect(await own.all()).toEqual(["telegram:1"]);
});

test("the first pairing is the only owner as long as the config names none, and outlives neither a list there nor its end", async () => {
  const clock = virtualClock();
  const { cells } = await memoryStore(clock);
  const none = owners([], cells);
  expect(await none.all()).toEqual([]);
  await none.claimFirst("telegram:1");
  await none.claimFirst("telegram:2");
  expect(await none.all()).toEqual(["telegram:1"]);
  await none.release("telegram:2");
  expect(await none.all()).toEqual(["telegram:1"]);
  await none.release("telegram:1");
  const named = owners(["telegram:5"], cells);
  await named.claimFirst("telegram:6");
  expect([await named.all(), await none.all()]).toEqual([["telegram:5"], []]);
});

test("what waits and who is in are listed with their names and times, each under its own account", async () => {
  const { at, book, clock } = await desk();
  const from = (id: string, name: string, account = "default") =>
    directMessage({ sender: { id, name }, address: { account } });
  for (const nth of [1, 2, 3]) await book.ask({ ...from(`${nth}`, "n".repeat(65)), id: `m${nth}` });
  // Another account has room of its own.
  const second = await book.ask({ ...from("1", "Eve", "second"), account: "second", id: "m4" });
  const code = second.kind === "asked" ? second.code : "";
  expect(await at.list()).toMatchObject({
    pending: expect.arrayContaining([
      expect.objectContaining({
        account: "default",
        senderId: "1",
        senderName: "n".repeat(64),
        expiresAtMs: clock.now() + 3_600_000,
        askedBy: "m1",
      }),
      expect.objectContaining({ account: "second", senderId: "1", senderName: "Eve", askedBy: "m4" }),
    ]),
    paired: [],
  });
  await clock.advance(5_000);
  // However it was typed.
  expect(await at.approve(` ${code.toLowerCase()} `)).toEqual({
    channel: "telegram",
    account: "second",
    senderId: "1",
    senderName: "Eve",
    atMs: clock.now(),
  });
  const left = await at.list();
  expect([left.pending.length, left.pending.map(({ account }) => account).includes("second")]).toEqual([
    3,
    false,
  ]);
  expect(await at.revoke(" telegram:second:1 ")).toMatchObject({ account: "second" });
  await clock.advance(3_600_000 - 5_000);
  expect((await at.list()).pending).toEqual([]);
});

test("a person of another gateway is let in once, under the id, and stays as known before", async () => {
  const { at, book, clock, letIn } = await desk();
  const who = { channel: "telegram", account: "default", senderId: "8" };
  expect([await book.admit(who), await book.admit(who)]).toEqual([true, false]);
  await letIn("9");
  expect(await book.admit({ ...who, senderId: "9" })).toBe(false);
  expect((await at.list()).paired).toEqual([
    { ...who, senderName: "8", atMs: clock.now() },
    expect.objectContaining({ senderId: "9", senderName: expect.not.stringMatching(/^9$/) }),
  ]);
});

test("a death between the steps of a decision leaves no second owner and nobody in unseen", async () => {
  const clock = virtualClock();
  const { cells } = await memoryStore(clock);
  let dies = "";
  const dying = (step: string): void => {
    if (step.startsWith(dies) && dies !== "") throw new Error("the process died");
  };
  const at = (): { book: ReturnType<typeof pairingStore>; own: ReturnType<typeof owners> } => {
    const mortal: typeof cells = {
      ...cells,
      get: (key) => cells.get(key),
      list: (prefix, limit) => cells.list(prefix, limit),
      put: async (key, value, how) => (dying(`put ${key}`), cells.put(key, value, how)),
      remove: async (key, version) => (dying(`remove ${key}`), cells.remove(key, version)),
    };
    return { book: pairingStore(mortal, clock, seededIds(2)), own: owners([], mortal) };
  };
  const { book, own } = at();
  const desk = pairingDecisions(book, own);
  const ask = async (id: string) => {
    const answer = await book.ask({ ...directMessage({ sender: { id } }), id: `m${id}` });
    return answer.kind === "asked" ? answer.code : "";
  };
  const [first, second] = [await ask("1"), await ask("2")];
  dies = "put paired:";
  await expect(desk.approve(first)).rejects.toThrow("died");
  dies = "";
  await desk.approve(second);
  expect([await owns(own, "1"), await owns(own, "2")]).toEqual([true, false]);
  await desk.approve(first);
  expect((await desk.list()).paired.map(({ senderId }) => senderId).toSorted()).toEqual(["1", "2"]);
  // Whoever is put out is no owner any more before they are out.
  dies = "remove paired:";
  await expect(desk.revoke("1")).rejects.toThrow("died");
  dies = "";
  expect([await owns(own, "1"), (await desk.list()).paired.length]).toEqual([false, 2]);
  await desk.revoke("1");
  expect((await desk.list()).paired).toHaveLength(1);
});

test("what nobody has, and what is wrong, is refused in words that say how to go on", async () => {
  const { at, book, letIn } = await desk();
  await expect(book.request("abc")).rejects.toThrow(
    'no pairing request has the code "abc": it may be mistyped, used or older than an hour. "parley pair list" shows what waits',
  );
  await letIn("1");
  await letIn("1", "discord");
  await expect(at.revoke("9")).rejects.toThrow(
    'nobody with the id "9" is paired: the list of pairings shows who is',
  );
  const several = await at.revoke("1").catch((error: Error) => error);
  expect(isFault(several, "conflict")).toBe(true);
  expect((several as Error).message).toMatch(
    /^"1" is several: (telegram:default:1, discord:default:1|discord:default:1, telegram:default:1)\. Write the whole id$/,
  );
});

test("a thousand people of an account are listed, and two who ask at once have one request each", async () => {
  const asked: unknown[] = [];
  const kept = new Map<string, string>();
  const cells = {
    list: async (...how: readonly unknown[]) => (asked.push(how), []),
    get: async () => null,
    put: async (key: string, value: string, how: object) => {
      asked.push([key, how]);
      if (kept.has(key)) return null;
      kept.set(key, value);
      return { key, value, version: 1 };
    },
  } as never;
  const clock = virtualClock({ startMs: 1_000 });
  const book = pairingStore(cells, clock, seededIds(3));
  const eve = {
    ...directMessage({ sender: { id: "5:6", name: "Eve" }, address: { account: "work" } }),
    account: "work",
  };
  const first = await book.ask({ ...eve, id: "m1" });
  expect(first).toEqual({ kind: "asked", code: expect.stringMatching(/^.{8}$/) });
  // Another process was faster.
  expect(await book.ask({ ...eve, id: "m2" })).toEqual({ kind: "pending" });
  await Promise.all([book.pending(), book.paired()]);
  const put = ["pairing:telegram:work:5%3A6", { expect: 0, ttlMs: 3_600_000 }];
  expect(asked).toEqual([
    ["pairing:telegram:work:", 1000],
    put,
    ["pairing:telegram:work:", 1000],
    put,
    ["pairing:", 1000],
    ["paired:", 1000],
  ]);
  expect(JSON.parse([...kept.values()][0] ?? "")).toEqual({
    code: first.kind === "asked" ? first.code : "",
    channel: "telegram",
    account: "work",
    senderId: "5:6",
    senderName: "Eve",
    expiresAtMs: 3_601_000,
    askedBy: "m1",
  });
});
