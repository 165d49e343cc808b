// Heartbeats on the message path: what they say is an alert to the owner, or nothing on any surface.
import { writeFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const minuteMs = 60_000;
const lane = "agent:main:telegram:dm:olga" as never;

async function begin(file: string | null): Promise<Person> {
  s = await stage({
    catalogue: true,
    config: {
      commands: { ownerAllowFrom: ["telegram:olga"] },
      agents: { defaults: { heartbeat: { every: "10m" } } },
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
    [""],
  ];
  let asked = 0;
  s.model.answers(() => ({ says: ways[asked++ % ways.length] ?? [] }));
  await s.pass(60 * minuteMs);
  expect(asked).toBeGreaterThanOrEqual(5);
  expect(s.model.asked[0]?.text).toContain("[System Message] Read HEARTBEAT.md if it exists");
  expect(olga.sees()).toEqual([]);
  expect(await s.deliveries()).toEqual([]);
  expect((await s.rows({ lane })).every(({ outcome }) => outcome === "silent")).toBe(true);
});

test("with something to say it says that once, and one that fails says nothing", async () => {
  const olga = await begin("- look at the oven\n");
  s.model.answers(() => "The oven is on.");
  await olga.gets("The oven is on.");
  s.model.answers(() => ({ fails: "refused" }));
  await s.pass(21 * minuteMs);
  expect(olga.sees()).toEqual(["The oven is on."]);
});

test("is not sent while its file says nothing", async () => {
  const olga = await begin("# Heartbeat\n\n<!-- nothing yet -->\n");
  s.model.answers(() => "hello");
  await s.pass(60 * minuteMs);
  expect(s.model.asked).toEqual([]);
  expect(olga.sees()).toEqual([]);
});
