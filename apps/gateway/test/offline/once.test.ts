// The operator's methods without a daemon, frame by frame in this process: what is served from the config,
// from the records and from nothing, and what a broken config still lets one do.
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { protocolRange, scopes, silentLog, version, type ResponseFrame } from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { seededIds, virtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { onceConfig, runOnce } from "../../src/offline/once.ts";
import { worldOfConfig } from "../../src/offline/world-of-config.ts";
import { importOnce } from "../../src/import/import-once.ts";
import { memoryStore } from "../receive/store.ts";

const clock = virtualClock({ startMs: 1_700_000_000_000 });
let folder: string;
let home: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-once-"));
  home = join(folder, "home");
  mkdirSync(home);
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

const environment = (config: unknown) => {
  const path = join(folder, "parley.json5");
  writeFileSync(path, typeof config === "string" ? config : JSON.stringify(config));
  return { PARLEY_HOME: home, PARLEY_CONFIG: path };
};

/** Asks for each method in turn, or sends the line as it is. */
async function asked(
  config: unknown,
  ...requests: readonly (string | readonly [method: string, params?: object])[]
): Promise<readonly ResponseFrame[]> {
  const env = environment(config);
  const lines = requests.map((request, at) =>
    typeof request === "string"
      ? request
      : JSON.stringify({ type: "req", id: `${at}`, method: request[0], params: request[1] ?? {} }),
  );
  let text = "";
  await runOnce({
    ...(await onceConfig(env)),
    input: Readable.from(lines.map((line) => `${line}\n`)),
    output: new Writable({
      write(chunk: Buffer, _encoding, done) {
        text += chunk.toString();
        done();
      },
    }),
    env,
    clock,
    ids: seededIds(3),
  });
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as ResponseFrame);
}

const brief = ({ id, ok, payload, error }: ResponseFrame) => [id, ok ? payload : error];
const stopped = {
  code: "unavailable",
  message: "the gateway is not running. Start it with `parley start`",
};

async function recorded(): Promise<void> {
  const onFatal = (error: unknown): void => expect.unreachable(String(error));
  const store = await sqliteStore({
    path: join(home, "state.db"),
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal,
  });
  for (const key of ["agent:helper:main", "agent:main:main"]) await store.sessions.open(key as never);
  await store.close();
}

test("each method is answered in its turn, by what it needs: the config, the records, or a daemon that is not there", async () => {
  const config = { agents: { list: [{ id: "helper" }, { id: "main" }] } };
  const answers = await asked(
    config,
    ["connect"],
    ["agents.list"],
    ["sessions.list"],
    ["status"],
    "no frame",
    '{"type":"req","id":"x"}',
    ["no.such.method"],
  );
  expect(answers.map(({ type, id }) => [type, id])).toEqual(
    ["0", "1", "2", "3", "", "x", "6"].map((id) => ["res", id]),
  );
  expect(answers[0]?.payload).toEqual({
    protocol: protocolRange.max,
    server: { version, bootId: seededIds(3).uuid() },
    scopes: [...scopes],
    peer: "web-operator",
    seq: 0,
    resync: false,
  });
  expect(answers[1]?.payload).toMatchObject({ agents: [{ id: "helper" }, { id: "main", isDefault: true }] });
  expect(answers[2]?.error).toEqual({
    code: "missing",
    message: `there is no database in ${home}: no gateway has run there yet`,
  });
  expect(answers[3]?.error).toEqual(stopped);
  expect(answers.slice(4).map(({ ok, error }) => [ok, error?.code])).toEqual([
    [false, "invalid"],
    [false, "invalid"],
    [false, "unsupported"],
  ]);
});

