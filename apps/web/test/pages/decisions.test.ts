// What an operator reads before deciding, and what the buttons then ask for: approvals, schedules, devices,
// channels and sessions as whole pages. After a wanted change: `vitest run --project @parley/web pages/ -u`.
import type { MethodResult, Scope } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { Approvals } from "../../src/pages/approvals.ts";
import { Channels } from "../../src/pages/channels.ts";
import { Devices } from "../../src/pages/devices.ts";
import { Schedules } from "../../src/pages/schedules.ts";
import { Sessions } from "../../src/pages/sessions.ts";
import { nowMs, offeredTo, section, showPage } from "./show-page.ts";

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

describe("approvals", () => {
  type List = MethodResult<"approvals.list">;
  const approval = (
    state: List["approvals"][number]["state"],
    more: Partial<List["approvals"][number]> = {},
  ): List["approvals"][number] => ({
    id: `a-${state}`,
    state,
    session: "agent:main:telegram:dm:7",
    agent: "main",
    tool: "exec",
    shown: `rm ${state}\nsecond line`,
    reason: "not on the list",
    always: true,
    askedBy: ["telegram:7"],
    asked: "Eve\nin a private chat",
    createdAtMs: nowMs - 2 * minuteMs,
    expiresAtMs: nowMs + 90_000,
    log: [],
    ...more,
  });
  const states = ["open", "once", "always", "denied", "expired", "stopped", "used"] as const;
  const list: List = {
    approvals: states.map((state, at) =>
      approval(state, {
        session: `agent:a${at}:telegram:dm:${at}`,
        agent: `a${at}`,
        tool: `tool-${at}`,
        reason: `reason ${at}`,
        asked: `person ${at}\nin a private chat`,
        createdAtMs: nowMs - (at + 1) * 2 * minuteMs,
        expiresAtMs: nowMs + (at + 1) * 90_000,
        ...(state === "once"
          ? {
              log: [
                { atMs: nowMs - 60_000, what: "asked", by: "main" },
                { atMs: nowMs - 30_000, what: "allowed once", by: "Ada" },
              ],
            }
          : {}),
      }),
    ),
    grants: [
      {
        id: "g1",
        agent: "main",
        argv: ["npm", "test\u202e"],
        cwd: "/ws",
        sandbox: "none",
        by: "Ada",
        atMs: nowMs - dayMs,
      },
      {
        id: "g2",
        agent: "helper",
        argv: ["git", "push"],
        cwd: "/other",
        sandbox: "docker",
        by: "Bob",
        atMs: nowMs - 2 * hourMs,
      },
    ],
  };
  const answers = {
    "approvals.list": list,
    "approvals.resolve": ({ id, decision }: { id: string; decision: string }) => ({
      id,
      state: "once",
      say: `${decision} it is`,
    }),
    "approvals.revoke": { id: "g1" },
  } as never;

  test("each state, the whole act with hidden signs marked, who asked and what happened", async () => {
    const page = await showPage(Approvals, { at: "#/approvals?all=1", answers });
    const odd = approval("open", { id: "a-odd", always: false, shown: "rm a\\u{202e}b" });
    const shown = await showPage(Approvals, {
      at: "#/approvals/a-odd",
      answers: { "approvals.list": { approvals: [odd], grants: [] } },
    });
    const looker = await showPage(Approvals, { at: "#/approvals/a-open", answers, may: ["read"] });
    const none = await showPage(Approvals, {
      at: "#/approvals",
      answers: { "approvals.list": { approvals: [], grants: [] } },
    });
    await expect(
      section("all", await page.text()) +
        section("open", drawerOf(await page.go("#/approvals/a-open?all=1"))) +
        section("decided", drawerOf(await page.go("#/approvals/a-once"))) +
        section("used", drawerOf(await page.go("#/approvals/a-used"))) +
        section("gone", drawerOf(await page.go("#/approvals/a-none"))) +
        section("hidden signs, and no always", await shown.text()) +
        section("may only look", await looker.text()) +
        section("none", await none.text()),
    ).toMatchFileSnapshot("shown/approvals.txt");
  });

  test("each button is offered to whoever has its scope alone", async () => {
    const at = (scope: Scope) => offeredTo(scope, Approvals, { at: "#/approvals/a-open", answers });
    expect([await at("write"), await at("approve"), await at("admin")]).toEqual([
      [],
      ["Revoke", "Revoke", "Allow once", "Deny", "Always allow"],
      [],
    ]);
  });

  test("each button decides what it says, of the approval that is open, and tells what the gateway said", async () => {
    const page = await showPage(Approvals, { at: "#/approvals/a-open", answers });
    expect(await page.press("Allow once")).toBe("once it is");
    expect(await page.press("Deny")).toBe("deny it is");
    expect(await page.press("Always allow")).toBe("always it is");
    expect(await page.press("Revoke", 1)).toBe(undefined);
    expect(page.asked).toEqual([
      'approvals.list {"all":false}',
      'approvals.resolve {"id":"a-open","decision":"once","idempotencyKey":"uuid-1"}',
      'approvals.list {"all":false}',
      'approvals.resolve {"id":"a-open","decision":"deny","idempotencyKey":"uuid-2"}',
      'approvals.list {"all":false}',
      'approvals.resolve {"id":"a-open","decision":"always","idempotencyKey":"uuid-3"}',
      'approvals.list {"all":false}',
      'approvals.revoke {"id":"g2"}',
      'approvals.list {"all":false}',
    ]);
    await page.go("#/approvals/a-open?all=1");
    expect(page.asked.at(-1)).toBe('approvals.list {"all":true}');
  });
});

