// What is counted of people and of refusals, both sides of each limit, and what a settings' key names.
import type { Config } from "@parley/config";
import type { Address } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { ackOf, isPaced, quotesOf, reactionsWanted, streamingOf } from "../src/account-settings.ts";
import { authorityOf, senderRules, speakersAt } from "../src/authority.ts";
import { messageLimits, overLimitWords } from "../src/message-limits.ts";
import { sessionOwnership, webAddress, webSender } from "../src/own-session.ts";
import { refusalLog } from "../src/refusal-log.ts";

const dm: Address = { channel: "telegram", account: "a", kind: "dm", peer: "7" };
const group: Address = { ...dm, kind: "group", peer: "-1" };

/** Versions as the store counts them. */
function countingCells() {
  const kept = new Map<string, { readonly value: string; readonly version: number }>();
  const lives = new Set<number | undefined>();
  return {
    kept,
    lives,
    get: async (key: string) => {
      const found = kept.get(key);
      return found === undefined ? null : { key, ...found, expiresAtMs: null };
    },
    async put(
      key: string,
      value: string,
      { expect: version = 0, ttlMs }: { readonly expect?: number; readonly ttlMs?: number },
    ) {
      lives.add(ttlMs);
      const now = kept.get(key)?.version ?? 0;
      if (now !== version) return null;
      kept.set(key, { value, version: now + 1 });
      return { key, value, version: now + 1, expiresAtMs: null };
    },
  };
}

function limited(person: object, place: object = {}) {
  const clock = virtualClock();
  const cells = countingCells();
  let limits = messageLimits({ cells, clock });
  let count = 0;
  const say = async (id: string, by = "7", address = dm, groupId?: string, channel = "telegram") => {
    const sender = { id: by, name: "", isBot: false };
    const message = { id, channel, address, sender, ...(groupId === undefined ? {} : { groupId }) };
    const over = await limits.over(message, { person, place });
    return over === null ? "in" : `${over.of} ${over.per} ${over.most} ${over.freeInMs} ${over.isFirst}`;
  };
  const write = (...by: readonly [string?, Address?, string?, string?]) => say(`m${(count += 1)}`, ...by);
  /** One after the other. */
  const all = async (...calls: readonly (readonly [string?, Address?, string?, string?])[]) => {
    const told: string[] = [];
    for (const each of calls) told.push(await write(...each));
    return told;
  };
  const restart = () => void (limits = messageLimits({ cells, clock }));
  return { clock, write, all, say, restart, cells };
}

test("so many a minute are let in; the first beyond is told apart, and room comes as the oldest grows old", async () => {
  const { clock, write, all } = limited({ messagesPerMinute: 2 });
  expect(await write()).toBe("in");
  await clock.advance(10_000);
  expect(await all([], [], [], ["8"])).toEqual([
    "in",
    "person minute 2 50000 true",
    "person minute 2 50000 false",
    "in",
  ]);
  // The same number on another channel is somebody else.
  expect(await write("7", dm, undefined, "discord")).toBe("in");
  await clock.advance(49_999);
  expect(await write()).toBe("person minute 2 1 false");
  await clock.advance(1);
  expect(await all([], [])).toEqual(["in", "person minute 2 10000 true"]);
});

test("the hour is asked before the minute, and what was refused counts for neither", async () => {
  const { clock, write, all } = limited({ messagesPerMinute: 2, messagesPerHour: 3 });
  expect(await all([], [])).toEqual(["in", "in"]);
  expect(await write()).toBe("person minute 2 60000 true");
  await clock.advance(60_000);
  expect(await all([], [])).toEqual(["in", "person hour 3 3540000 true"]);
  await clock.advance(3_540_000 - 1);
  expect(await write()).toBe("person hour 3 1 false");
  await clock.advance(1);
  expect(await all([], [], [])).toEqual(["in", "in", "person hour 3 60000 true"]);
});

test("a place counts all who write there, beside each; in private there is only the person", async () => {
  const { write, all } = limited({ messagesPerHour: 2 }, { messagesPerHour: 3 });
  expect(await all(["1", group], ["1", group], ["1", group])).toEqual([
    "in",
    "in",
    "person hour 2 3600000 true",
  ]);
  // What the person's limit refused took no room of the place.
  expect(await all(["2", group], ["3", group], ["2"])).toEqual(["in", "place hour 3 3600000 true", "in"]);
  expect(await write("3", { ...group, peer: "-2" })).toBe("in");
  expect(await all(["1", { ...group, peer: "-2" }], ["4"])).toEqual(["person hour 2 3600000 false", "in"]);
});

test("an album counts once, whatever the room; another one and a plain message count anew", async () => {
  const { all } = limited({ messagesPerHour: 2 });
  const album = (group: string) => ["7", dm, group] as const;
  expect(await all(...["a", "a", "a", "b", "b"].map(album))).toEqual(["in", "in", "in", "in", "in"]);
  expect(await all(album("c"), album("b"), [])).toEqual([
    "person hour 2 3600000 true",
    "in",
    "person hour 2 3600000 false",
  ]);
});

