// Every row of the failure model's table for receiving: nothing is lost, nothing is confirmed early, trouble
// heals by itself.
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import type { ChannelEvent } from "@parley/protocol";
import { defaultToken, refusalBody, type Trouble } from "@parley/testkit";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { alice, type Rig, telegramRig } from "./rig.ts";

type Event = ChannelEvent;

let rig: Rig;
let events: Event[];
beforeEach(async () => {
  rig = await telegramRig();
  events = [];
});
afterEach(() => rig.close());

const receive = async (batch: readonly Event[]): Promise<void> => void events.push(...batch);
const ids = (): string[] => events.map((event) => event.id);
const texts = (): string[] => events.map((event) => ("address" in event ? event.text : event.kind));
const polls = () => rig.fake.calls("getUpdates");
const queue = () => rig.fake.bot().queue;
const healthy = () => expect.poll(() => rig.channel.health().state).toBe("ok");

/**
 * Lets backoffs pass until `done`. The sockets between are real, so steps are small: virtual deadlines must
 * not pass before real answers come.
 */
async function until(done: () => boolean, stepMs = 250): Promise<void> {
  await expect
    .poll(
      async () => {
        if (!done()) await rig.clock.advance(stepMs);
        return done();
      },
      { timeout: 8_000, interval: 5 },
    )
    .toBe(true);
}

test("the first poll has no offset and names the update kinds; later ones confirm what was accepted", async () => {
  rig.fake.as(alice).says("one");
  await rig.channel.start(receive);
  await expect.poll(() => queue().confirmed()).toEqual([1]);
  expect(polls()[0]?.params).toEqual({
    limit: 100,
    timeout: 0,
    allowed_updates: [
      "message",
      "edited_message",
      "channel_post",
      "edited_channel_post",
      "callback_query",
      "message_reaction",
      "poll_answer",
    ],
  });
  expect(polls()[1]?.params).toMatchObject({ offset: 2, timeout: 30 });
});

test("a process that died after fetching gets the same updates again", async () => {
  rig.fake.as(alice).says("one");
  await rig.channel.start(() => new Promise(() => {}));
  await expect.poll(() => polls().length).toBe(1);
  const next = await rig.open();
  await next.start(receive);
  await expect.poll(ids).toEqual(["telegram:default:u1"]);
  // The first channel's receive never ends, so it is left out of the rig's orderly close.
  await next.stop();
  await rig.fake.close();
  rig = await telegramRig();
});

test("repeated, unordered and newly drawn lower ids are all handed over", async () => {
  await rig.channel.start(receive);
  const message = rig.fake.as(alice).says("zero");
  await expect.poll(() => queue().confirmed()).toEqual([1]);
  for (const id of [1001, 1003, 1002, 1002])
    rig.fake.bot().push({ update_id: id, message: { ...message, text: `n${id}` } });
  await expect.poll(() => texts().length).toBeGreaterThanOrEqual(5);
  await expect.poll(() => queue().pending()).toEqual([]);
  queue().setNextId(5);
  rig.fake.as(alice).says("after an idle week");
  await expect.poll(() => texts().at(-1)).toBe("after an idle week");
  await expect.poll(() => queue().pending()).toEqual([]);
  expect(ids()).toContain("telegram:default:u5");
});

test("a conflict with another poller waits at least a poll's length, takes a new connection, and never has two polls at once", async () => {
  const body = refusalBody(
    409,
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
  );
  rig.fake.inject({ method: "getUpdates", times: 3, trouble: { kind: "answer", status: 409, body } });
  await rig.channel.start(receive);
  await expect
    .poll(() => rig.channel.health())
    .toMatchObject({ state: "degraded", reason: expect.stringContaining("terminated by other") });
  const [first] = polls();
  await rig.clock.advance(29_999);
  expect(polls()).toHaveLength(1);
  await rig.clock.advance(10_001);
  await expect.poll(() => polls().length).toBe(2);
  expect(polls()[1]?.connection).not.toBe(first?.connection);
  await until(() => rig.channel.health().state === "ok", 10_000);
  expect(polls().length).toBeLessThanOrEqual(6);
});

test("a webhook that is in the way is removed once, keeping what waits", async () => {
  await fetch(`${rig.fake.url}/bot${defaultToken}/setWebhook?url=https://example.org/x`);
  rig.fake.as(alice).says("waiting");
  await rig.channel.start(receive);
  await expect.poll(texts).toEqual(["waiting"]);
  expect(rig.fake.calls("deleteWebhook").map((call) => call.params)).toEqual([
    { drop_pending_updates: false },
  ]);
});

