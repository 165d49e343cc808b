// Heartbeats on the message path: what they say is an alert to the owner, or nothing on any surface.
import { writeFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { JobMaker } from "@parley/runner";
import { isWithin } from "../../src/schedules/heartbeats.ts";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const minuteMs = 60_000;
const lane = "agent:main:telegram:dm:olga" as never;

async function begin(file: string | null, heartbeat: object = {}, more: object = {}): Promise<Person> {
  s = await stage({
    catalogue: true,
    config: {
      commands: { ownerAllowFrom: ["telegram:olga"] },
      agents: { defaults: { heartbeat: { every: "10m", ...heartbeat } }, ...more },
    },
    telegram: { streaming: "edit" },
  });
  await mkdir(join(s.home, "workspace"), { recursive: true });
  if (file !== null) await writeFile(join(s.home, "workspace", "HEARTBEAT.md"), file);
  return s.person("olga");
}

test("with nothing to say it sends nothing, in any chunking, and leaves no trace in the transcript", async () => {
  const olga = await begin("- look at the oven\n");
  const ways = [
    ["HEARTBEAT_OK"],
    ["HEART", "BEAT_", "OK"],
    "HEARTBEAT_OK".split(""),
    ["**HEARTBEAT_OK**"],
    ["_HEART", "BEAT_OK_"],
    ["`HEARTBEAT_", "OK`"],
    ["HEARTBEAT_OK", "."],
    ["HEARTBEAT_OK!"],
    ["# HEART", "BEAT_OK\n"],
    ["<b>HEARTBEAT_OK</b>"],
    ["All is quiet. ", "HEARTBEAT_OK."],
    [""],
  ];
  let asked = 0;
  s.model.answers(() => ({ says: ways[asked++ % ways.length] ?? [] }));
  await s.pass((ways.length + 1) * 10 * minuteMs);
  expect(asked).toBeGreaterThanOrEqual(ways.length);
  expect(s.model.asked[0]?.text).toContain("[System Message] Read HEARTBEAT.md if it exists");
  expect(olga.sees()).toEqual([]);
  expect(await s.deliveries()).toEqual([]);
  expect((await s.rows({ lane })).every(({ outcome }) => outcome === "silent")).toBe(true);
});

test("its tool calls are not shown, not even where /verbose shows those of answers", async () => {
  const olga = await begin("- look at the oven\n");
  await olga.says("/verbose full").gets(/^Tool calls are/);
  s.model.answers(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? "HEARTBEAT_OK"
      : { calls: { name: "read", args: { path: "HEARTBEAT.md" } } },
  );
  const before = olga.sees();
  await s.pass(21 * minuteMs);
  expect(s.model.asked.length).toBeGreaterThanOrEqual(4);
  expect(olga.sees()).toEqual(before);
});

test("with something to say it says that once, and one that fails says nothing", async () => {
  const olga = await begin("- look at the oven\n");
  s.model.answers(() => "The oven is on.");
  await olga.gets("The oven is on.");
  s.model.answers(() => ({ fails: "refused" }));
  await s.pass(21 * minuteMs);
  expect(olga.sees()).toEqual(["The oven is on."]);
});

test("is not sent while its file says nothing, with line ends of another system too", async () => {
  await begin("\uFEFF# Heartbeat\r\n\r\n- [ ]\r\n");
  await s.pass(30 * minuteMs);
  expect(s.model.asked).toEqual([]);
});

test("is not sent while its file says nothing", async () => {
  const olga = await begin("# Heartbeat\n\n<!-- nothing yet -->\n");
  s.model.answers(() => "hello");
  await s.pass(60 * minuteMs);
  expect(s.model.asked).toEqual([]);
  expect(olga.sees()).toEqual([]);
});

const olgas: JobMaker = {
  agent: "main",
  kind: "turn",
  sender: "telegram:olga",
  isOwner: true,
  conversation: { channel: "telegram", account: "default", kind: "dm", peer: "olga" },
  session: lane,
  turn: null,
  authority: "owner",
  tools: null,
};

async function wake(text: string): Promise<void> {
  const { schedules } = s.core();
  const row = await schedules.wake({ text, mode: "next-heartbeat" }, olgas, text);
  await schedules.tell(row, "main", "next-heartbeat");
}

test("active hours go over midnight, end at 24:00, and are none where both ends are equal", () => {
  const at = (time: string) => Date.parse(`2026-11-23T${time}:00Z`);
  const within = (start: string, end: string, time: string, timezone = "UTC") =>
    isWithin({ start, end, timezone }, "Europe/Berlin", at(time));
  expect(["07:59", "08:00", "21:59", "22:00"].map((time) => within("08:00", "22:00", time))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(["21:59", "22:00", "00:00", "05:59", "06:00"].map((time) => within("22:00", "06:00", time))).toEqual(
    [false, true, true, true, false],
  );
  expect(within("08:00", "24:00", "23:59")).toBe(true);
  expect(within("08:00", "08:00", "08:00")).toBe(false);
  expect(within("09:00", "10:00", "08:30", "user")).toBe(true);
});

test("outside of its active hours it costs no call, and what was kept for it is told when they begin", async () => {
  // The virtual clock begins at midnight.
  const olga = await begin(null, { activeHours: { start: "00:25", end: "01:30", timezone: "UTC" } });
  s.model.answers(() => "The oven is on.");
  await wake("the build is red");
  await s.pass(20 * minuteMs);
  expect(s.model.asked).toEqual([]);
  await s.pass(20 * minuteMs);
  expect(s.model.asked[0]?.users.join("\n")).toContain("the build is red");
  expect(olga.sees()).not.toEqual([]);
});

test("events for the next heartbeat are read in its turn, once, also when its file says nothing", async () => {
  const olga = await begin("# Heartbeat\n");
  s.model.answers(() => "Three things.");
  await wake("the build is red");
  const job = await s.core().schedules.add(
    {
      name: "tea",
      schedule: { kind: "at", at: "1m" },
      text: "Drink the tea",
      target: "main",
      wake: "next-heartbeat",
    },
    olgas,
  );
  await s.pass(2 * minuteMs);
  expect(s.model.asked).toEqual([]);
  await s.kill();
  await s.start();
  await olga.gets("Three things.");
  const [first] = s.model.asked;
  for (const words of ["Read HEARTBEAT.md", "the build is red", "Drink the tea"])
    expect(first?.users.join("\n")).toContain(words);
  await s.pass(40 * minuteMs);
  expect(s.model.asked).toHaveLength(1);
  expect(olga.sees()).toEqual(["Three things."]);
  expect(await s.core().schedules.jobs.get(job.id)).toBeNull();
  await expect(await s.trace()).toMatchFileSnapshot("traces/heartbeat-events.txt");
});

test("an event whose turn fails for good is told as what it is, and not as a message of the person", async () => {
  const olga = await begin("- look at the oven\n");
  s.model.answers(() => {
    throw new Error("the model is broken");
  });
  await wake("the build is red");
  await s.pass(12 * minuteMs);
  expect(olga.sees()).toEqual([
    "⚠️ I failed on this for good and put it aside; the operator can see why:\n\nEvent for this session:\nthe build is red",
  ]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/heartbeat-failed.txt");
});

test("where active hours are none, an event for the next heartbeat is told now", async () => {
  const olga = await begin(null, { activeHours: { start: "08:00", end: "08:00", timezone: "UTC" } });
  s.model.answers(() => "heard");
  await wake("the build is red");
  await olga.gets("heard");
});

test("without heartbeats an event for the next one is told now", async () => {
  const olga = await begin(null, { every: "0m" });
  s.model.answers(() => "It is red.");
  await wake("the build is red");
  await olga.gets("It is red.");
});

test("target none shows nobody what is said, and a target that is a place gets it there", async () => {
  let olga = await begin(null, { target: "none" });
  s.model.answers(() => "The oven is on.");
  await s.pass(21 * minuteMs);
  expect(s.model.asked.length).toBeGreaterThan(0);
  expect(olga.sees()).toEqual([]);
  expect(await s.deliveries()).toEqual([]);
  await s.close();
  olga = await begin(null, { target: "telegram:default:dm:olga" });
  s.model.answers(() => "The oven is on.");
  await olga.gets("The oven is on.");
});

test("an agent's own heartbeat replaces the defaults key by key", async () => {
  const olga = await begin(
    null,
    { every: "0m" },
    { list: [{ id: "main", heartbeat: { every: "5m", prompt: "Look at the oven.", lightContext: true } }] },
  );
  await writeFile(join(s.home, "workspace", "SOUL.md"), "I am calm.");
  await writeFile(join(s.home, "workspace", "HEARTBEAT.md"), "- look at the oven twice\n");
  s.model.answers(() => "The oven is on.");
  await olga.gets("The oven is on.");
  expect(s.model.asked[0]?.text).toContain("Look at the oven.");
  const system = JSON.stringify(s.model.asked[0]);
  expect(system).not.toContain("I am calm.");
});