test("counts and what was told outlive a restart; a message that comes again counts and is told once", async () => {
  const { clock, say, restart } = limited({ messagesPerHour: 2 });
  expect([await say("a"), await say("a"), await say("b")]).toEqual(["in", "in", "in"]);
  restart();
  expect([await say("b"), await say("c")]).toEqual(["in", "person hour 2 3600000 true"]);
  restart();
  // The process died before the words were stored, so the platform hands it out again.
  expect([await say("c"), await say("d")]).toEqual([
    "person hour 2 3600000 true",
    "person hour 2 3600000 false",
  ]);
  await clock.advance(3_600_000);
  expect(await say("e")).toBe("in");
});

test("of a minute's limit no more is stored than that minute, however much was said in the hour", async () => {
  const { clock, all, cells } = limited({ messagesPerMinute: 2 });
  for (let minute = 0; minute < 5; minute += 1) {
    expect(await all([], [])).toEqual(["in", "in"]);
    await clock.advance(60_000);
  }
  const stored = JSON.parse(cells.kept.get("message-limit:person:telegram:7")?.value ?? "{}");
  expect(stored.atMs).toHaveLength(2);
});

test("a count is kept for an hour, and of its messages the newest twenty, each of which comes again for nothing", async () => {
  const { say, cells } = limited({ messagesPerHour: 40 });
  for (let n = 0; n < 22; n += 1) expect(await say(`m${n}`)).toBe("in");
  const stored = () => JSON.parse(cells.kept.get("message-limit:person:telegram:7")?.value ?? "{}");
  expect([stored().ids[0], stored().ids.at(-1), stored().ids.length, [...cells.lives]]).toEqual([
    "m2",
    "m21",
    20,
    [3_600_000],
  ]);
  for (const id of ["m2", "m21"]) await say(id);
  expect(stored().atMs).toHaveLength(22);
});

test("a clock that was set back holds nobody up", async () => {
  const { say, clock } = limited({ messagesPerHour: 1 });
  expect(await say("a")).toBe("in");
  clock.jumpWall(-60_000);
  expect([await say("b"), await say("c")]).toEqual(["in", "person hour 1 3600000 true"]);
});

test("messages that are counted at once all count, and without a limit nobody is", async () => {
  const free = limited({}, {});
  expect([await free.write(), free.cells.kept.size]).toEqual(["in", 0]);
  const { say } = limited({ messagesPerHour: 3 });
  const told = await Promise.all(["a", "b", "c", "d"].map((id) => say(id)));
  expect(told.filter((each) => each === "in")).toHaveLength(3);
});

test.for([
  [0, "1 second"],
  [1_000, "1 second"],
  [1_001, "2 seconds"],
  [119_000, "119 seconds"],
  [119_001, "2 minutes"],
  [120_001, "3 minutes"],
  [3_600_000, "60 minutes"],
] as const)("free in %d ms reads as %s", ([freeInMs, words]) => {
  const told = { per: "hour", freeInMs, isFirst: true } as const;
  expect(overLimitWords({ ...told, of: "person", most: 1 })).toContain(
    `at most 1 message from one person in one hour, and this was one more: I have not read it. Please write it again in ${words}.`,
  );
  expect(overLimitWords({ ...told, of: "place", most: 2, per: "minute" })).toContain(
    "2 messages in this chat in one minute",
  );
});

test("a refusal makes one line, those of the same minute one more with their number", async () => {
  const clock = virtualClock();
  const [lines, counts]: [string[], string[]] = [[], []];
  const log = refusalLog({
    say: (fields, message) => void lines.push(`${message} ${JSON.stringify(fields)}`),
    count: (reason) => void counts.push(reason),
    clock,
  });
  for (const source of ["a", "a", "b", "a"]) log.note("scope", source, { of: source });
  log.note("host", "a");
  expect([lines.splice(0), counts.length]).toEqual([
    [
      'refused {"reason":"scope","source":"a","of":"a"}',
      'refused {"reason":"scope","source":"b","of":"b"}',
      'refused {"reason":"host","source":"a"}',
    ],
    5,
  ]);
  await clock.advance(59_999);
  expect(lines).toEqual([]);
  await clock.advance(1);
  expect([lines.splice(0), clock.armed()]).toEqual([
    ['refused again {"reason":"scope","source":"a","more":2}'],
    0,
  ]);
  // The next minute begins with the next one.
  for (let n = 0; n < 22; n += 1) log.note("scope", `s${n}`);
  log.note("scope", "s21");
  log.note("scope", "s19");
  expect(lines.splice(0)).toHaveLength(20);
  log.end();
  log.end();
  expect([lines, counts.length, clock.armed()]).toEqual([
    [
      'refused again {"reason":"scope","source":"s19","more":1}',
      'refused, from many more sources {"reason":"scope","more":3}',
    ],
    29,
    0,
  ]);
});

