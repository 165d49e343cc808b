// The audit log: what stands in it of each call, and what never does; and that it is read back over files and
// cut lines.
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { dispatcher, type Caller, type Handlers } from "@parley/control";
import { noRefusals } from "@parley/access";
import { Fault, methods, silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { auditLog, readAudit } from "../../src/audit/audit-log.ts";
import { auditMethods } from "../../src/operator/audit.ts";

const caller: Caller = {
  peer: "web-1",
  scopes: ["read", "write", "approve", "admin"],
  client: { name: "cli", version: "1" },
  device: "dev1",
  address: "10.0.0.7",
};

test("records who asked for what and how it ended, and no word, value or secret", async () => {
  const home = mkdtempSync(join(tmpdir(), "parley-audit-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const clock = virtualClock();
  const log = auditLog(home, clock);
  const handlers = Object.fromEntries(
    Object.keys(methods).map((name) => [
      name,
      async () => {
        if (name === "restore") throw new Fault("unsupported", "the gateway runs");
        return {};
      },
    ]),
  ) as unknown as Handlers;
  const dispatch = dispatcher({
    handlers,
    ownsSession: () => true,
    once: (_request, run) => run(),
    audit: log.write,
    refusals: noRefusals,
    clock,
    ids: seededIds(1),
    log: silentLog,
  });
  const ask = (method: string, params: object, by: Caller = caller) =>
    dispatch({ type: "req", id: "1", method, params } as never, by);
  await ask("status", {});
  await ask("chat.send", { text: "a canary sang", idempotencyKey: "k" });
  await ask("config.set", { changes: [{ path: ["models", "key"], value: "canary" }] });
  await ask("sessions.forget", { key: "agent:main:main" });
  await ask("people.forget", { person: "telegram:canary" });
  await ask("pairing.approve", { code: "CANARY" });
  await ask("backup", { path: "/b", passphrase: "canary" }, { ...caller, device: null });
  await ask("restore", { path: "/b" });
  await ask("dead.drop", { id: "x" }, { ...caller, scopes: ["read"] });
  log.close();
  const found = readAudit(home);
  expect(found.map(({ method, by, ok, code, about }) => [method, by, ok, code ?? "", about])).toEqual([
    ["config.set", "device:dev1", true, "", { changes: ["models.key"] }],
    ["sessions.forget", "device:dev1", true, "", { key: "agent:main:main" }],
    ["people.forget", "device:dev1", true, "", {}],
    ["pairing.approve", "device:dev1", true, "", {}],
    ["backup", "gateway-token", true, "", { path: "/b" }],
    ["restore", "device:dev1", false, "unsupported", { path: "/b" }],
    ["dead.drop", "device:dev1", false, "denied", { id: "x" }],
  ]);
  expect(JSON.stringify(found).toLowerCase()).not.toContain("canary");
});

test("keeps one record of a look, however often an open page asks, and another of whoever comes back", async () => {
  const clock = virtualClock();
  const written: string[] = [];
  const dispatch = dispatcher({
    handlers: Object.fromEntries(Object.keys(methods).map((name) => [name, async () => ({})])) as never,
    ownsSession: () => true,
    once: (_request, run) => run(),
    audit: ({ method, by, ok }) => void written.push(`${method} ${by} ${ok ? "done" : "refused"}`),
    refusals: noRefusals,
    clock,
    ids: seededIds(1),
    log: silentLog,
  });
  const told = async (method: string, by: Caller = caller, params: object = {}): Promise<string[]> => {
    await dispatch({ type: "req", id: "1", method, params } as never, by);
    return written.splice(0);
  };
  expect(await told("audit.list")).toEqual(["audit.list device:dev1 done"]);
  for (let poll = 0; poll < 1_000; poll += 1) {
    await clock.advance(5_000);
    expect(await told("audit.list")).toEqual([]);
  }
  for (const method of ["devices.list", "backups.list", "config.text", "logs.tail", "update.check"])
    for (const recorded of [[`${method} device:dev1 done`], []]) expect(await told(method)).toEqual(recorded);
  // Another connection, another thing, a refusal, and whoever was away.
  expect(await told("audit.list", { ...caller })).toEqual(["audit.list device:dev1 done"]);
  for (const agent of ["a", "b"])
    expect(await told("prompt.show", caller, { agent })).toEqual(["prompt.show device:dev1 done"]);
  expect(await told("prompt.show", caller, { agent: "a" })).toEqual([]);
  for (const turn of [1, 2])
    expect(await told("prompt.show", caller, { session: "s", turn })).toEqual([
      "prompt.show device:dev1 done",
    ]);
  const reader = { ...caller, scopes: ["read"] } as const satisfies Caller;
  for (let times = 0; times < 2; times += 1)
    expect(await told("audit.list", reader)).toEqual(["audit.list device:dev1 refused"]);
  await clock.advance(300_000);
  expect(await told("audit.list")).toEqual(["audit.list device:dev1 done"]);
  // What changes something is recorded each time; of more than a hundred things seen the oldest begins anew.
  for (let times = 0; times < 2; times += 1)
    expect(await told("dead.drop", caller, { id: "x" })).toEqual(["dead.drop device:dev1 done"]);
  for (let at = 0; at < 100; at += 1) {
    await told("prompt.show", caller, { agent: `agent-${at}` });
    // What is asked for again is not the oldest.
    if (at >= 50) expect(await told("prompt.show", caller, { agent: "agent-0" })).toEqual([]);
  }
  expect(await told("prompt.show", caller, { agent: "agent-99" })).toEqual([]);
  expect(await told("audit.list")).toEqual(["audit.list device:dev1 done"]);
});

test("is read over its files, without lines that were cut, and page by page", async () => {
  const home = mkdtempSync(join(tmpdir(), "parley-audit-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  mkdirSync(join(home, "audit"));
  const line = (atMs: number, method: string): string =>
    `${JSON.stringify({ atMs, method, by: "once", client: "c", address: "local", about: {}, ok: true })}\n`;
  writeFileSync(join(home, "audit", "audit.1.log"), line(1, "backup") + line(2, "dead.drop"));
  writeFileSync(join(home, "audit", "audit.log"), line(3, "backup"));
  appendFileSync(join(home, "audit", "audit.log"), line(4, "restart").slice(0, 20));
  const list = auditMethods({ home })["audit.list"];
  const at = async (params: object) => (await list(params)).records.map(({ atMs }) => atMs);
  expect(await at({})).toEqual([1, 2, 3]);
  expect(await at({ method: "back", sinceMs: 2 })).toEqual([3]);
  expect(await list({ limit: 2 })).toMatchObject({ more: true, records: [{ atMs: 2 }, { atMs: 3 }] });
  expect(await list({ limit: 2, skip: 2 })).toMatchObject({ more: false, records: [{ atMs: 1 }] });
});

test("of ten files the oldest is read first, and a file is full at ten megabytes", () => {
  const home = mkdtempSync(join(tmpdir(), "parley-audit-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const clock = virtualClock();
  const megabyte = "x".repeat(1_000_000);
  const log = auditLog(home, clock);
  const call = { by: "once", client: "c", address: "local", ok: true, about: {} } as const;
  for (let n = 0; n < 12; n += 1) {
    clock.jumpWall(1_000);
    log.write({ ...call, method: "backup", about: { path: n === 11 ? "last" : megabyte } } as never);
  }
  log.close();
  const atMs = clock.now();
  const times = (): readonly number[] => readAudit(home).map((each) => (each.atMs - atMs) / 1_000);
  expect(times()).toEqual([-11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0]);
  expect(readdirSync(join(home, "audit")).toSorted()).toEqual(["audit.1.log", "audit.log"]);
  const inFile = (name: string): number =>
    readFileSync(join(home, "audit", name), "utf8").split("\n").length - 1;
  expect([inFile("audit.1.log"), inFile("audit.log")]).toEqual([9, 3]);
  for (let nth = 2; nth <= 10; nth += 1)
    writeFileSync(
      join(home, "audit", `audit.${nth}.log`),
      `${JSON.stringify({ ...call, atMs: atMs - nth * 100_000 })}\n`,
    );
  expect(times().slice(0, 9)).toEqual([-900, -800, -700, -600, -500, -400, -300, -200, -11]);
});
