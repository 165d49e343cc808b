// Where an id leads: what is learnt from events, what is asked of Discord, and how long either is believed.
import { Fault } from "@parley/protocol";
import { expect, test } from "vitest";
import { addressOf, isForum, places } from "../../src/discord/places.ts";
import { fakeRest, refused } from "./fake-rest.ts";

const names = { channel: "discord", account: "default" } as const;
const where = (answers: { readonly [call: string]: unknown } = {}) => {
  const rest = fakeRest(answers);
  const now = { ms: 1_000 };
  return { rest, now, of: places(rest, () => now.ms) };
};
const transient = new Fault("unavailable", "away");

test("a thread of any kind stands under its channel with its title; a category is nobody's parent", async () => {
  const { of, rest } = where();
  of.learn([
    { id: "1", type: 10, parent_id: "9", name: "News", guild_id: "7" },
    { id: "2", type: 11, parent_id: "9", name: "Open", guild_id: "7" },
    { id: "3", type: 12, parent_id: "9", name: 5, guild_id: "7" },
    { id: "4", type: 0, parent_id: "8", name: "Room", guild_id: "7" },
  ]);
  expect(await of.look("1")).toEqual({ id: "1", type: 10, guild: "7", parent: "9", title: "News" });
  expect(await of.look("2")).toEqual({ id: "2", type: 11, guild: "7", parent: "9", title: "Open" });
  expect(await of.look("3")).toEqual({ id: "3", type: 12, guild: "7", parent: "9" });
  expect(await of.look("4")).toEqual({ id: "4", type: 0, guild: "7" });
  expect(rest.asked).toEqual([]);
});

test("the server that a channel names counts before the one that is told beside it", async () => {
  const { of } = where();
  of.learn(
    [
      { id: "1", type: 0, guild_id: "7" },
      { id: "2", type: 0 },
    ],
    "6",
  );
  of.learn({ id: "3", type: 0 }, "5");
  expect([(await of.look("1")).guild, (await of.look("2")).guild, (await of.look("3")).guild]).toEqual([
    "7",
    "6",
    "5",
  ]);
});

test("what describes no channel is not learnt", async () => {
  const { of, rest } = where();
  of.learn([null, "x", { id: "1" }, { id: "1", type: "0" }, { id: "x", type: 0 }, { id: "1", type: 11 }]);
  of.learn([{ id: "1", type: 12, parent_id: "none", name: "Room" }]);
  expect(of.nameOf("1")).toBeUndefined();
  expect(await of.look("1")).toEqual({ id: "1", type: null });
  expect(rest.asked).toEqual(["GET /channels/1"]);
});

test("without a server it is a private chat, unless it is known to be a server's", async () => {
  const { of, rest } = where({ "GET /channels/3": { id: "3", type: 0 } });
  of.learn([
    { id: "1", type: 0, guild_id: "7" },
    { id: "2", type: 3 },
  ]);
  expect(await of.find("1")).toEqual({ id: "1", type: 0, guild: "7" });
  expect(await of.find("2")).toEqual({ id: "2", type: 1 });
  expect(await of.find("3")).toEqual({ id: "3", type: 1 });
  expect(rest.asked).toEqual([]);
  expect(await of.find("2", "6")).toEqual({ id: "2", type: 3, guild: "6" });
  expect(await of.find("1", "6")).toEqual({ id: "1", type: 0, guild: "7" });
});

test("a channel is asked for once; one that may not be read counts as plain, and is asked for again", async () => {
  const { of, rest } = where({ "GET /channels/1": { id: "1", type: 5 }, "GET /channels/2": {} });
  for (let n = 0; n < 2; n += 1) {
    expect(await of.find("1", "7")).toEqual({ id: "1", type: 5, guild: "7" });
    expect(await of.find("2", "7")).toEqual({ id: "2", type: null, guild: "7" });
  }
  expect(rest.asked).toEqual(["GET /channels/1", "GET /channels/2", "GET /channels/2"]);
  for (const error of [refused(404, 10003), refused(403), refused(400, 50035)]) {
    rest.answers.set("GET /channels/3", error);
    expect(await of.find("3", "7")).toEqual({ id: "3", type: null, guild: "7" });
  }
});

test("a failure that may pass is thrown, wherever one is asked", async () => {
  const { of, rest } = where();
  for (const error of [transient, refused(400), new Fault("invalid", "no JSON"), new Error("a flaw")]) {
    for (const route of ["channels/1", "guilds/7/members/5", "guilds/7"])
      rest.answers.set(`GET /${route}`, error);
    await expect(of.find("1", "7")).rejects.toBe(error);
    await expect(of.rolesOf("7", "5")).rejects.toBe(error);
    await expect(of.boostTier("7")).rejects.toBe(error);
  }
});

test("names of channels and roles are those that were told last", () => {
  const { of } = where();
  of.learn({ id: "1", type: 0, name: "tea" });
  of.learnRoles([{ id: "2", name: "host" }, { id: "3" }, null]);
  of.learnRoles({ id: "4", name: "guest" });
  of.learnRoles({ id: "x", name: "none" });
  of.learn({ id: "1", type: 0, name: "coffee" });
  expect(["1", "2", "3", "4", "x"].map((id) => of.nameOf(id))).toEqual([
    "coffee",
    "host",
    undefined,
    "guest",
    undefined,
  ]);
});