test("the records are those of the folder, also after a backup and after one was put back", async () => {
  await recorded();
  const to = join(folder, "copy.db");
  const payloadOf = <T>(answer: ResponseFrame | undefined): T => {
    if (answer === undefined) throw new Error("there is no answer");
    return answer.payload as T;
  };
  const keys = (answer: ResponseFrame | undefined) =>
    payloadOf<{ sessions: readonly { key: string }[] }>(answer)
      .sessions.map(({ key }) => key)
      .toSorted();
  const answers = await asked(
    {},
    ["sessions.list"],
    ["backup", { path: to }],
    ["sessions.forget", { key: "agent:helper:main" }],
    ["restore", { path: to }],
    ["sessions.list"],
    ["cron.list"],
    ["tools.list", { session: "agent:main:main" }],
    ["hooks.list"],
    ["nodes.list"],
    ["update.check", { look: false }],
  );
  const both = ["agent:helper:main", "agent:main:main"];
  expect(answers.map(({ ok }) => ok)).toEqual([true, true, true, true, true, true, true, true, true, false]);
  expect([keys(answers[0]), keys(answers[4])]).toEqual([both, both]);
  expect(answers[5]?.payload).toEqual({ jobs: [] });
  expect(answers[6]?.payload).toMatchObject({ session: "agent:main:main", sandbox: null });
  // What became of calls only a daemon knows.
  const { hooks } = payloadOf<{ hooks: readonly { counts: unknown }[] }>(answers[7]);
  expect(hooks.length).toBeGreaterThan(0);
  expect(hooks.every(({ counts }) => counts === null)).toBe(true);
  expect(answers[8]?.payload).toEqual({ nodes: [] });
  expect(answers[9]?.error).toEqual(stopped);
  const audit = readFileSync(join(home, "audit", "audit.log"), "utf8")
    .trim()
    .split("\n");
  expect(audit.map((line) => (JSON.parse(line) as { method: string }).method)).toEqual([
    "backup",
    "sessions.forget",
    "restore",
    "update.check",
  ]);
});

test("every look without a daemon is at this home: its records, its files, its agents, and nothing that runs", async () => {
  await recorded();
  const old = (path: string, text: string): void => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
    const atS = clock.now() / 1_000 - 40 * 86_400;
    utimesSync(join(home, path), atS, atS);
  };
  old("logs/parley.1.log", "0123456789");
  old("backups/parley-2023-10-05T06-07-08Z.db.sealed", "01234");
  old("audit/audit.log", `${JSON.stringify({ atMs: 5, method: "backup", by: "web-ann", ok: true })}\n`);
  old("workspace-helper/.parley/results/0123456789ab-call.txt", "012");
  old("hooks/mine/HOOK.md", "---\nname: mine\nmetadata: { openclaw: { events: [message:sent] } }\n---\n");
  old("skills/tea/SKILL.md", "---\nname: tea\ndescription: Makes tea.\n---\nBoil it.\n");
  old("imported.json", JSON.stringify({ v: 1, carried: ["person telegram:default:7"] }));
  const config = {
    agents: {
      defaults: { workspace: join(home, "workspace"), userTimezone: "Europe/Berlin" },
      list: [{ id: "main" }, { id: "helper", workspace: join(home, "workspace-helper") }],
    },
    retention: { logs: { days: 7 }, backups: { days: 7 }, results: { days: 7 } },
    backup: { everyHours: 24, keep: 2 },
    channels: { telegram: { accounts: { work: { botToken: `700:${"w".repeat(35)}` } } } },
    mcp: { servers: { files: { command: "/none/files" } } },
  };
  const job = {
    name: "tea",
    schedule: { kind: "every", every: "1h" },
    payload: { kind: "agentTurn", message: "go" },
    delivery: { kind: "none" },
  };
  const requests = [
    ["audit.list"],
    ["backups.list"],
    ["retention.run"],
    ["nodes.list"],
    ["sessions.list"],
    ["sessions.show", { key: "agent:helper:main" }],
    ["lanes.list"],
    ["dead.list"],
    ["outbox.list"],
    ["pairing.list"],
    ["devices.list"],
    ["devices.mint", { name: "phone", scopes: ["read"] }],
    ["devices.list"],
    ["canvas.list"],
    ["approvals.list"],
    ["questions.list"],
    ["mcp.list"],
    ["tools.hold", { reason: "wait" }],
    ["tools.resume"],
    ["cron.add", { job }],
    ["cron.list"],
    ["cron.status"],
    ["usage", { days: 1 }],
    ["memory.history", { agent: "helper" }],
    ["memory.proposals"],
    ["sessions.tree"],
    ["people.forget", { person: "telegram:7" }],
  ] as const;
  const answers = await asked(config, ...requests);
  const shown = answers
    .map(
      ({ ok, payload, error }, at) =>
        `${JSON.stringify(requests[at])}\n  ${ok ? "" : "refused "}${JSON.stringify(payload ?? error)}`,
    )
    .join("\n")
    .replaceAll(home, "HOME")
    .replaceAll(/"(id|token|peer|nextJob)":"[^"]+"/g, '"$1":"…"')
    .replaceAll(/:cron:[0-9a-f]{8}/g, ":cron:…");
  await expect(`${shown}\n`).toMatchFileSnapshot("../tables/once.txt");
});

