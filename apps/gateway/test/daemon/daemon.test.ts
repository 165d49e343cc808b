// One whole daemon in this process, over its edges: what it leaves in its home for others, what it tells of
// itself, how its config changes, and what is left when it has stopped.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { silentLog, systemClock, systemIds, version } from "@parley/protocol";
import { lockHome, sqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startDaemon } from "../../src/daemon/daemon.ts";
import { controlClient } from "../e2e/control-client.ts";
import { eventually } from "../e2e/daemon.ts";

const token = "a-token-of-this-test-0123456789abcdef";
const hookToken = "a-token-of-the-webhooks-0123456789abcdef";
let home: string;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-whole-"));
  home = join(folder, "state");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function statusAt(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request({ port, host: "127.0.0.1", path: "/healthz", headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asking.on("error", reject).end();
  });
}

test("a daemon is found, asked, changed and asked for a restart, and leaves nothing but its data", async () => {
  const file = join(folder, "parley.json5");
  const told = join(folder, "told");
  writeFileSync(join(folder, "systemd-notify"), `#!/bin/sh\necho "$*" >> ${told}\n`, { mode: 0o755 });
  const config = (more: object = {}): string =>
    JSON.stringify({
      gateway: { port: 0, auth: { token }, publicUrl: "https://gateway.test:8443/parley", ...more },
      hooks: {
        enabled: true,
        token: hookToken,
        internal: { entries: { "boot-md": { enabled: true } } },
      },
      agents: { list: [{ id: "main" }, { id: "second" }] },
      bindings: [{ agentId: "main", match: { channel: "web" } }],
    });
  writeFileSync(file, config());
  const env = {
    PATH: `${folder}:${process.env["PATH"]}`,
    HOME: folder,
    PARLEY_CONFIG: file,
    NOTIFY_SOCKET: "/s",
  };
  let restarts = 0;
  const options = {
    ...(await loadConfig({ env, home, wouldStart: "start" })),
    env,
    program: "/bin/false",
    clock: systemClock(),
    ids: systemIds(),
    pretty: false,
    onFatal: () => expect.unreachable("the store can be trusted"),
    restart: () => void (restarts += 1),
  };
  // A role is for several processes, and one that is refused leaves the place free.
  for (const role of ["edge", "worker"] as const)
    await expect(startDaemon({ ...options, role })).rejects.toMatchObject({
      code: "invalid",
      message: `--role ${role} is for several processes on one store: set store.driver to "redis" (docs/scale-out.md)`,
    });
  const daemon = await startDaemon(options);
  await expect(startDaemon(options)).rejects.toMatchObject({ code: "conflict" });
  expect(statSync(home).mode & 0o777).toBe(0o700);
  const log = (): readonly { readonly msg: string; readonly [field: string]: unknown }[] =>
    readFileSync(join(home, "logs/parley.log"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as never);

  // Who looks for it finds its port, and a token of this run that lets in.
  const { port } = new URL(daemon.loginUrl);
  const found = readFileSync(join(home, "gateway-port"), "utf8");
  expect(found).toMatch(new RegExp(`^${port} ${process.pid} loopback \\S{32,}\n$`));
  expect(statSync(join(home, "gateway-port")).mode & 0o777).toBe(0o600);
  const url = `http://127.0.0.1:${port}/`;
  const local = await controlClient({ url: url.slice(0, -1), token: found.trim().split(" ").at(-1) ?? "" });
  const client = await controlClient({ url: url.slice(0, -1), token });
  expect([await statusAt(Number(port), "gateway.test"), await statusAt(Number(port), "other.test")]).toEqual([
    200, 403,
  ]);

  const [ready] = log().filter(({ msg }) => msg === "ready");
  const status = (await client.call("status")) as { readonly bootId: string; readonly startedAtMs: number };
  expect(status.bootId).toBe(ready?.["bootId"]);
  const own = { version, pid: process.pid, startedAtMs: expect.any(Number) as number };
  expect(status).toEqual({
    ...own,
    bootId: status.bootId,
    state: "ok",
    reasons: [],
    configPath: file,
    config: { takenAtMs: expect.any(Number) as number, problems: [], restartNeeded: [] },
    model: "rehearsal/rehearsal",
    channels: [{ channel: "web", account: "default", state: "ok" }],
    turnsRunning: 0,
    rowsWaiting: 0,
    deliveriesWaiting: 0,
    deadRows: 0,
    deliveriesTroubled: 0,
    memoryBytes: expect.any(Number) as number,
    heartbeats: {},
    subagents: { running: 0, waiting: 0, ended: {} },
  });
  expect(await client.call("nodes.list")).toEqual({
    nodes: [
      {
        ...own,
        node: ready?.["node"],
        boot: status.bootId,
        role: "all",
        url,
        state: "running",
        turns: 0,
        deliveries: 0,
        leads: [],
        silentMs: expect.any(Number) as number,
        up: true,
      },
    ],
  });
  // A hook of the start was told of it, once, and only the one that is on.
  const ran = async (): Promise<readonly unknown[]> => {
    const { hooks } = (await client.call("hooks.list")) as {
      readonly hooks: readonly { readonly name: string; readonly counts: { readonly runs: number } }[];
    };
    return hooks.filter(({ counts }) => counts.runs > 0).map(({ name, counts }) => [name, counts.runs]);
  };
  await eventually(async () => (await ran()).length > 0);
  expect(await ran()).toEqual([["boot-md", 1]]);
  const { lines } = (await local.call("logs.tail", { lines: 1_000 })) as {
    readonly lines: readonly string[];
  };
  expect(lines.filter((line) => line.includes('"msg":"ready"'))).toHaveLength(1);
  await eventually(() => readFileSync(join(home, "status.json"), "utf8").includes(status.bootId));

  // A message goes through with its file, which is kept by its content, and is counted.
  const data = Buffer.from("a list of teas").toString("base64");
  await client.call("chat.send", {
    text: "hello",
    files: [{ name: "teas.txt", mediaType: "text/plain", data }],
    idempotencyKey: "1",
  });
  await eventually(async () => {
    const { messages } = (await client.call("chat.history")) as { messages: readonly { role: string }[] };
    return messages.some(({ role }) => role !== "user");
  });
  const kept = `${createHash("sha256").update("a list of teas").digest("hex")}.txt`;
  expect(readFileSync(join(home, "media", kept), "utf8")).toBe("a list of teas");
  expect(await client.call("chat.history")).toMatchObject({
    messages: [{ role: "user", files: [{ name: "teas.txt", bytes: 14 }] }, {}],
  });
  const page = await fetch(`${url}metrics`, { headers: { authorization: `Bearer ${token}` } });
  const metrics = await page.text();
  for (const line of [
    'parley_events_received_total{verdict="queued"} 1',
    'parley_turns_total{outcome="answered"} 1',
    'parley_channel_up{account="web:default"} 1',
    "parley_control_connections 2",
    "parley_ready 1",
    `parley_build_info{version="${version}"} 1`,
    "parley_config_ok 1",
  ])
    expect(metrics.split("\n")).toContain(line);

  // Each series that there is once a message went through, a host was refused and a webhook was called.
  const asks = (path: string) => fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
  const called = await fetch(`${url}hooks/agent`, {
    method: "POST",
    headers: { authorization: `Bearer ${hookToken}`, "content-type": "application/json" },
    body: JSON.stringify({ message: "from outside", agentId: "second" }),
  });
  expect(called.status).toBe(202);
  await eventually(() => log().filter(({ msg }) => msg === "sent").length === 2);
  const series = async (): Promise<readonly string[]> =>
    (await (await asks("metrics")).text())
      .split("\n")
      .filter((line) => !/^$|^#|_bucket\{|^(?:process|nodejs)_|_waiting|^parley_lanes/.test(line))
      .map((line) => line.slice(0, line.lastIndexOf(" ")));
  const ofModel = (name: string, more = "") => `parley_model_${name}{model="rehearsal/rehearsal"${more}}`;
  const both = (name: string, labels: string) => [`${name}_sum${labels}`, `${name}_count${labels}`];
  expect(await series()).toEqual([
    'parley_events_received_total{verdict="queued"}',
    ...["dead", "answered"].map((outcome) => `parley_turns_total{outcome="${outcome}"}`),
    ...both("parley_turn_wait_seconds", '{pool="main"}'),
    ...both("parley_turn_wait_seconds", '{pool="cron"}'),
    ...both("parley_turn_duration_seconds", '{outcome="answered"}'),
    ...["web", "hook"].map((name) => `parley_delivery_parts_total{account="${name}:default",state="sent"}`),
    ofModel("calls_total", ',result="ok"'),
    ...["call_duration_seconds", "first_token_seconds"].flatMap((name) => [
      ofModel(`${name}_sum`),
      ofModel(`${name}_count`),
    ]),
    ...["input", "output", "cache_read", "cache_write"].map((kind) =>
      ofModel("tokens_total", `,kind="${kind}"`),
    ),
    ...["wrong_token", "wrong_code", "wrong_signature", "too_many_wrong", "host"].map(
      (reason) => `parley_refusals_total{reason="${reason}"}`,
    ),
    'parley_webhook_calls_total{webhook="agent",result="taken"}',
    'parley_hook_runs_total{hook="boot-md",result="ok"}',
    ofModel("cost_dollars_total"),
    `parley_build_info{version="${version}"}`,
    "parley_ready",
    ...["starting", "running", "draining", "safe-mode"].map((phase) => `parley_phase{phase="${phase}"}`),
    "parley_store_up",
    'parley_channel_up{account="web:default"}',
    'parley_channel_last_inbound_timestamp_seconds{account="web:default"}',
    "parley_turns_running",
    ...["running", "waiting"].map((state) => `parley_subagents{state="${state}"}`),
    "parley_deliveries_running",
    "parley_dead_messages",
    "parley_troubled_deliveries",
    'parley_cron_slots_total{result="fired",reason=""}',
    ...["overlap", "spend"].map((why) => `parley_cron_slots_total{result="skipped",reason="${why}"}`),
    ...["window", "policy"].map((why) => `parley_cron_slots_total{result="missed",reason="${why}"}`),
    "parley_cron_late_seconds_total",
    "parley_cron_running",
    "parley_backup_ok",
    "parley_control_connections",
    "parley_devices_connected",
    ...["taken", "refused"].map((result) => `parley_config_reloads_total{result="${result}"}`),
    "parley_config_ok",
  ]);
  expect((await fetch(`${url}metrics`)).status).toBe(401);
  expect(await (await asks("v1/models")).json()).toMatchObject({ data: [{ id: "main" }, { id: "second" }] });
  expect((await asks("docs/")).status).toBe(200);
  expect((await fetch(`${url}readyz`)).status).toBe(200);

  // What only a restart takes up is told of the block that was changed, and of no other.
  const hash = async (): Promise<unknown> => ((await client.call("config.get")) as { hash: unknown }).hash;
  const set = async (path: readonly string[], value: unknown): Promise<unknown> =>
    client.call("config.set", { changes: [{ path, value }], baseHash: await hash() });
  expect(await set(["gateway", "allowedHosts"], ["other.test"])).toMatchObject({
    changed: ["gateway.allowedHosts"],
    restartNeeded: ["gateway.allowedHosts"],
  });
  expect(await set(["messages", "queue", "cap"], 7)).toMatchObject({
    changed: ["messages"],
    restartNeeded: [],
  });
  expect(await client.call("status")).toMatchObject({
    config: { problems: [], restartNeeded: ["gateway.allowedHosts"] },
  });

  // Programs reach the agents that there are now, and what an operator changed is written down with who it
  // was.
  expect(await set(["agents", "list"], [{ id: "main" }, { id: "third" }])).toMatchObject({
    restartNeeded: [],
  });
  expect(await (await asks("v1/models")).json()).toMatchObject({ data: [{ id: "main" }, { id: "third" }] });
  expect(await client.call("agents.list")).toMatchObject({ agents: [{ id: "main" }, { id: "third" }] });
  expect(await client.call("audit.list", { method: "config" })).toMatchObject({
    records: [{ method: "config.set" }, { method: "config.set" }, { method: "config.set" }],
    more: false,
  });
  // Whether a program on this machine needs a token is the config's word as it is now.
  expect(await set(["gateway", "metrics", "openOnLoopback"], true)).toMatchObject({
    changed: ["gateway.metrics"],
    restartNeeded: [],
  });
  expect((await fetch(`${url}metrics`)).status).toBe(200);
  // So are the servers whose tools there are.
  expect(await client.call("mcp.list")).toEqual({ servers: [] });
  await set(["mcp", "servers", "files"], { command: join(folder, "no-program"), enabled: false });
  expect(await client.call("mcp.list")).toMatchObject({
    servers: [{ name: "files", enabled: false, target: join(folder, "no-program") }],
  });
  expect(await client.call("resume")).toEqual({ resumed: false });
  expect(await client.call("usage", { days: 1, by: "agent" })).toMatchObject({
    rows: [
      { name: "main", turns: 1 },
      { name: "second", turns: 1 },
    ],
  });

  // A restart is begun once it would come up again.
  const good = readFileSync(file, "utf8");
  writeFileSync(file, "{ gateway: { prot: 1 } }");
  expect(await daemon.restartTrouble()).toMatch(/^parley\.json5:1:/);
  await expect(client.call("restart", { reason: "because" })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("it would not come up again:\nparley.json5:1:"),
  });
  expect(await client.call("status")).toMatchObject({
    state: "degraded",
    reasons: [expect.stringContaining("the config file was refused")],
  });
  writeFileSync(file, good);
  expect(await daemon.reload("mended")).toMatchObject({ outcome: "unchanged", problems: [] });
  expect([await daemon.restartTrouble(), restarts]).toEqual([null, 0]);
  await client.call("restart", { reason: "because" });
  await eventually(() => restarts === 1);
  expect(log().filter(({ msg }) => msg === "a restart was asked for")).toMatchObject([{ reason: "because" }]);

  await daemon.stop("SIGTERM");
  await client.closed;
  await local.closed;
  await eventually(() => readFileSync(told, "utf8") === "READY=1\nSTOPPING=1\n");
  // Every line of the log, with all that it tells, as an operator reads it who looks for what happened.
  const steady = readFileSync(join(home, "logs/parley.log"), "utf8")
    .replaceAll(/"time":"[^"]+",|"usage":\{[^}]*\},/g, "")
    .replaceAll(folder, "F")
    .replaceAll(url, "URL/")
    .replaceAll(status.bootId, "BOOT")
    .replaceAll(client.peer, "PEER")
    .replaceAll(/[0-9a-f-]{36}/g, "UUID")
    .replaceAll(/#\d{13}/g, "#TURN")
    .replaceAll(`"pid":${process.pid}`, '"pid":0')
    .replaceAll(`"node":${JSON.stringify(ready?.["node"])}`, '"node":"N"')
    .replaceAll(`"version":"${version}"`, '"version":"V"');
  await expect(steady).toMatchFileSnapshot("../tables/daemon-log.txt");
  expect(existsSync(join(home, "status.json"))).toBe(false);
  expect(readFileSync(join(home, "logs/parley.log"), "utf8")).not.toContain(token);
  await expect(fetch(url)).rejects.toThrow();
  expect(await daemon.reload("too late")).toMatchObject({
    outcome: "refused",
    problems: ["the gateway is stopping"],
  });
  // The place is free for the next start, which knows how this one ended.
  lockHome(home, process.pid).release();
  const after = await sqliteStore({
    path: join(home, "state.db"),
    bootId: "after",
    onFatal: () => expect.unreachable("the store can be trusted"),
    clock: systemClock(),
    log: silentLog,
  });
  expect(after.unclean).toBe(false);
  expect((await after.bootHistory()).at(-1)).toMatchObject({
    boot: status.bootId,
    stoppedAtMs: expect.any(Number) as number,
  });
  await after.close();
});

test("a daemon whose process died in a turn twice says so of itself, and waits before it begins that turn again", async () => {
  const file = join(folder, "parley.json5");
  writeFileSync(join(folder, "taken"), "a file");
  const config = (agents: readonly object[]): string =>
    JSON.stringify({
      gateway: { port: 0, auth: { token } },
      agents: { list: agents },
      tools: { deny: ["exce"] },
      skills: { allowBundled: ["none-such"] },
    });
  const broken = (id: string): object => ({ id, workspace: join(folder, "taken") });
  writeFileSync(file, config([{ id: "main" }, broken("second")]));
  const env = { PATH: process.env["PATH"], HOME: folder, PARLEY_CONFIG: file };
  mkdirSync(home, { recursive: true });
  const clock = virtualClock({ startMs: Date.now() - 60_000 });
  const onFatal = () => expect.unreachable("the store can be trusted");
  const store = await sqliteStore({
    path: join(home, "state.db"),
    bootId: "dead",
    onFatal,
    clock,
    log: silentLog,
  });
  const row = { pool: "main", lane: "agent:main:main", conversation: "web:default:dm:7", payload: "{}" };
  await store.inbox.accept([{ ...row, id: "deadly", authority: "open", as: { kind: "work" } } as never]);
  // Each process took it over from the one before, which had not ended it.
  for (const attempt of [1, 2, 3]) {
    const turn = await store.turns.take({
      pool: "main",
      holder: `process ${attempt}`,
      leaseMs: 1_000,
      maxRows: 1,
    });
    expect(turn).toMatchObject({ attempt });
    await clock.advance(10_000);
  }
  await store.close();
  const start = async (how: { readonly wouldStart?: "start" }) =>
    startDaemon({
      ...(await loadConfig({ env, home, ...how })),
      env,
      program: "/bin/false",
      clock: systemClock(),
      ids: systemIds(),
      pretty: false,
      onFatal,
    });
  const daemon = await start({ wouldStart: "start" });
  const url = `http://127.0.0.1:${new URL(daemon.loginUrl).port}`;
  const client = await controlClient({ url, token });
  const reasons = async () => ((await client.call("status")) as { reasons: readonly string[] }).reasons;
  await eventually(async () => (await reasons()).length > 0);
  expect(await reasons()).toEqual([
    "one turn is under suspicion: Parley died twice while it worked on each; they run one at a time, everybody else goes on (none runs now)",
    `agent second cannot work: ${join(folder, "taken")} is a file, not a folder`,
  ]);
  await expect(client.call("restart", { reason: "x" })).rejects.toMatchObject({
    code: "unsupported",
    message: "this gateway can only be stopped, and started again by hand",
  });
  await daemon.stop("SIGTERM");
  await client.closed;
  // What the start found wrong stands in the log, each with its place.
  const log = readFileSync(join(home, "logs/parley.log"), "utf8");
  const told = log
    .trim()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { readonly level: number; readonly msg: string; readonly error?: object },
    );
  expect(
    told.flatMap(
      ({ level, time: _time, msg, error, ...fields }: (typeof told)[number] & { readonly time?: string }) =>
        level < 40
          ? []
          : [
              [
                msg.replace(/(?:It brings|The tools are) .*/, "…"),
                { ...fields, ...(error === undefined ? {} : { error: "…" }) },
              ],
            ],
    ),
  ).toEqual([
    [
      `${file}:1:127 agents.list[1].workspace: ${join(folder, "taken")} is a file, not a folder. Name a folder that the user of the daemon may write to`,
      {},
    ],
    ["an agent cannot work", { agent: "second", workspace: join(folder, "taken"), error: "…" }],
    [
      'skills.allowBundled names "none-such", which Parley does not bring. …',
      { name: "none-such", bundled: expect.any(Array) as unknown[] },
    ],
    [
      'tools names "exce", which is no tool: nothing is allowed or denied by it. …',
      { at: "tools", pattern: "exce" },
    ],
    [
      "the process died in this turn twice, watching whether it dies without it",
      {
        turn: expect.stringMatching(/^agent:main:main#\d+$/) as string,
        lane: "agent:main:main",
        rows: ["deadly"],
        attempt: 4,
        forMs: 30_000,
      },
    ],
  ]);
  // Where no agent can work nothing starts, and that is no crash: the store is closed.
  writeFileSync(file, config([broken("main"), broken("second")]));
  await expect(start({})).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(`the workspace ${join(folder, "taken")} cannot be prepared`) as string,
  });
  const after = await sqliteStore({
    path: join(home, "state.db"),
    bootId: "after",
    onFatal,
    clock,
    log: silentLog,
  });
  expect(after.unclean).toBe(false);
  await after.close();
});