test("a webhook that comes back is not fought over", async () => {
  await rig.channel.start(receive);
  await healthy();
  const active = refusalBody(
    409,
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
  );
  rig.fake.inject({ method: "getUpdates", times: 4, trouble: { kind: "answer", status: 409, body: active } });
  rig.fake.as(alice).says("ends the poll that is held");
  await until(() => polls().length >= 6, 10_000);
  expect(rig.fake.calls("deleteWebhook")).toHaveLength(1);
});

test("401 while polling takes the account down and asks again only after ten minutes; others go on", async () => {
  await rig.channel.start(receive);
  await healthy();
  rig.fake.inject({
    method: "getUpdates",
    times: 2,
    token: defaultToken,
    trouble: { kind: "answer", status: 401, body: refusalBody(401, "Unauthorized") },
  });
  rig.fake.as(alice).says("ends the poll that is held");
  await expect.poll(() => rig.channel.health().state).toBe("down");
  const count = polls().length;
  await rig.clock.advance(599_999);
  expect(polls()).toHaveLength(count);
  await rig.clock.advance(1);
  await expect.poll(() => polls().length).toBe(count + 1);
  await expect.poll(() => rig.channel.health().state).toBe("down");
  const other = "2000002:another";
  rig.fake.bot(other);
  const neighbour = await rig.open({ account: "second", token: other });
  const heard: string[] = [];
  await neighbour.start(async (batch) => void heard.push(...batch.map((event) => event.account)));
  rig.fake.as(alice, other).says("hello neighbour");
  await expect.poll(() => heard).toEqual(["second"]);
  await until(() => rig.channel.health().state === "ok", 10_000);
});

test("a server of one's own may have tokens of any form; Telegram's have one", async () => {
  expect((await rig.open({ token: "test-token" })).account).toBe("default");
  await expect(rig.open({ token: "a/b" })).rejects.toMatchObject({ code: "invalid" });
  await expect(rig.open({ token: "test-token", apiRoot: "https://api.telegram.org" })).rejects.toMatchObject({
    code: "invalid",
  });
});

test("404 to a poll, from whatever stands in front of the Bot API, passes by itself", async () => {
  await rig.channel.start(receive);
  await healthy();
  rig.fake.inject({
    method: "getUpdates",
    trouble: { kind: "answer", status: 404, body: refusalBody(404, "Not Found") },
  });
  rig.fake.as(alice).says("ends the poll that is held");
  await expect.poll(() => rig.channel.health().state).toBe("degraded");
  await until(() => texts().length === 1 && rig.channel.health().state === "ok", 10_000);
});

test("whoever is heard by the first poll meets a channel that hears; after trouble the batch has to be in first", async () => {
  const states: string[] = [];
  let refuses = true;
  rig.fake.as(alice).says("/status");
  await rig.channel.start(async () => {
    states.push(rig.channel.health().state);
    if (refuses) throw new Error("the store is away");
  });
  await expect.poll(() => rig.channel.health().state).toBe("degraded");
  refuses = false;
  await until(() => rig.channel.health().state === "ok", 10_000);
  expect(states).toEqual(["ok", "degraded"]);
});

test("ids of another bot than the account's first one carry that bot; those of the first stay as they are", async () => {
  const [first] = defaultToken.split(":");
  rig.fake.as(alice).says("to the first");
  await (await rig.open({ firstBot: async (bot) => bot })).start(receive);
  await expect.poll(ids).toEqual(["telegram:default:u1"]);
  const later = "777:another-bot-of-this-test-0123456789";
  rig.fake.bot(later, "later_bot");
  rig.fake.as(alice, later).says("to the later one");
  await (await rig.open({ token: later, firstBot: async () => first ?? "" })).start(receive);
  await expect.poll(ids).toEqual(["telegram:default:u1", "telegram:default:b777.u1"]);
  expect(events.map((event) => ("bot" in event ? event.bot : undefined))).toEqual([undefined, "777"]);
});

test("429 waits exactly as long as Telegram says", async () => {
  rig.fake.inject({
    method: "getUpdates",
    trouble: {
      kind: "answer",
      status: 429,
      body: refusalBody(429, "Too Many Requests: retry after 7", { retry_after: 7 }),
    },
  });
  await rig.channel.start(receive);
  await expect.poll(() => rig.channel.health().state).toBe("degraded");
  await rig.clock.advance(6_999);
  expect(polls()).toHaveLength(1);
  await rig.clock.advance(1);
  await expect.poll(() => polls().length).toBeGreaterThan(1);
  await healthy();
});

