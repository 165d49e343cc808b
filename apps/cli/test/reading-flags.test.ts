// What flags and answers become before the gateway is asked: a job with all that its flags say, the plan
// of a service, the changes of a set-up, files that go along; and what is refused, in which words.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { attachedFiles } from "../src/attached-files.ts";
import { joined, jobOf, numberOf, turnOf, type JobFlags } from "../src/commands/cron/job-flags.ts";
import { isNear } from "../src/doctor/security/near.ts";
import { requirementLines } from "../src/requirement-lines.ts";
import { secondsOf } from "../src/seconds.ts";
import { setupPlan } from "../src/setup/changes.ts";
import { splitModel } from "../src/setup/from-flags.ts";
import { isSameUnit, launchdLabel, unitPlan } from "../src/unit/plan.ts";

/** What a function answers, or the words and the exit code with which it refuses. */
function outcome(ask: () => unknown): unknown {
  try {
    return ask();
  } catch (error) {
    const { message, exitCode } = error as Error & { readonly exitCode?: number };
    return `${message} (exit ${exitCode})`;
  }
}

test.each([
  ["0", 0],
  ["1.5", 1_500],
  ["86400", 86_400_000],
  ["86400.1", '--wait takes a number of seconds, not "86400.1" (exit 2)'],
  ["-1", '--wait takes a number of seconds, not "-1" (exit 2)'],
  ["", '--wait takes a number of seconds, not "" (exit 2)'],
  [" ", '--wait takes a number of seconds, not " " (exit 2)'],
  ["ten", '--wait takes a number of seconds, not "ten" (exit 2)'],
])("--wait %j is %j", (text, ms) => {
  expect(outcome(() => secondsOf("--wait", text))).toBe(ms);
});

test.each([
  ["1", 1],
  ["100", 100],
  ["0", false],
  ["-1", false],
  ["1.5", false],
  ["", false],
  ["1e3", false],
])("--max-runs %j is %j", (text, number) => {
  expect(outcome(() => numberOf("--max-runs", text))).toBe(
    number === false ? `--max-runs takes a whole number from 1 on, not "${text}" (exit 2)` : number,
  );
});

