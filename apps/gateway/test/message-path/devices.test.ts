// Paired devices on the message path: a command waits for its owner's word, a device that is asleep for its
// time, and what it answers is a stranger's.
import { deviceStore } from "@parley/control";
import type { DeviceCalls } from "@parley/devices";
import { silentLog, systemIds, type DeviceGrant } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import { devicesPort, wireDevices } from "../../src/devices/wire-devices.ts";
import type { Answer, Asked } from "./scripted-model.ts";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
let calls: DeviceCalls;
afterEach(() => s.close());

/** "do {…}" invokes it on the laptop, then says what it was told. */
function script({ messages, text, users }: Asked): Answer {
  const last = messages.at(-1);
  if (last?.role === "tool") return "done";
  const asked = /do (\{.*\})$/.exec(users.at(-1) ?? "")?.[1];
  if (asked === undefined) return `re: ${text}`;
  const args = { action: "invoke", node: "laptop", ...(JSON.parse(asked) as object) };
  return { calls: { name: "nodes", args } };
}

async function begin(config: object = {}): Promise<Person> {
  s = await stage({
    catalogue: true,
    config: { commands: { ownerAllowFrom: ["telegram:olga"] }, ...config },
    ports(store, clock) {
      const hub = { isFollowed: () => false };
      calls = wireDevices({ hub, clock, ids: systemIds(), log: silentLog }, store);
      calls.pairing();
      return { devices: devicesPort(calls) };
    },
  });
  s.model.answers(script);
  return s.person("olga");
}

async function pair(...grants: DeviceGrant[]): Promise<string> {
  const devices = deviceStore(s.store().cells, s.clock, systemIds());
  const code = await devices.mintCode([], { name: "laptop", grants });
  return (await devices.redeemCode(code, "x"))?.id ?? "";
}

async function approval(): Promise<string> {
  const open = async () => (await s.core().approvals.list()).filter(({ state }) => state === "open");
  await s.until(async () => (await open()).length > 0, "the request");
  return (await open())[0]?.id ?? "";
}
/** What waits for the device. */
async function waiting(device: string) {
  let found: Awaited<ReturnType<DeviceCalls["waiting"]>> = [];
  await s.until(async () => (found = await calls.waiting(device, undefined)).length > 0, "the call");
  return found;
}
/** What the model was told of its calls. A chat would not show the fence around a stranger's words. */
const answers = (): readonly string[] =>
  s.model.asked.flatMap(({ messages }) => {
    const last = messages.at(-1);
    return last?.role === "tool" ? [JSON.stringify(last.content)] : [];
  });

test("a command goes to the device once an owner approved exactly it, and its answer goes on with the turn", async () => {
  const olga = await begin();
  const device = await pair("run", "notify");
  olga.says('do {"command":"run","argv":["git","status"]}');
  const id = await approval();
  expect(olga.sees()[0]).toMatch(/run this command on a device[^]*run: git status\non the device: laptop \(/);
  expect(await calls.waiting(device, undefined)).toEqual([]);
  olga.says(`/approve ${id} once`);
  const [call] = await waiting(device);
  expect(call).toMatchObject({ command: "run", argv: ["git", "status"] });
  expect(await calls.finish(device, call?.id ?? "", { ok: true, text: "exit 0\nclean" })).toBe(true);
  await s.until(() => answers().length > 0, "the answer");
  expect(answers()).toEqual([expect.stringContaining("clean")]);
  expect(await s.core().approvals.list()).toHaveLength(1);
});

test("killed while the device is at work, the approved command stands, and nobody is asked again", async () => {
  const olga = await begin();
  const device = await pair("run");
  olga.says('do {"command":"run","argv":["make"],"timeoutSeconds":3000}');
  olga.says(`/approve ${await approval()} once`);
  const [call] = await waiting(device);
  await s.kill();
  await s.start();
  expect(await calls.finish(device, call?.id ?? "", { ok: true, text: "made" })).toBe(true);
  await s.until(() => answers().length > 0, "the answer");
  expect(answers()).toEqual([expect.stringContaining("made")]);
  expect(await s.core().approvals.list()).toHaveLength(1);
});

test("denied, or where commands are off, the device hears nothing of it", async () => {
  const olga = await begin();
  const device = await pair("run");
  olga.says('do {"command":"run","argv":["rm","-rf","x"]}');
  olga.says(`/deny ${await approval()}`);
  await s.until(() => answers().length > 0, "the answer");
  expect(answers()[0]).toMatch(/denied by telegram:olga/);
  expect(await calls.waiting(device, undefined)).toEqual([]);
  await s.close();

  const other = await begin({ tools: { exec: { mode: "deny" } } });
  await pair("run");
  other.says('do {"command":"run","argv":["ls"]}');
  await s.until(() => answers().length > 0, "the answer");
  expect(answers()[0]).toMatch(/commands are off here/);
});

test("a command that was allowed always is not asked about again, on that device alone; no list of this machine counts", async () => {
  const olga = await begin({ tools: { exec: { allowlist: [{ command: "uptime" }] } } });
  const device = await pair("run");
  olga.says('do {"command":"run","argv":["uptime"]}');
  olga.says(`/approve ${await approval()} always`);
  for (const nth of [1, 2]) {
    const [call] = await waiting(device);
    await calls.finish(device, call?.id ?? "", { ok: true, text: `up ${nth} days` });
    await s.until(() => answers().length === nth, "the answer");
    if (nth === 1) {
      s.person("olga").says("/new");
      olga.says('do {"command":"run","argv":["uptime"]}');
    }
  }
  expect(await s.core().approvals.list()).toHaveLength(1);
});

test("without the grant nobody is asked; what needs no command needs no word", async () => {
  const olga = await begin();
  const device = await pair("notify");
  olga.says('do {"command":"run","argv":["ls"]}');
  await s.until(() => answers().length > 0, "the answer");
  expect(answers()[0]).toMatch(/without the grant .*run/);
  olga.says('do {"command":"notify","text":"tea"}');
  const [call] = await waiting(device);
  await calls.finish(device, call?.id ?? "", { ok: true, text: "shown" });
  await s.until(() => answers().length === 2, "the answer");
  expect(answers()[1]).toMatch(/shown/);
  expect(await s.core().approvals.list()).toEqual([]);
});

test("a grant that is taken back while a call waits ends it, and the turn is told", async () => {
  const olga = await begin();
  const device = await pair("notify", "camera");
  olga.says('do {"command":"camera","timeoutSeconds":600}');
  await waiting(device);
  const devices = deviceStore(s.store().cells, s.clock, systemIds());
  const left = await devices.setGrants(device, null, ["camera"]);
  expect(left).toEqual({ grants: ["notify"], most: ["notify"] });
  await calls.endOf(device, left?.grants);
  await s.until(() => answers().length > 0, "the answer");
  expect(answers()[0]).toMatch(/put out before it answered/);
  expect(await devices.setGrants(device, ["notify", "camera"])).toEqual(left);
});