test("polls that fail one after the other wait longer each time, up to a minute, and from the start again after one that succeeded", async () => {
  const waitMs = async (stepMs: number): Promise<number> => {
    const [asked, sinceMs] = [polls().length, rig.clock.mono()];
    await until(() => polls().length > asked, stepMs);
    return rig.clock.mono() - sinceMs;
  };
  rig.fake.as(alice).says("one");
  const trouble: Trouble = { kind: "answer", status: 502, body: "<html>" };
  rig.fake.inject({ method: "getUpdates", times: null, trouble });
  await rig.channel.start(receive);
  await expect.poll(() => polls().length).toBe(1);
  // Half of each wait is chance.
  for (const leastMs of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    const waitedMs = await waitMs(leastMs / 10);
    expect(waitedMs).toBeGreaterThanOrEqual(leastMs);
    expect(waitedMs).toBeLessThan(80_000);
  }
  rig.fake.heal();
  await until(() => texts().includes("one"), 1_000);
  await healthy();
  rig.fake.inject({ method: "getUpdates", times: null, trouble });
  rig.fake.as(alice).says("two");
  await expect.poll(() => rig.channel.health().state).toBe("degraded");
  expect(await waitMs(100)).toBeLessThan(16_000);
});

test("a poll that is never answered is given up ten seconds after its hold, and sends do not hide that", async () => {
  rig.fake.as(alice).says("hello");
  await rig.channel.start(receive);
  await healthy();
  await expect.poll(() => queue().held()).toBe(1);
  const lastInboundAtMs = rig.channel.health().lastInboundAtMs;
  rig.fake.inject({ method: "getUpdates", trouble: { kind: "hang" } });
  rig.fake.as(alice).says("ends the poll that is held");
  await expect.poll(() => events.length).toBe(2);
  await until(() => rig.channel.health().state === "degraded", 5_000);
  expect(rig.channel.health().reason).toContain("within 40000 ms");
  expect(rig.channel.health().lastInboundAtMs).toBeLessThanOrEqual((lastInboundAtMs ?? 0) + 5_000);
  await until(() => rig.channel.health().state === "ok");
});

const garbage: readonly (readonly [string, Trouble])[] = [
  ["502 with HTML", { kind: "answer", status: 502, body: "<html>Bad Gateway</html>" }],
  ["an empty body", { kind: "answer", status: 200, body: "" }],
  ["JSON cut short", { kind: "truncate" }],
  ["ok:false without a code", { kind: "answer", status: 200, body: { ok: false } }],
  ["a result that is no list", { kind: "answer", status: 200, body: { ok: true, result: { update_id: 1 } } }],
  ["updates without ids", { kind: "answer", status: 200, body: { ok: true, result: [{}, null, 7] } }],
  ["a body of 5 MB", { kind: "flood", bytes: 5 * 1024 * 1024 }],
  ["a reset connection", { kind: "reset" }],
  ["a body of one byte a second", { kind: "slow", everyMs: 1_000 }],
];

test.each(garbage)(
  "%s is transient: degraded, then well again, and nothing is lost",
  async (_name, trouble) => {
    rig.fake.as(alice).says("one");
    rig.fake.inject({ method: "getUpdates", trouble });
    await rig.channel.start(receive);
    await until(() => rig.channel.health().state === "degraded", trouble.kind === "slow" ? 10_000 : 250);
    await until(() => events.length === 1);
    await until(() => rig.channel.health().state === "ok");
  },
);

test("a batch too large to read is asked for in smaller bites; an update that is too large alone is read", async () => {
  rig.fake.inject({ method: "getUpdates", times: 7, trouble: { kind: "flood", bytes: 5 * 1024 * 1024 } });
  await rig.channel.start(receive);
  await until(() => rig.channel.health().state === "ok");
  await until(() => polls().length >= 8);
  expect(
    polls()
      .slice(0, 8)
      .map((call) => call.params["limit"]),
  ).toEqual([100, 50, 25, 12, 6, 3, 1, 100]);
});

test("Telegram out of reach at start is no error: receiving begins when it is back", async () => {
  rig.fake.inject({ method: "getMe", times: 3, trouble: { kind: "reset" } });
  rig.fake.as(alice).says("one");
  await rig.channel.start(receive);
  expect(rig.channel.health().state).toBe("degraded");
  await until(() => events.length === 1);
  await healthy();
});