describe("the flags of a job", () => {
  test.each<readonly [JobFlags, object]>([
    [{}, {}],
    [{ at: "20m" }, { schedule: { kind: "at", at: "20m" } }],
    [{ at: "09:00", tz: "UTC" }, { schedule: { kind: "at", at: "09:00", zone: "UTC" } }],
    [{ every: "1h" }, { schedule: { kind: "every", every: "1h" } }],
    [{ cron: "0 9 * * *", tz: "UTC" }, { schedule: { kind: "cron", expression: "0 9 * * *", zone: "UTC" } }],
    [{ watch: "*.md" }, { schedule: { kind: "watch", path: "*.md" } }],
    [{ watch: "*.md", debounce: "2s" }, { schedule: { kind: "watch", path: "*.md", debounce: "2s" } }],
    [{ message: "look" }, { payload: { kind: "agentTurn", message: "look" } }],
    [
      { message: "look", model: "a/b", thinking: "high", tools: "read, web_*", lightContext: true },
      {
        payload: {
          kind: "agentTurn",
          message: "look",
          model: "a/b",
          thinking: "high",
          tools: ["read", "web_*"],
          lightContext: true,
        },
      },
    ],
    [{ systemEvent: "up" }, { payload: { kind: "systemEvent", text: "up" } }],
    [
      { session: "session:agent:main:main", agent: "main", name: "n" },
      { name: "n", agent: "main", target: "session:agent:main:main" },
    ],
    [{ announce: true }, { delivery: { kind: "announce" } }],
    [{ to: "telegram:7", announce: true }, { delivery: { kind: "announce", to: "telegram:7" } }],
    [
      { to: "telegram:7", bestEffortDeliver: true },
      { delivery: { kind: "announce", to: "telegram:7", bestEffort: true } },
    ],
    [
      { webhook: "https://a.example", to: "x", deliver: false },
      { delivery: { kind: "webhook", url: "https://a.example" } },
    ],
    [
      { webhook: "https://a.example", bestEffortDeliver: true },
      { delivery: { kind: "webhook", url: "https://a.example", bestEffort: true } },
    ],
    [{ deliver: false, to: "x" }, { delivery: { kind: "none" } }],
    [{ deliver: true }, {}],
    [{ bestEffortDeliver: true }, { delivery: { bestEffort: true } }],
    [
      { wake: "now", misfire: "all", overlap: "queue" },
      { wake: "now", misfire: "all", overlap: "queue" },
    ],
    [
      { catchUp: "90s", stagger: "5m" },
      { catchUpMs: 90_000, staggerMs: 300_000 },
    ],
    [
      { catchUp: "2h", stagger: "1d" },
      { catchUpMs: 7_200_000, staggerMs: 86_400_000 },
    ],
    [{ exact: true, stagger: "5m" }, { staggerMs: 0 }],
    [
      { maxRuns: "3", timeoutSeconds: "60", maxTokensPerDay: "1000" },
      { maxRuns: 3, timeoutSeconds: 60, mostTokensPerDay: 1_000 },
    ],
    [{ deleteAfterRun: true }, { deleteAfterRun: true }],
    [{ deleteAfterRun: true, keepAfterRun: true }, { deleteAfterRun: false }],
    [{ disabled: true }, { enabled: false }],
    [{ disabled: false }, {}],
  ])("%j", (flags, job) => {
    expect(jobOf(flags)).toEqual(job);
  });

  const ofTurns = "--model, --thinking, --tools and --light-context are for --message (exit 2)";
  const noZone =
    "--tz is for --at and --cron: --every counts elapsed time, which has no zone. For a time of day use --cron (exit 2)";
  test.each<readonly [JobFlags, string]>([
    [{ at: "1", every: "2" }, "name one of --at, --every, --cron and --watch (exit 2)"],
    [{ cron: "1", watch: "2" }, "name one of --at, --every, --cron and --watch (exit 2)"],
    [{ debounce: "1s", every: "1h" }, "--debounce is for --watch (exit 2)"],
    [{ tz: "UTC", watch: "x" }, "--tz is for --at and --cron (exit 2)"],
    [{ tz: "UTC", every: "1h" }, noZone],
    [{ message: "a", systemEvent: "b" }, "name --message or --system-event, not both (exit 2)"],
    [{ session: "other" }, '--session takes main, isolated or session:<key>, not "other" (exit 2)'],
    [{ session: "session:" }, '--session takes main, isolated or session:<key>, not "session:" (exit 2)'],
    [{ systemEvent: "a", model: "x" }, ofTurns],
    [{ systemEvent: "a", lightContext: true }, ofTurns],
    [{ catchUp: "90" }, '--catch-up takes a time like "30m", not "90" (exit 2)'],
    [{ stagger: "1w" }, '--stagger takes a time like "30m", not "1w" (exit 2)'],
    [{ timeoutSeconds: "0" }, '--timeout-seconds takes a whole number from 1 on, not "0" (exit 2)'],
    [{ maxTokensPerDay: "x" }, '--max-tokens-per-day takes a whole number from 1 on, not "x" (exit 2)'],
  ])("%j are refused", (flags, words) => {
    expect(outcome(() => jobOf(flags))).toBe(words);
  });

  test("that name a zone or a model alone join what the job has", () => {
    const cron = {
      schedule: { kind: "cron", expression: "0 9 * * *", zone: "UTC" },
      payload: { kind: "agentTurn", message: "m", model: "a/b" },
    };
    const every = { schedule: { kind: "every", everyMs: 1 }, payload: { kind: "systemEvent", text: "t" } };
    const join_ = (flags: JobFlags, job: object, patch: object = {}) =>
      outcome(() => joined(patch as never, flags, job as never));
    expect(join_({ tz: "Europe/Berlin" }, cron)).toEqual({
      schedule: { kind: "cron", expression: "0 9 * * *", zone: "Europe/Berlin" },
    });
    expect(join_({ thinking: "low", tools: "a" }, cron, { name: "n" })).toEqual({
      name: "n",
      payload: { kind: "agentTurn", message: "m", model: "a/b", thinking: "low", tools: ["a"] },
    });
    const patch = { schedule: { kind: "at" }, payload: { kind: "agentTurn" } };
    expect(join_({ tz: "UTC", model: "x" }, cron, patch)).toEqual(patch);
    expect(join_({ tz: "UTC" }, every)).toBe("--tz is for --at and --cron: name the time with it (exit 2)");
    expect(join_({ model: "x" }, every)).toBe(ofTurns);
    expect([join_({}, every), turnOf({})]).toEqual([{}, {}]);
  });
});

test.each([
  ["http://127.0.0.1:1", true],
  ["http://localhost", true],
  ["http://redis:6379", true],
  ["redis://:pw@10.0.0.1", true],
  ["http://172.16.0.1", true],
  ["http://172.31.255.255", true],
  ["http://172.15.0.1", false],
  ["http://172.32.0.1", false],
  ["http://192.168.0.1", true],
  ["http://192.169.0.1", false],
  ["http://11.0.0.1", false],
  ["http://10.evil.example", false],
  ["http://a.example", false],
  ["http://[::1]:1", true],
  ["http://[fd00::1]", true],
  ["http://[fe80::1]", true],
  ["http://[2001:db8::1]", false],
  ["http://[::12]", false],
  ["nonsense", true],
])("%s is on a network of one's own: %s", (url, near) => {
  expect(isNear(url)).toBe(near);
});