test("what a turn would run with by another config file is that file's, over the same home; the file must be there", async () => {
  const env = environment({});
  const { places } = await onceConfig(env);
  const store = await memoryStore(clock);
  onTestFinished(store.close);
  const world = worldOfConfig({
    places,
    env,
    memory: { close: () => {} } as never,
    store: { ...store, onReady: () => () => {} } as never,
    bootId: "once",
    clock,
    ids: seededIds(3),
    log: silentLog,
  });
  const none = join(folder, "none.json5");
  await expect(world(none)).rejects.toMatchObject({
    code: "missing",
    message: `there is no config file ${none}`,
  });
  const other = join(folder, "other.json5");
  const defaults = { models: { "rehearsal/rehearsal": { alias: "stage" } } };
  writeFileSync(other, JSON.stringify({ agents: { defaults, list: [{ id: "elsewhere" }] } }));
  const { config, modelCatalog, turnPreparer } = await world(other);
  const [agent] = config.agents.list;
  if (agent === undefined) throw new Error("there is no agent");
  expect(agent).toMatchObject({ id: "elsewhere", workspace: expect.stringContaining(home) });
  expect(await modelCatalog.find(agent, "stage")).toEqual({ ref: "rehearsal/rehearsal" });
  const session = await store.sessions.open("agent:elsewhere:main" as never);
  const now = await turnPreparer.prompt({ agent: "elsewhere", session, place: null });
  expect(now.model.id).toBe("rehearsal/rehearsal");
  writeFileSync(other, "{ agents: 1 }");
  await expect(world(other)).rejects.toThrow(other);
});

test.runIf(process.platform === "linux")(
  "a disk that takes nothing is told in words, and not by the name of a place in a log that nobody keeps",
  async () => {
    await recorded();
    symlinkSync("/dev/full", join(home, "daemon.pid"));
    const [answer] = await asked({}, ["sessions.list"]);
    expect(answer?.error).toEqual({
      code: "unavailable",
      message: expect.stringMatching(/could not be written, the disk is full: ENOSPC/) as string,
    });
  },
);

test("a broken config is told where a method needs it, and keeps nobody from the records", async () => {
  await recorded();
  const broken = { agents: { list: "none" } };
  const { trouble } = await onceConfig(environment(broken));
  expect(trouble?.message).toContain("agents.list");
  for (const method of ["agents.list", "pairing.approve", "status", "no.such.method"])
    await expect(asked(broken, ["connect"], [method])).rejects.toThrow(trouble?.message);
  const works = await asked(
    broken,
    ["dead.list"],
    ["lanes.list"],
    ["backup", { path: join(folder, "copy.db") }],
  );
  expect(works.map(brief)).toEqual([
    ["0", { rows: [] }],
    ["1", { sessions: [], conversations: [] }],
    ["2", { path: join(folder, "copy.db"), bytes: expect.any(Number) }],
  ]);
  await expect(onceConfig(environment({ store: { driver: "none" } }))).rejects.toMatchObject({
    message: expect.stringContaining("store.driver"),
  });
  expect((await onceConfig(environment({}))).trouble).toBeNull();
});

test("an import answers in one document what was met, or in one why nothing was done", async () => {
  const env = environment({});
  const once = async (...words: readonly string[]) => {
    let text = "";
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        text += chunk.toString();
        done();
      },
    });
    const code = await importOnce(words, output, env);
    expect(text.endsWith("\n")).toBe(true);
    return [code, JSON.parse(text) as { readonly [field: string]: unknown }] as const;
  };
  const [missing, { error }] = await once(join(folder, "nowhere"));
  expect([missing, error]).toEqual([1, { code: "missing", message: expect.stringContaining("nowhere") }]);
  const source = join(folder, "openclaw");
  mkdirSync(source);
  writeFileSync(join(source, "openclaw.json"), "{}");
  const [dry, report] = await once(source);
  expect([dry, report]).toMatchObject([0, { from: source, home, applied: false }]);
  const [wet, done] = await once(source, "--apply", "--even-if-running");
  expect([wet, done]).toMatchObject([0, { applied: true }]);
});