test("a server that accepts connections and never speaks delays the start, no longer than the deadline", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const channel = await rig.open({ apiRoot: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` });
  const starting = channel.start(receive);
  await until(() => channel.health().state === "degraded", 5_000);
  await starting;
  await channel.stop();
  silent.close();
});

test("an update that cannot be read is handed over raw, and its neighbours are not held up", async () => {
  await rig.channel.start(receive);
  rig.fake.bot().push({
    update_id: 1,
    message: { message_id: "one", date: 0, chat: { id: 42, type: "private" }, text: "no sender" },
  });
  queue().setNextId(2);
  rig.fake.as(alice).says("fine");
  await expect.poll(() => events.length).toBe(2);
  expect(events[0]).toMatchObject({
    kind: "unreadable",
    id: "telegram:default:u1",
    channel: "telegram",
    account: "default",
    raw: expect.stringContaining("no sender"),
  });
  expect(events[1]).toMatchObject({ kind: "message", text: "fine" });
  await expect.poll(() => queue().confirmed()).toEqual([1, 2]);
});

test("updates of any shape never stop the loop", async () => {
  await rig.channel.start(receive);
  let nextId = 1;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(
        "message",
        "edited_message",
        "channel_post",
        "callback_query",
        "message_reaction",
        "poll_answer",
        "my_chat_member",
        "brand_new",
      ),
      fc.oneof(
        fc.jsonValue(),
        fc.record(
          {
            message_id: fc.jsonValue(),
            date: fc.jsonValue(),
            chat: fc.oneof(fc.jsonValue(), fc.record({ id: fc.integer(), type: fc.string() })),
            from: fc.jsonValue(),
            text: fc.jsonValue(),
            entities: fc.jsonValue(),
            photo: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
      ),
      async (kind, body) => {
        rig.fake.bot().push({ update_id: nextId, [kind]: body });
        nextId++;
        await expect.poll(() => queue().confirmed().length, { interval: 1 }).toBe(nextId - 1);
      },
    ),
    { numRuns: 60 },
  );
  expect(rig.channel.health().state).toBe("ok");
});

test("a backlog of thousands comes in batches of a hundred, each confirmed before the next", async () => {
  const message = rig.fake.as(alice).says("zero");
  for (let id = 2; id <= 2_000; id++)
    rig.fake.bot().push({ update_id: id, message: { ...message, message_id: id } });
  const sizes: number[] = [];
  await rig.channel.start(async (batch) => {
    sizes.push(batch.length);
    expect(queue().confirmed().length).toBe(100 * (sizes.length - 1));
  });
  await expect.poll(() => queue().confirmed().length).toBe(2_000);
  expect(sizes).toEqual(Array.from({ length: 20 }, () => 100));
});

test("a group that became a supergroup is told before anything of its batch is accepted", async () => {
  const order: string[] = [];
  const channel = await rig.open({
    onMigration: async ({ fromChat, toChat }) => void order.push(`${fromChat} -> ${toChat}`),
  });
  const old = rig.fake.group({ type: "group" });
  const moved = rig.fake.upgrade(old);
  rig.fake.as(alice).says("hello", { chat: moved });
  await channel.start(
    async (batch) => void order.push(...batch.map((event) => ("address" in event ? event.text : event.kind))),
  );
  await expect.poll(() => order).toEqual([`${old} -> ${moved}`, `${old} -> ${moved}`, "hello"]);
});

test("a migration that cannot be recorded leaves the batch with Telegram", async () => {
  let attempts = 0;
  const channel = await rig.open({
    onMigration: async () => {
      attempts++;
      if (attempts === 1) throw new Error("the config file is read-only");
    },
  });
  rig.fake.upgrade(rig.fake.group({ type: "group" }));
  await channel.start(receive);
  await until(() => attempts >= 3);
  await expect.poll(() => queue().pending()).toEqual([]);
});

test("a server that does not hold polls is asked once a second, not in a circle", async () => {
  rig.fake.inject({
    method: "getUpdates",
    times: null,
    trouble: { kind: "answer", status: 200, body: { ok: true, result: [] } },
  });
  await rig.channel.start(receive);
  await expect.poll(() => polls().length).toBe(2);
  await rig.clock.advance(999);
  expect(polls()).toHaveLength(2);
  await rig.clock.advance(1);
  await expect.poll(() => polls().length).toBe(3);
});

test("stop ends a held poll at once and confirms nothing more", async () => {
  await rig.channel.start(receive);
  await expect.poll(() => queue().held()).toBe(1);
  await rig.channel.stop();
  await expect.poll(() => queue().held()).toBe(0);
  rig.fake.as(alice).says("for the next process");
  expect(queue().confirmed()).toEqual([]);
  expect(rig.channel.health().state).toBe("stopped");
  expect(rig.clock.armed()).toBe(0);
});