test("what a skill needs is told by its kind, with what is there and what is missing", () => {
  const style = (color: string, text: string): string => `<${color} ${text}>`;
  const requirements = (["os", "bin", "anyBins", "env", "config"] as const).map((kind, nth) => ({
    kind,
    what: `w${nth}`,
    satisfied: nth % 2 === 0,
  }));
  expect(requirementLines({ always: false, requirements } as never, style)).toEqual([
    "Needs     system w0  <green there>",
    "Needs     program w1  <yellow missing>",
    "Needs     one program of w2  <green there>",
    "Needs     variable w3  <yellow missing>",
    "Needs     config w4  <green there>",
  ]);
  expect(requirementLines({ always: true, requirements: requirements.slice(0, 1) } as never, style)[0]).toBe(
    "Needs     nothing: it is marked always",
  );
  expect(requirementLines({ always: true, requirements: [] } as never, style)).toEqual([]);
});

describe("the plan of a service", () => {
  const env = { HOME: "/home/olga", PARLEY_HOME: "/home/olga/.parley", PATH: "/usr/bin" };
  const plan = (flags: object, more: object = {}, platform: NodeJS.Platform = "linux") =>
    outcome(() => {
      const { root: _root, ...rest } = unitPlan({ ...env, ...more }, flags, platform);
      return rest;
    });
  const own = {
    manager: "systemd",
    scope: "user",
    name: "parley",
    home: "/home/olga/.parley",
    env: { PARLEY_HOME: "/home/olga/.parley", PATH: "/usr/bin" },
    runAs: null,
    file: "/home/olga/.config/systemd/user/parley.service",
  };

  test("is for the system's own manager, in the folder of its scope, with what the service needs of the environment", () => {
    expect(plan({})).toEqual(own);
    expect(plan({}, { XDG_CONFIG_HOME: "/x" })).toMatchObject({ file: "/x/systemd/user/parley.service" });
    expect(plan({}, { XDG_CONFIG_HOME: "" })).toMatchObject({ file: own.file });
    expect(plan({}, { PATH: undefined })).toMatchObject({ env: { PATH: "/usr/local/bin:/usr/bin:/bin" } });
    expect(plan({}, { PARLEY_CONFIG: "/etc/parley.json5" })).toMatchObject({
      env: { PARLEY_CONFIG: "/etc/parley.json5" },
    });
    expect(plan({ system: true, runAs: "bot", name: "two" })).toEqual({
      ...own,
      scope: "system",
      name: "two",
      runAs: "bot",
      file: "/etc/systemd/system/two.service",
    });
    expect(plan({ system: true }, { SUDO_USER: "olga" })).toMatchObject({ runAs: "olga" });
    expect(plan({}, {}, "darwin")).toMatchObject({
      manager: "launchd",
      file: "/home/olga/Library/LaunchAgents/dev.parley.gateway.plist",
    });
    expect(plan({ system: true, manager: "launchd", name: "two" })).toMatchObject({
      file: "/Library/LaunchDaemons/dev.parley.two.plist",
    });
    expect(plan({ manager: "systemd" }, {}, "darwin")).toMatchObject({ manager: "systemd" });
    expect([launchdLabel("parley"), launchdLabel("two")]).toEqual(["dev.parley.gateway", "dev.parley.two"]);
  });

  test.each([
    [{ manager: "runit" }, {}, '--manager is systemd or launchd, not "runit" (exit 2)'],
    [{ name: "a/b" }, {}, '--name has letters, digits, dot, dash and underscore, not "a/b" (exit 2)'],
    [{ name: ".a" }, {}, '--name has letters, digits, dot, dash and underscore, not ".a" (exit 2)'],
    [
      { name: "x".repeat(65) },
      {},
      `--name has letters, digits, dot, dash and underscore, not "${"x".repeat(65)}" (exit 2)`,
    ],
    [{ runAs: "bot" }, {}, "--run-as goes with --system; without it the service runs as you (exit 2)"],
    [{}, { PATH: "/a\n/b" }, "A path with a line end cannot stand in a service file (exit 2)"],
    [{}, { PARLEY_HOME: "/a\u0007" }, "A path with a line end cannot stand in a service file (exit 2)"],
    [{ system: true, runAs: "a\nb" }, {}, "A path with a line end cannot stand in a service file (exit 2)"],
  ])("%j is refused", (flags, more, words) => {
    expect(plan(flags, more)).toBe(words);
    expect(plan({ name: "x".repeat(64) })).toMatchObject({ name: "x".repeat(64) });
  });

  test("is the same one though the shell's search path is another, and nothing else", () => {
    const unit = (path: string, user: string) => `[Service]\nUser=${user}\nEnvironment="PATH=${path}"\n`;
    expect(isSameUnit(unit("/a", "olga"), unit("/b:/c", "olga"))).toBe(true);
    expect(isSameUnit(unit("/a", "olga"), unit("/a", "eve"))).toBe(false);
    const list = (path: string) => `<key>PATH</key><string>${path}</string><key>X</key>`;
    expect([isSameUnit(list("/a"), list("/b")), isSameUnit(list("/a"), `${list("/b")}!`)]).toEqual([
      true,
      false,
    ]);
  });
});