const rules = { "telegram:1": { allow: ["read"] }, "telegram:2": { deny: ["exec"] } };
test("each sender that a rule names narrows; * is for whoever is not listed", () => {
  const all = { toolsBySender: { ...rules, "*": { deny: ["web"] } } };
  const some = { toolsBySender: rules };
  expect(senderRules(some, ["telegram:2", "telegram:3", "telegram:1"])).toEqual([
    { deny: ["exec"] },
    { allow: ["read"] },
  ]);
  expect(senderRules(all, ["telegram:1", "telegram:3"])).toEqual([{ allow: ["read"] }, { deny: ["web"] }]);
  expect(senderRules(some, ["toString", "telegram:9"])).toEqual([]);
  const as = (id: string, owner: boolean, settings: typeof all | typeof some = some) =>
    authorityOf(settings, { channel: "telegram", sender: { id, name: "n", isBot: false } }, owner);
  expect([as("3", true), as("3", false)]).toEqual(["owner", "member"]);
  expect(as("1", false)).toMatch(/^member:[0-9a-f]{16}$/);
  expect(
    new Set([as("1", true), as("1", false), as("2", false), as("3", false, all), as("3", false)]).size,
  ).toBe(5);
  expect(as("4", false, all)).toBe(as("3", false, all));
});

test("whoever will speak in a private chat is its one person; elsewhere nobody is known", async () => {
  const at = speakersAt({
    isOwner: async ({ channel, sender }) => `${channel} ${sender.id}` === "telegram 7",
  });
  const place = (address: Address) => at({ address } as never);
  expect(await place(dm)).toEqual({ owner: true, senders: ["telegram:7"] });
  expect(await place({ ...dm, peer: "8" })).toEqual({ owner: false, senders: ["telegram:8"] });
  expect(await place({ ...group, peer: "7" })).toEqual({ owner: false, senders: [] });
});

test("a caller's sessions are its own peer's, at each thread, and its users' over the API", () => {
  const owns = sessionOwnership(
    ({ address, sender = webSender({ peer: address.peer, scopes: [] }) }) =>
      ({
        session: `agent:${sender.roles === undefined ? "main" : "guests"}:web:dm:${address.peer}${address.thread === undefined ? "" : `:thread:${address.thread}`}`,
      }) as never,
    "default",
  );
  const guest = { peer: "web-g", scopes: ["read"] as const };
  const admin = { peer: "web-a", scopes: ["read", "admin"] as const };
  expect(owns(guest, "agent:guests:web:dm:web-g")).toBe(true);
  expect(owns(guest, "agent:guests:web:dm:web-g:thread:t1")).toBe(true);
  expect(owns(guest, "agent:guests:web:dm:web-a")).toBe(false);
  expect(owns(guest, "agent:main:web:dm:web-g")).toBe(false);
  expect(owns(admin, "agent:main:web:dm:web-a")).toBe(true);
  expect([owns(guest, "agent:main:api:web-g:u"), owns(guest, "agent:main:api:web-h:web-g")]).toEqual([
    true,
    false,
  ]);
  for (const key of ["", "no key", "agent:main:main", "agent:main:telegram:group:web-g"])
    expect(owns(guest, key)).toBe(false);
  expect(webSender(admin)).toEqual({ id: "web-a", name: "web-a", isBot: false });
  expect(webSender(guest).roles).toHaveLength(1);
  expect(webAddress("acc", guest, undefined)).toEqual({
    channel: "web",
    account: "acc",
    kind: "dm",
    peer: "web-g",
  });
});

test("an account's own setting counts before the common one; what is not configured has the default", () => {
  const own = { streaming: "block", replyToMode: "first", reactionNotifications: "all", pacing: "on" };
  const config = (telegram: object, messages: object = {}) =>
    ({ channels: { telegram: { a: telegram }, discord: { a: {} } }, messages }) as unknown as Config;
  const read = (at: Config, account: string) => [
    streamingOf(at, account),
    quotesOf(at, account),
    reactionsWanted(at, account),
    isPaced(at, account),
  ];
  expect(read(config(own), "telegram:a")).toEqual(["block", true, "all", true]);
  const usual = ["off", false, "own", false];
  for (const account of ["telegram:b", "discord:a", "web:a", "telegram"])
    expect(read(config(own), account)).toEqual(usual);
  expect(read(config({ replyToMode: "all", pacing: "off" }), "telegram:a")).toEqual(usual);
  const ack = (telegram: object, messages: object, account = "telegram:a") =>
    ackOf(config(telegram, messages), account);
  const common = { ackReaction: "👀", ackReactionScope: "direct" };
  expect(ack({}, common)).toEqual({ emoji: "👀", scope: "direct" });
  expect(ack({ ackReaction: "🔥" }, common)).toEqual({ emoji: "🔥", scope: "direct" });
  expect(ack({ ackReactionScope: "all" }, common)).toEqual({ emoji: "👀", scope: "all" });
  expect([
    ack({ ackReactionScope: "off" }, common),
    ack({}, { ackReactionScope: "all" }),
    ack({}, common, "telegram:b"),
    ack({ ackReactionScope: "all" }, { ...common, ackReactionScope: "off" })?.scope,
  ]).toEqual([null, null, null, "all"]);
});