test("a thread is its own target, a channel itself, and an id that is none is refused before it is asked", async () => {
  const { of, rest } = where();
  expect(await of.target({ ...names, kind: "channel", peer: "1", thread: "2" })).toBe("2");
  expect(await of.target({ ...names, kind: "dm", peer: "1", thread: "2" })).toBe("2");
  expect(await of.target({ ...names, kind: "channel", peer: "1" })).toBe("1");
  for (const to of [
    { ...names, kind: "channel", peer: "1", thread: "t" },
    { ...names, kind: "channel", peer: "c" },
    { ...names, kind: "dm", peer: "u" },
  ] as const)
    await expect(of.target(to)).rejects.toMatchObject({ code: "invalid" });
  expect(rest.asked).toEqual([]);
});

test("a private chat is opened once, and is known from a message of its person too", async () => {
  const open = "POST /users/@me/channels";
  const { of, rest } = where({ [open]: { id: "9" } });
  const target = (peer: string): Promise<string> => of.target({ ...names, kind: "dm", peer });
  expect([await target("5"), await target("5")]).toEqual(["9", "9"]);
  expect(rest.asked).toEqual([`${open} {"recipient_id":"5"}`]);
  of.learnDirect("6", "8");
  expect(await target("6")).toBe("8");
  expect(rest.asked).toHaveLength(1);
  for (const answer of [undefined, {}, { id: 9 }]) {
    rest.answers.set(open, answer);
    await expect(target("7")).rejects.toMatchObject({ code: "unavailable" });
  }
  // Opening a chat twice opens it once: nobody needs to be asked whether it was opened.
  rest.answers.set(open, new Fault("ambiguous", "a reset"));
  await expect(target("7")).rejects.toMatchObject({ code: "unavailable", message: "a reset" });
  rest.answers.set(open, refused(403, 50007));
  await expect(target("7")).rejects.toMatchObject({ code: "denied" });
});

test("a member's roles are believed for a minute, of each member in each server", async () => {
  const { of, rest, now } = where({
    "GET /guilds/7/members/5": { roles: ["1", "x", 2, "3"] },
    "GET /guilds/8/members/5": { roles: "1" },
  });
  expect(await of.rolesOf("7", "5")).toEqual(["1", "3"]);
  expect(await of.rolesOf("8", "5")).toEqual([]);
  rest.answers.set("GET /guilds/7/members/5", { roles: ["4"] });
  now.ms += 59_999;
  expect(await of.rolesOf("7", "5")).toEqual(["1", "3"]);
  now.ms += 1;
  expect(await of.rolesOf("7", "5")).toEqual(["4"]);
  expect(rest.asked).toHaveLength(3);
  // Who left has none, which is believed as long.
  expect(await of.rolesOf("7", "6")).toEqual([]);
  expect(await of.rolesOf("7", "6")).toEqual([]);
  expect(rest.asked).toHaveLength(4);
});

test("the boost tier is what the server says; who may not ask does not know it", async () => {
  const { of } = where({ "GET /guilds/7": { premium_tier: 0 }, "GET /guilds/8": { premium_tier: "2" } });
  expect(await Promise.all(["7", "8", "9"].map((guild) => of.boostTier(guild)))).toEqual([0, null, null]);
});

test("what was learnt longest ago goes first, beyond a bound of its own for each kind", async () => {
  const { of, rest } = where({ "POST /users/@me/channels": { id: "1" } });
  const target = (peer: number): Promise<string> => of.target({ ...names, kind: "dm", peer: String(peer) });
  for (let id = 10_000; id < 15_000; id += 1) {
    of.learn({ id: String(id), type: 0, guild_id: "7" });
    of.learnDirect(String(id), "2");
  }
  await target(10_000);
  await of.look("10000");
  expect(rest.asked).toEqual([]);
  // Told again, it is the newest.
  of.learn({ id: "10000", type: 0, guild_id: "7" });
  of.learnDirect("10000", "2");
  of.learn({ id: "15000", type: 0, guild_id: "7" });
  of.learnDirect("15000", "2");
  for (const id of [10_000, 10_002, 15_000]) expect(await target(id)).toBe("2");
  for (const id of ["10000", "10002", "15000"]) expect((await of.look(id)).guild).toBe("7");
  expect(rest.asked).toEqual([]);
  expect(await target(10_001)).toBe("1");
  expect((await of.look("10001")).guild).toBeUndefined();
  for (let id = 20_000; id < 30_000; id += 1) of.learnRoles({ id: String(id), name: "role" });
  expect([of.nameOf("15000"), of.nameOf("20000"), of.nameOf("29999")]).toEqual([undefined, "role", "role"]);
  of.learnRoles({ id: "30000", name: "role" });
  expect([of.nameOf("20000"), of.nameOf("20001")]).toEqual([undefined, "role"]);
  rest.asked.length = 0;
  for (let user = 1; user <= 1_000; user += 1) await of.rolesOf("7", String(user));
  await of.rolesOf("7", "1");
  expect(rest.asked).toHaveLength(1_000);
  await of.rolesOf("7", "1001");
  await of.rolesOf("7", "2");
  await of.rolesOf("7", "1");
  expect(rest.asked.slice(1_001)).toEqual(["GET /guilds/7/members/1"]);
});

test("an address is the person's chat, the channel, or the thread under its channel", () => {
  expect(addressOf({ id: "1", type: 1 }, names, "5")).toEqual({ ...names, kind: "dm", peer: "5" });
  expect(addressOf({ id: "1", type: 0, guild: "7" }, names, "5")).toEqual({
    ...names,
    kind: "channel",
    peer: "1",
  });
  expect(addressOf({ id: "1", type: 11, guild: "7", parent: "2" }, names, "5")).toEqual({
    ...names,
    kind: "channel",
    peer: "2",
    thread: "1",
  });
  expect([0, 11, 14, 15, 16, 17, null].filter(isForum)).toEqual([15, 16]);
});