test("answers of a set-up are changes, and secrets go to files of their own", () => {
  const none = { model: null, telegram: null, discord: null, owners: [], port: null };
  expect(setupPlan(none)).toEqual({ changes: [], secrets: [] });
  const all = {
    port: 7,
    owners: ["telegram:1", "discord:2"],
    model: {
      provider: "OpenAI",
      model: "m",
      api: "openai-completions",
      baseUrl: "https://a.example",
      key: { value: "k1" },
    },
    telegram: { token: { value: "t1" }, apiRoot: "https://t.example" },
    discord: { token: { env: "DISCORD" }, apiRoot: "https://d.example" },
  };
  expect(setupPlan(all as never, ".trial")).toEqual({
    changes: [
      { path: ["gateway", "port"], value: 7 },
      { path: ["models", "providers", "OpenAI", "api"], value: "openai-completions" },
      { path: ["models", "providers", "OpenAI", "baseUrl"], value: "https://a.example" },
      { path: ["models", "providers", "OpenAI", "apiKey"], value: { file: "secrets/openai-key.trial" } },
      { path: ["agents", "defaults", "model", "primary"], value: "OpenAI/m" },
      { path: ["channels", "telegram", "botToken"], value: { file: "secrets/telegram-token.trial" } },
      { path: ["channels", "telegram", "apiRoot"], value: "https://t.example" },
      { path: ["channels", "discord", "token"], value: { env: "DISCORD" } },
      { path: ["channels", "discord", "apiRoot"], value: "https://d.example" },
      { path: ["commands", "ownerAllowFrom"], value: ["telegram:1", "discord:2"] },
    ],
    secrets: [
      { name: "secrets/openai-key.trial", value: "k1" },
      { name: "secrets/telegram-token.trial", value: "t1" },
    ],
  });
  const bare = {
    ...none,
    model: { provider: "p", model: "m", api: null, baseUrl: null, key: null },
    telegram: { token: null, apiRoot: null },
  };
  expect(setupPlan(bare as never).changes).toEqual([
    { path: ["agents", "defaults", "model", "primary"], value: "p/m" },
  ]);
});

test("files go along with a message, ten of them and 1.4 MB at most, the voice last", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-files-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = (name: string, bytes: number): string => {
    writeFileSync(join(folder, name), "x".repeat(bytes));
    return join(folder, name);
  };
  const [a, b, whole, one] = [
    file("a.txt", 2),
    file("b.ogg", 1),
    file("whole.bin", 1_400_000),
    file("one", 1),
  ];
  expect(await attachedFiles([a], b)).toEqual([
    { name: "a.txt", data: "eHg=" },
    { name: "b.ogg", voice: true, data: "eA==" },
  ]);
  expect(await attachedFiles([], undefined)).toEqual([]);
  expect(await attachedFiles([whole], undefined)).toHaveLength(1);
  await expect(attachedFiles([whole, one], undefined)).rejects.toThrow(
    `With ${one} they are more than the 1.4 MB that one message carries.`,
  );
  expect(
    await attachedFiles(
      Array.from({ length: 9 }, () => a),
      b,
    ),
  ).toHaveLength(10);
  await expect(
    attachedFiles(
      Array.from({ length: 10 }, () => a),
      b,
    ),
  ).rejects.toThrow("11 files are too many: one message carries 10.");
  await expect(attachedFiles([join(folder, "none")], undefined)).rejects.toThrow(
    /none cannot be read: ENOENT/,
  );
});

test("a model of a provider that resells others keeps the maker's name in its id", () => {
  expect(splitModel("anthropic/claude", "openrouter")).toEqual([undefined, "anthropic/claude"]);
  expect(splitModel("openrouter/anthropic/claude", "openrouter")).toEqual([undefined, "anthropic/claude"]);
  expect(splitModel("openrouter/anthropic/claude", undefined)).toEqual(["openrouter", "anthropic/claude"]);
});