describe("schedules", () => {
  type Job = MethodResult<"cron.list">["jobs"][number];
  const job = (id: string, more: Partial<Job> = {}): Job => ({
    id,
    name: `job ${id}`,
    agent: `agent of ${id}`,
    enabled: true,
    paused: null,
    words: `every day at ${String(id.length).padStart(2, "0")}:00 UTC`,
    schedule: {},
    payload: { kind: "agentTurn", message: `do ${id}` },
    target: {},
    session: `agent:main:cron:${id}`,
    delivery: {},
    wake: "now",
    misfire: "latest",
    overlap: "skip",
    staggerMs: 0,
    catchUpMs: 0,
    maxRuns: null,
    deleteAfterRun: false,
    timeoutSeconds: 60,
    mostTokensPerDay: null,
    version: 3,
    createdAtMs: nowMs,
    editedAtMs: nowMs,
    owner: { kind: "turn", sender: "Eve", isOwner: true, session: null },
    nextAtMs: nowMs + id.length * hourMs,
    nextAt: null,
    runs: 1,
    missed: 0,
    consecutiveErrors: 0,
    last: null,
    ...more,
  });
  const last = (reason: string | null): Job["last"] => ({
    slot: "s",
    instantMs: nowMs,
    endedAtMs: nowMs - (reason === null ? 1 : 5) * hourMs,
    outcome: "ok",
    reason,
  });
  const jobs = [
    job("on", { last: last(null) }),
    job("off", { enabled: false, misfire: "all", overlap: "queue", nextAtMs: null }),
    job("held", { paused: "too dear", consecutiveErrors: 2, misfire: "none" }),
    job("once", { consecutiveErrors: 1, overlap: "replace", runs: 2, missed: 1_000, last: last("broke") }),
    job("thrice", {
      consecutiveErrors: 3,
      payload: { kind: "systemEvent", text: "tea" },
      owner: { kind: "command", sender: null, isOwner: false, session: null },
    }),
    job("odd", {
      payload: { kind: "webhook", url: "x" },
      owner: { kind: "operator", sender: null, isOwner: true, session: null },
    }),
  ];
  const run = (outcome: MethodResult<"cron.runs">["runs"][number]["outcome"], more: object = {}) => ({
    slot: outcome,
    instantMs: nowMs - outcome.length * dayMs,
    turn: null,
    session: null,
    outcome,
    reason: null,
    count: 1,
    startedAtMs: null,
    endedAtMs: nowMs,
    tokens: 1,
    said: `said ${outcome}`,
    ...more,
  });
  const answers = {
    "cron.list": { jobs },
    "cron.explain": ({ id }: { id?: string }) => ({
      words: id === "held" ? "every day at 04:00 UTC" : "at nine",
      zone: "UTC",
      staggerMs: 0,
      next:
        id === "once"
          ? []
          : [
              { atMs: nowMs + hourMs, iso: "", local: "Mon 13:00" },
              { atMs: nowMs + 2 * dayMs, iso: "", local: "Wed 12:00" },
            ],
    }),
    "cron.runs": ({ id }: { id: string }) => ({
      id,
      now:
        id === "on"
          ? [
              { slot: "a", instantMs: nowMs, state: "running", turn: "t9", session: "s" },
              { slot: "b", instantMs: nowMs, state: "waiting", turn: null, session: "s" },
            ]
          : [],
      runs:
        id === "on"
          ? [
              run("ok", { turn: "t1", startedAtMs: nowMs - 5_430_000 }),
              run("silent"),
              run("failed", { reason: "no model" }),
              run("skipped", { count: 2 }),
              run("missed", { count: 12 }),
              run("superseded"),
            ]
          : [],
    }),
    "cron.run": { id: "x", run: "r" },
    "cron.update": { job: jobs[0] },
    "cron.remove": { id: "x", name: "x" },
    "cron.add": { job: job("made") },
  } as never;

  test("every job with its state in words; one with its times and every kind of run", async () => {
    const page = await showPage(Schedules, { at: "#/schedules", answers });
    const ones: string[] = [];
    const all = await page.text();
    for (const { id } of jobs) ones.push(section(id, drawerOf(await page.go(`#/schedules/${id}`))));
    const gone = drawerOf(await page.go("#/schedules/none"));
    const looker = await showPage(Schedules, { at: "#/schedules/on?new=1", answers, may: ["read"] });
    const none = await showPage(Schedules, { at: "#/schedules", answers: { "cron.list": { jobs: [] } } });
    await expect(
      section("the list", all) +
        ones.join("") +
        section("gone", gone) +
        section("may only look", drawerOf(await looker.text())) +
        section("none", await none.text()),
    ).toMatchFileSnapshot("shown/schedules.txt");
  });

  test("each button is offered to whoever has its scope alone", async () => {
    const at = (scope: Scope) => offeredTo(scope, Schedules, { at: "#/schedules/on", answers });
    expect([await at("write"), await at("approve"), await at("admin")]).toEqual([
      [],
      [],
      ["Run now", "Pause", "Remove"],
    ]);
  });

  test("a job is run, paused with the version that was seen, taken up again and removed", async () => {
    const page = await showPage(Schedules, { at: "#/schedules/on", answers });
    const changes = (): readonly string[] =>
      page.asked.filter((each) => /^cron\.(?:run |update|remove)/.test(each));
    await page.text();
    const before = page.asked.length;
    expect(await page.press("Run now")).toBe("It runs.");
    // The run is among its runs at once.
    expect(page.asked.slice(before)).toEqual([
      'cron.run {"id":"on","idempotencyKey":"uuid-1"}',
      'cron.explain {"id":"on","count":10}',
      'cron.runs {"id":"on","limit":30}',
    ]);
    expect(await page.press("Pause")).toBe("Paused.");
    await page.go("#/schedules/off");
    expect(await page.press("Go on")).toBe("It goes on.");
    // What Parley holds back goes on by the same button.
    await page.go("#/schedules/held");
    expect(await page.press("Go on")).toBe("It goes on.");
    const last = page.asked.length;
    expect(await page.press("Remove")).toBe(undefined);
    expect(page.asked.slice(last)).toEqual(['cron.remove {"id":"held"}', "cron.list {}"]);
    expect(page.asked.filter((each) => each === "cron.list {}")).toHaveLength(5);
    expect(changes()).toEqual([
      'cron.run {"id":"on","idempotencyKey":"uuid-1"}',
      'cron.update {"id":"on","patch":{"enabled":false},"version":3}',
      'cron.update {"id":"off","patch":{"enabled":true},"version":3}',
      'cron.update {"id":"held","patch":{"enabled":true},"version":3}',
      'cron.remove {"id":"held"}',
    ]);
  });

  test("a job whose times cannot be told any more has its runs all the same, and none where those cannot be read", async () => {
    const page = await showPage(Schedules, {
      at: "#/schedules/on",
      answers: {
        ...(answers as object),
        "cron.explain": () => {
          throw page.refusal("invalid", "its instant has passed");
        },
      },
    });
    const shown = drawerOf(await page.text());
    expect([shown.includes("### Next times"), shown.includes("### Runs"), shown.includes("said ok")]).toEqual(
      [false, true, true],
    );
    const { "cron.runs": _, ...unread } = answers as { readonly "cron.runs": unknown };
    const other = await showPage(Schedules, { at: "#/schedules/on", answers: unread as never });
    expect(await other.text()).not.toMatch(/### (?:Next times|Runs)/);
  });

  test("a new job is made of exactly what was shown with its times", async () => {
    const page = await showPage(Schedules, { at: "#/schedules?new=1", answers });
    const asks = async (values: { readonly [name: string]: string }): Promise<string | undefined> => {
      await page.submit("Show its times", { name: "tea", message: "make tea", ...values });
      return page.asked.findLast((each) => each.startsWith("cron.explain"));
    };
    expect(await page.text()).not.toContain("Make it");
    expect(await asks({ kind: "every", when: "2h", zone: "Europe/Berlin" })).toBe(
      'cron.explain {"schedule":{"kind":"every","every":"2h"},"count":10}',
    );
    expect(await asks({ kind: "at", when: "20m", zone: "" })).toBe(
      'cron.explain {"schedule":{"kind":"at","at":"20m"},"count":10}',
    );
    expect(await asks({ kind: "cron", when: "0 9 * * *", zone: "UTC" })).toBe(
      'cron.explain {"schedule":{"kind":"cron","expression":"0 9 * * *","zone":"UTC"},"count":10}',
    );
    await expect(page.text().then(drawerOf)).resolves.toContain("at nine · UTC");
    await page.press("Make it");
    expect(page.asked.find((each) => each.startsWith("cron.add"))).toBe(
      'cron.add {"job":{"name":"tea","schedule":{"kind":"cron","expression":"0 9 * * *","zone":"UTC"},"payload":{"kind":"agentTurn","message":"make tea"}},"idempotencyKey":"uuid-1"}',
    );
    expect(page.went).toEqual(["#/schedules/made"]);
    expect(page.asked.slice(-2).map((each) => each.split(" ")[0])).toEqual(["cron.add", "cron.list"]);
    expect(await page.text()).not.toContain("Make it");
  });

  test("the drawer of a new job: empty, with what would be made, and with what is wrong", async () => {
    let fails = false;
    const page = await showPage(Schedules, {
      at: "#/schedules?new=1",
      answers: {
        ...(answers as object),
        "cron.explain": () => {
          if (fails) throw page.refusal("invalid", "no such hour");
          return {
            words: "at nine",
            zone: "UTC",
            staggerMs: 0,
            next: [
              { atMs: nowMs + hourMs, iso: "", local: "Mon 13:00" },
              { atMs: nowMs + 2 * dayMs, iso: "", local: "Wed 12:00" },
            ],
          };
        },
      },
    });
    const empty = drawerOf(await page.text());
    const values = { name: "tea", kind: "cron", when: "0 9 * * *", zone: "UTC", message: "make tea" };
    const shown = drawerOf(await page.submit("Show its times", values));
    fails = true;
    const wrong = drawerOf(await page.submit("Show its times", values));
    fails = false;
    const again = drawerOf(await page.submit("Show its times", values));
    expect(again).toBe(shown);
    await expect(
      section("empty", empty) + section("with its times", shown) + section("what cannot be meant", wrong),
    ).toMatchFileSnapshot("shown/schedule-new.txt");
  });

  test("what a schedule cannot mean is told at the form, and nothing can be made of it", async () => {
    const page = await showPage(Schedules, {
      at: "#/schedules?new=1",
      answers: {
        "cron.list": { jobs: [] },
        "cron.explain": () => {
          throw page.refusal("invalid", "no such hour");
        },
      },
    });
    const shown = await page.submit("Show its times", { kind: "cron", when: "0 99 * * *" });
    expect(shown).toContain("! no such hour");
    expect(shown).not.toContain("Make it");
  });
});

describe("devices", () => {
  type Device = MethodResult<"devices.list">["devices"][number];
  const device = (id: string, more: Partial<Device> = {}): Device => ({
    id,
    name: `device ${id}`,
    scopes: ["read", "write", "approve", "admin"],
    peer: `peer-${id}`,
    createdAtMs: nowMs - id.length * dayMs,
    connections: 0,
    ...more,
  });
  const devices = [
    device("all"),
    device("two", { scopes: ["read", "approve"], connections: 2 }),
    device("phone", {
      scopes: [],
      connections: 1,
      grants: ["notify"],
      most: ["notify", "camera"],
      lastSeenAtMs: nowMs - minuteMs,
    }),
    device("here", { peer: "peer-of-this-browser", connections: 1 }),
    device("away", { scopes: [], grants: ["run", "files"], most: ["run", "files"] }),
  ];
  const answers = {
    "devices.list": { devices },
    "devices.revoke": { id: "x", name: "x", closed: 3 },
    "devices.rotate": ({ id, byHand }: { id: string; byHand?: boolean }) => {
      const made = { id, name: `device ${id}`, closed: 2 };
      if (id === "all") return { ...made, token: "the-new-token" };
      return byHand === true || id === "away"
        ? { ...made, code: "CODE", url: "http://h", link: "http://h/#pair=CODE" }
        : { ...made, handed: true };
    },
    "devices.mint": { id: "n", token: "minted-token", peer: "p" },
    "devices.link": { url: "http://h/#code=1" },
    "devices.pair": {
      name: "laptop",
      grants: ["run"],
      code: "PAIR",
      url: "http://h",
      link: "http://h/#pair=PAIR",
    },
  } as never;

  test("each with what it may do and where it is; one with its buttons", async () => {
    const page = await showPage(Devices, { at: "#/devices", answers, peer: "peer-two" });
    const all = await page.text();
    const ones: string[] = [];
    for (const { id } of devices) ones.push(section(id, drawerOf(await page.go(`#/devices/${id}`))));
    const none = await showPage(Devices, { at: "#/devices", answers: { "devices.list": { devices: [] } } });
    await expect(
      section("the list", all) +
        ones.join("") +
        section("gone", drawerOf(await page.go("#/devices/none"))) +
        section("a new one", drawerOf(await page.go("#/devices?new=1"), "## New device")) +
        section("none", await none.text()),
    ).toMatchFileSnapshot("shown/devices.txt");
  });

  test("a device that has not said who it is, is not this browser", async () => {
    const unknown = { "devices.list": { devices: [device("odd", { peer: "" })] } };
    const page = await showPage(Devices, { at: "#/devices/odd", answers: unknown, peer: "" });
    expect(await page.text()).not.toContain("this browser");
    expect(await page.text()).not.toContain("This browser");
  });

  test("a grant is taken back, a token renewed and a device revoked, each by its own call", async () => {
    const page = await showPage(Devices, { at: "#/devices/phone", answers });
    expect(await page.press("Take back camera")).toBe("Taken back.");
    expect(await page.press("New token")).toBe("It was told, and takes a new token by itself.");
    expect(await page.text()).not.toContain("Scan this");
    expect(await page.press("New token by a code")).toBe("The old token is void. 2 connections cut.");
    expect(await page.text()).toContain("[copy parley node run --url http://h --code CODE]");
    expect(await page.press("Revoke")).toBe("Revoked. 3 connections cut.");
    // The code of one is not shown beside another.
    expect(await page.go("#/devices/all")).not.toContain("Scan this");
    expect(await page.press("New token")).toBe("The old token is void. 2 connections cut.");
    expect(await page.text()).toContain("[copy the-new-token]");
    // Each is followed by another look at the list.
    const list = "devices.list {}";
    expect(page.asked).toEqual([
      list,
      'devices.revoke {"id":"phone","grants":["camera"]}',
      list,
      'devices.rotate {"id":"phone"}',
      list,
      'devices.rotate {"id":"phone","byHand":true}',
      list,
      'devices.revoke {"id":"phone"}',
      list,
      'devices.rotate {"id":"all"}',
      list,
    ]);
  });

  test("what was made is shown whole: a token, a code to pair with, a link, and what an old token gave way to", async () => {
    const page = await showPage(Devices, { at: "#/devices?new=1", answers, may: ["read", "admin"] });
    const drawer = (text: string): string => drawerOf(text, "## New device");
    await page.submit("Make a token", { name: "phone", read: "on" });
    const minted = drawer(await page.text());
    await page.submit("Make a pairing code", { device: "laptop", run: "on" });
    await page.press("Make a link");
    const all = drawer(await page.text());
    await page.go("#/devices/away");
    await page.press("New token");
    const byCode = drawerOf(await page.text());
    await page.go("#/devices/all");
    await page.press("New token");
    const shown = drawerOf(await page.text());
    await page.go("#/devices/phone");
    await page.press("New token");
    const told = drawerOf(await page.text());
    await expect(
      section("a token", minted) +
        section("a code and a link", all) +
        section("a new token by a code", byCode) +
        section("a new token", shown) +
        section("one that was told", told),
    ).toMatchFileSnapshot("shown/device-made.txt");
  });

  test("a token is made with the scopes that were chosen and are held; a code pairs with the grants chosen", async () => {
    const page = await showPage(Devices, { at: "#/devices?new=1", answers, may: ["read", "write", "admin"] });
    const shown = await page.submit("Make a token", {
      name: "phone",
      read: "on",
      approve: "on",
      admin: "on",
    });
    expect(shown).toContain("The token of “phone”. It is shown this one time: copy it now.");
    expect(shown).toContain("[copy minted-token]");
    const paired = await page.submit("Make a pairing code", { device: "laptop", run: "on", camera: "on" });
    expect(paired).toContain("[copy parley node run --url http://h --code PAIR]");
    await page.press("Make a link");
    expect(await page.text()).toContain("[copy http://h/#code=1]");
    expect(page.asked).toEqual([
      "devices.list {}",
      'devices.mint {"name":"phone","scopes":["read","admin"]}',
      "devices.list {}",
      'devices.pair {"name":"laptop","grants":["camera","run"]}',
      "devices.link {}",
    ]);
  });
});

describe("channels", () => {
  type Account = MethodResult<"channels.list">["channels"][number];
  const states = ["starting", "ok", "degraded", "down", "stopped", "elsewhere"] as const;
  const accounts = states.map(
    (state, at): Account =>
      ({
        channel: at % 2 === 0 ? "telegram" : "discord",
        account: state,
        state,
        ...(state === "down" ? { reason: "the token is wrong" } : {}),
        ...(state === "ok" ? { lastInboundAtMs: nowMs - hourMs } : {}),
      }) as Account,
  );
  const pairing = {
    pending: [
      {
        code: "ABC1",
        channel: "telegram",
        account: "default",
        senderId: "7",
        senderName: "Eve\u202e",
        expiresAtMs: nowMs + hourMs,
      },
      {
        code: "DEF2",
        channel: "discord",
        account: "b",
        senderId: "12\u202e",
        senderName: "Mal",
        expiresAtMs: nowMs + 2 * hourMs,
      },
    ],
    paired: [
      { channel: "discord", account: "b", senderId: "9", senderName: "Ada", atMs: nowMs - dayMs },
      { channel: "telegram", account: "a", senderId: "8", senderName: "Bob", atMs: nowMs - 2 * dayMs },
    ],
  };
  const place = (kind: string, title: string | null, ...names: readonly string[]): object => ({
    conversation: `telegram:ok:${kind}:1`,
    channel: "telegram",
    account: "ok",
    kind,
    names,
    title,
    lastAtMs: 0,
  });
  let fate: object | null = null;
  const answers = {
    "channels.list": { channels: accounts },
    "pairing.list": pairing,
    "pairing.approve": {},
    "pairing.revoke": {},
    "channels.places": {
      places: [
        place("dm", null, "Eve"),
        place("group", "Garden", "a", "b", "c", "d"),
        place("channel", null),
      ],
    },
    "channels.test": ({ idempotencyKey: id }: { idempotencyKey: string }) => ({
      id,
      conversation: "discord:ok:dm:7",
    }),
    "outbox.show": () => fate,
  } as never;

  test("each account's state and what it means; who asks and who was let in", async () => {
    const page = await showPage(Channels, { at: "#/channels", answers });
    const all = await page.text();
    const ones: string[] = [];
    for (const { channel, account } of accounts)
      ones.push(
        section(account, drawerOf(await page.go(`#/channels/${channel}:${account}`), `## ${channel}`)),
      );
    const none = await showPage(Channels, {
      at: "#/channels",
      answers: { "channels.list": { channels: [] }, "pairing.list": { pending: [], paired: [] } },
    });
    const looker = await showPage(Channels, {
      at: "#/channels/telegram:starting",
      answers,
      may: ["read"],
      has: (name) => name === "logs",
    });
    await expect(
      section("the list", all) +
        ones.join("") +
        section("gone", drawerOf(await page.go("#/channels/x:y"))) +
        section("may only look", await looker.text()) +
        section("none", await none.text()),
    ).toMatchFileSnapshot("shown/channels.txt");
  });

  test("each button is offered to whoever has its scope alone", async () => {
    const at = (scope: Scope) => offeredTo(scope, Channels, { at: "#/channels/telegram:starting", answers });
    expect([await at("write"), await at("approve"), await at("admin")]).toEqual([
      [],
      ["Let in", "Let in", "Put out", "Put out"],
      ["Send a test message"],
    ]);
  });

  test("people are let in by their code and put out by channel, account and id", async () => {
    const page = await showPage(Channels, {
      at: "#/channels",
      answers: {
        "channels.list": { channels: accounts },
        "pairing.list": pairing,
        "pairing.approve": {},
        "pairing.revoke": {},
      } as never,
    });
    expect(await page.press("Let in", 1)).toBe("Let in.");
    expect(await page.press("Let in", 0)).toBe("Let in.");
    expect(await page.press("Put out", 1)).toBe(undefined);
    expect(await page.press("Put out", 0)).toBe(undefined);
    const look = ["channels.list {}", "pairing.list {}"];
    expect(page.asked).toEqual([
      ...look,
      'pairing.approve {"code":"DEF2"}',
      ...look,
      'pairing.approve {"code":"ABC1"}',
      ...look,
      'pairing.revoke {"id":"telegram:a:8"}',
      ...look,
      'pairing.revoke {"id":"discord:b:9"}',
      ...look,
    ]);
  });

  test("a test message tells what became of it, and is asked for no more once that is known", async () => {
    const page = await showPage(Channels, { at: "#/channels/discord:ok", answers });
    const delivery = (state: string, part: object): object => ({
      id: "d1",
      conversation: "discord:ok:dm:7",
      cause: "c",
      createdAtMs: nowMs,
      state,
      text: "t",
      parts: [
        { state, attempts: 1, flagged: false, messageId: null, startedAtMs: null, reason: null, ...part },
      ],
    });
    const looks = (): number => page.asked.filter((each) => each.startsWith("outbox.show")).length;
    const tell = async (): Promise<string> => drawerOf(await page.pass(1_000), "[Send a test message]");
    fate = delivery("waiting", {});
    const waiting = drawerOf(
      await page.submit("Send a test message", { to: "user:7", text: "" }),
      "[Send a test message]",
    );
    fate = delivery("open", { attempts: 2 });
    const open = await tell();
    fate = delivery("ambiguous", { reason: "no answer" });
    const ambiguous = await tell();
    const before = looks();
    fate = delivery("sent", { messageId: "m1", reason: "was slow" });
    await page.pass(5_000);
    expect(looks()).toBe(before);
    await page.submit("Send a test message", { to: "user:7", text: "hello" });
    const sent = await tell();
    expect(page.asked.filter((each) => each.startsWith("channels.test"))).toEqual([
      'channels.test {"to":"user:7","channel":"discord","account":"ok","idempotencyKey":"uuid-1"}',
      'channels.test {"to":"user:7","channel":"discord","account":"ok","text":"hello","idempotencyKey":"uuid-2"}',
    ]);
    let answered = (): void => {};
    const slow = await showPage(Channels, {
      at: "#/channels/discord:ok",
      answers: {
        ...(answers as object),
        "channels.test": () => new Promise<object>((resolve) => (answered = () => resolve({ id: "slow" }))),
        "outbox.show": () => new Promise<object>(() => {}),
      } as never,
    });
    const form = "### Try it";
    const busy = drawerOf(await slow.submit("Send a test message", { to: "user:7", text: "" }), form);
    answered();
    const unknown = drawerOf(await slow.text(), form);
    await expect(
      section("while it is handed over", busy) +
        section("until its fate is known", unknown) +
        section("waiting", waiting) +
        section("open", open) +
        section("ambiguous", ambiguous) +
        section("sent", sent) +
        section("beside another account", drawerOf(await page.go("#/channels/telegram:starting"))),
    ).toMatchFileSnapshot("shown/channel-test.txt");
  });
});

describe("sessions", () => {
  const kinds = ["main", "dm", "group", "channel", "subagent", "cron", "hook", "api"] as const;
  const session = (kind: (typeof kinds)[number]) => ({
    key: `agent:main:${kind}:x`,
    agent: `${kind}s`,
    kind,
    epoch: 1_200,
    createdAtMs: nowMs - kind.length * dayMs,
    updatedAtMs: nowMs - kind.length * minuteMs,
    model: null,
    thinking: null,
    reasoning: null,
    name: kind === "group" ? "Garden" : null,
    working: kind === "dm",
    inputTokens: 1_000 * kind.length,
    outputTokens: 34,
  });
  const entries = (["user", "assistant", "toolResult", "summary", "notice"] as const).map((type, at) => ({
    seq: at,
    epoch: 1,
    turn: `t${at}`,
    type,
    text: `${type} words`,
    atMs: nowMs - at * 1_000,
  }));
  const shown = ({ key }: { key: string }) =>
    key.includes("group")
      ? { ...session("group"), entries, model: "m", thinking: "high", reasoning: "on" }
      : { ...session("dm"), key, entries: [] };
  const answers = {
    "sessions.list": { sessions: kinds.map(session) },
    "sessions.show": shown,
    "sessions.tree": ({ key = "agent:main:dm:x" }: { key?: string }) => {
      const of = (depth: number, more: object) => ({
        key,
        parent: null,
        depth,
        label: null,
        task: null,
        state: "idle",
        reason: null,
        startedAtMs: nowMs - 60_000,
        endedAtMs: null,
        tokens: 0,
        ...more,
      });
      const child = { key: "agent:main:subagent:x", label: "digger", task: "dig", parent: key };
      if (key.endsWith(":subagent:y"))
        return { sessions: [of(0, { parent: "agent:main:group:x", label: null, task: "" })] };
      return key.includes(":subagent:")
        ? { sessions: [of(0, { ...child, parent: "agent:main:dm:x" })] }
        : {
            sessions: [
              of(0, {}),
              of(1, { ...child, state: "running" }),
              of(2, { key: "agent:main:subagent:y", parent: child.key, state: "failed", reason: "no spade" }),
            ],
          };
    },
    "sessions.reset": {},
    "sessions.compact": { id: "row" },
    "sessions.forget": { entries: 1 },
  } as never;

  test("every kind in the list; one with its words and settings", async () => {
    const page = await showPage(Sessions, { at: "#/sessions", answers });
    const all = await page.text();
    const looker = await showPage(Sessions, {
      at: "#/sessions/agent%3Amain%3Adm%3Ax",
      answers,
      may: ["read"],
    });
    const trouble = await showPage(Sessions, {
      at: "#/sessions/agent%3Amain%3Adm%3Ax",
      answers: { "sessions.list": { sessions: [] } },
    });
    await expect(
      section("the list", all) +
        section("with words", drawerOf(await page.go("#/sessions/agent%3Amain%3Agroup%3Ax"), "## Garden")) +
        section("without words", drawerOf(await page.go("#/sessions/agent%3Amain%3Adm%3Ax"), "## dm")) +
        section("may only look", drawerOf(await looker.text(), "## dm")) +
        section(
          "a sub-agent",
          drawerOf(await page.go("#/sessions/agent%3Amain%3Asubagent%3Ax"), "## digger"),
        ) +
        section(
          "a sub-agent without a name and a task",
          drawerOf(await page.go("#/sessions/agent%3Amain%3Asubagent%3Ay"), "## subagent y"),
        ) +
        section("unreadable", await trouble.text()),
    ).toMatchFileSnapshot("shown/sessions.txt");
  });

  test("each button is offered to whoever has its scope alone", async () => {
    const at = (scope: Scope) =>
      offeredTo(scope, Sessions, { at: "#/sessions/agent%3Amain%3Agroup%3Ax", answers });
    expect([await at("write"), await at("approve"), await at("admin")]).toEqual([
      [],
      [],
      ["Begin anew", "Compact", "Forget"],
    ]);
  });

  test("one is begun anew under a key that says which beginning, compacted, and forgotten with a count", async () => {
    const page = await showPage(Sessions, { at: "#/sessions/agent%3Amain%3Agroup%3Ax", answers });
    expect(await page.press("Begin anew")).toBe("Begun anew.");
    expect(await page.press("Compact")).toBe("It stands in the conversation's queue.");
    expect(await page.press("Forget")).toBe("1 entry deleted.");
    const show = 'sessions.show {"key":"agent:main:group:x","limit":100}';
    expect(page.asked).toEqual([
      'sessions.list {"limit":1000}',
      show,
      "models.list {}",
      'sessions.tree {"key":"agent:main:group:x"}',
      "sessions.tree {}",
      'sessions.reset {"key":"agent:main:group:x","idempotencyKey":"reset-1200-agent:main:group:x"}',
      show,
      'sessions.compact {"key":"agent:main:group:x","idempotencyKey":"uuid-1"}',
      'sessions.forget {"key":"agent:main:group:x"}',
      show,
    ]);
    // No key of the gateway's is longer than this.
    const long = `agent:main:dm:${"x".repeat(200)}`;
    await page.go(`#/sessions/${encodeURIComponent(long)}`);
    await page.press("Begin anew");
    const [, key = ""] = /"idempotencyKey":"([^"]+)"/.exec(page.asked.at(-2) ?? "") ?? [];
    expect([key.length, key.startsWith("reset-1200-agent:main:dm:x")]).toEqual([128, true]);
  });
});

test("a token without a scope sees no button that needs it", async () => {
  const scopes: readonly Scope[] = ["read", "write"];
  const answers = {
    "pairing.list": {
      pending: [{ code: "A", channel: "c", account: "a", senderId: "1", senderName: "E", expiresAtMs: 0 }],
      paired: [{ channel: "c", account: "a", senderId: "2", senderName: "F", atMs: 0 }],
    },
    "channels.list": { channels: [] },
  } as never;
  const shown = await (await showPage(Channels, { at: "#/channels", answers, may: scopes })).text();
  expect(shown).not.toMatch(/Let in|Put out/);
});

/** The drawer alone: from its last heading, or from the words given. */
function drawerOf(text: string, from = "\n## "): string {
  return text.slice(text.lastIndexOf(from) + (from.startsWith("\n") ? 1 : 0));
}
