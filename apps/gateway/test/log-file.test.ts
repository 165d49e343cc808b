import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { sanitizeOutbound } from "@parley/agent";
import { loadConfig, type Config } from "@parley/config";
import { virtualClock } from "@parley/testkit";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { logFile } from "../src/log/log-file.ts";
import { logger } from "../src/log/logger.ts";
import { wireRedaction, wireTools } from "../src/wiring/wiring.ts";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "parley-log-"));
  onTestFinished(() => {
    chmodSync(made, 0o700);
    rmSync(made, { recursive: true });
  });
  return made;
}

describe("the log on disk", () => {
  test("begins a new file at its size, keeps so many older ones and no more, all private", () => {
    const logs = join(folder(), "logs");
    const file = logFile({ folder: logs, name: "parley", maxBytes: 30, keep: 2, clock: virtualClock() });
    for (let n = 0; n < 12; n += 1) file.write(`line ${String(n).padStart(4, "0")}\n`);
    file.close();
    expect(readdirSync(logs).toSorted()).toEqual(["parley.1.log", "parley.2.log", "parley.log"]);
    expect(readFileSync(join(logs, "parley.2.log"), "utf8")).toBe("line 0003\nline 0004\nline 0005\n");
    expect(readFileSync(join(logs, "parley.log"), "utf8")).toBe("line 0009\nline 0010\nline 0011\n");
    for (const name of readdirSync(logs)) expect(statSync(join(logs, name)).mode & 0o777).toBe(0o600);
  });

  test("goes on where it was after a restart, and begins anew when somebody moved it away", () => {
    const logs = folder();
    const open = () =>
      logFile({ folder: logs, name: "parley", maxBytes: 25, keep: 1, clock: virtualClock() });
    const first = open();
    first.write("first 1234\n");
    first.close();
    const second = open();
    second.write("second 123\n");
    renameSync(join(logs, "parley.log"), join(logs, "taken-away"));
    second.write("third 1234\n");
    second.close();
    expect(readFileSync(join(logs, "taken-away"), "utf8")).toBe("first 1234\nsecond 123\n");
    expect(readFileSync(join(logs, "parley.log"), "utf8")).toBe("third 1234\n");
  });

  test("no line is lost when the file is moved away, removed, emptied or replaced, however far it is from its size", () => {
    const logs = folder();
    const path = join(logs, "parley.log");
    const file = logFile({
      folder: logs,
      name: "parley",
      maxBytes: 1_000_000,
      keep: 2,
      clock: virtualClock(),
    });
    file.write("before\n");
    renameSync(path, `${path}.1`);
    file.write("after the move\n");
    expect(readFileSync(`${path}.1`, "utf8")).toBe("before\n");
    expect(readFileSync(path, "utf8")).toBe("after the move\n");
    rmSync(path);
    file.write("after the removal\n");
    expect(readFileSync(path, "utf8")).toBe("after the removal\n");
    // What `copytruncate` of logrotate does.
    truncateSync(path);
    file.write("after the cut\n");
    expect(readFileSync(path, "utf8")).toBe("after the cut\n");
    // What `create 0644` of logrotate does.
    renameSync(path, `${path}.2`);
    writeFileSync(path, "", { mode: 0o644 });
    file.write("after the replacement\n");
    expect(readFileSync(path, "utf8")).toBe("after the replacement\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    rmSync(logs, { recursive: true });
    file.write("after the folder went\n");
    expect(readFileSync(path, "utf8")).toBe("after the folder went\n");
    file.close();
  });

  test("a line that is longer than a file may be stands alone in one; without older files there is only the newest", () => {
    for (const [keep, wanted] of [
      [2, { "parley.2.log": "a\n", "parley.1.log": `${"x".repeat(40)}\n`, "parley.log": "b\n" }],
      [0, { "parley.log": "b\n" }],
    ] as const) {
      const logs = join(folder(), "logs");
      const file = logFile({ folder: logs, name: "parley", maxBytes: 30, keep, clock: virtualClock() });
      for (const line of ["a\n", `${"x".repeat(40)}\n`, "b\n"]) file.write(line);
      file.close();
      const found = readdirSync(logs).map((name) => [name, readFileSync(join(logs, name), "utf8")]);
      expect([Object.fromEntries(found), statSync(logs).mode & 0o777]).toEqual([wanted, 0o700]);
    }
  });

  test("its size is counted in bytes", () => {
    const logs = folder();
    const file = logFile({ folder: logs, name: "parley", maxBytes: 12, keep: 1, clock: virtualClock() });
    for (const line of ["äöü\n", "äö\n", "ä\n"]) file.write(line);
    file.close();
    expect(readFileSync(join(logs, "parley.1.log"), "utf8")).toBe("äöü\näö\n");
    expect(readFileSync(join(logs, "parley.log"), "utf8")).toBe("ä\n");
  });

  test("never throws where nothing can be written, and writes again once it can", async () => {
    const clock = virtualClock();
    const logs = join(folder(), "logs");
    mkdirSync(join(logs, "parley.log"), { recursive: true });
    const file = logFile({ folder: logs, name: "parley", maxBytes: 1_000, keep: 1, clock });
    file.write("lost\n");
    rmSync(logs, { recursive: true });
    await clock.advance(4_999);
    file.write("lost too\n");
    await clock.advance(1);
    file.write("kept\n");
    file.close();
    expect(readFileSync(join(logs, "parley.log"), "utf8")).toBe("kept\n");
  });
});

describe("no line carries a secret", () => {
  const canary = 'canary "0123"/+secret';
  async function lines(
    write: (log: Awaited<ReturnType<typeof logger>>["log"]) => void,
    secrets = [canary],
  ): Promise<string> {
    let text = "";
    const { log } = await logger({
      level: "debug",
      pretty: false,
      secrets,
      onLine: (line) => (text += line),
    });
    write(log);
    return text;
  }

  test("in a field, a message, an error with its stack and cause, a URL, a header, in every spelling", async () => {
    const text = await lines((log) => {
      log.info({ token: canary }, `it is ${canary}`);
      log.error({ error: new Error(`refused ${canary}`, { cause: new Error(canary) }) }, "failed");
      log.child({ url: `https://host/?q=${encodeURIComponent(canary)}` }).warn({}, "asked");
      log.debug({ header: `Basic ${Buffer.from(canary).toString("base64")}` }, "sent");
      log.debug({ piped: Buffer.from(`${canary}\n`).toString("base64") }, "sent");
    });
    expect(text.split("\n").filter(Boolean)).toHaveLength(5);
    for (const spelling of [
      canary,
      JSON.stringify(canary).slice(1, -1),
      encodeURIComponent(canary),
      Buffer.from(canary).toString("base64"),
      Buffer.from(canary).toString("base64").slice(0, 20),
    ])
      expect(text).not.toContain(spelling);
  });

  test.for([
    [
      "a bot's token in the path of its API",
      "https://api.telegram.org/bot123456789:AAHcanarycanarycanarycanary/getMe",
      "AAHcanary",
    ],
    ["a password in a URL", "redis://user:canary-pass@redis:6379/0", "canary-pass"],
    ["a token in a query", "https://host/hook?x=1&access_token=canary-token&y=2", "canary-token"],
    ["a bearer token", "Authorization: Bearer canary.canary.canary", "canary.canary"],
  ] as const)("that nobody told us of: %s", async ([, text, secret]) => {
    const line = await lines((log) => log.warn({ error: new Error(text) }, "failed"), []);
    expect(line).not.toContain(secret);
    expect(line).toContain("[secret]");
    expect(JSON.parse(line)).toMatchObject({ msg: "failed" });
  });

  test("what is cut of a line, and what stays", async () => {
    const shown = async (text: string): Promise<string> =>
      (JSON.parse(await lines((log) => log.info({}, text), [])) as { readonly msg: string }).msg;
    for (const [text, wanted] of [
      ["https://h/?token=a1&x=2", "https://h/?token=[secret]&x=2"],
      ["https://h/?x=1&key=a1#top", "https://h/?x=1&key=[secret]#top"],
      ["https://h/#access_token=a1", "https://h/#access_token=[secret]"],
      ["?bot_token=a1 ?api_key=b2 ?apikey=c3", "?bot_token=[secret] ?api_key=[secret] ?apikey=[secret]"],
      ["?Secret=a1&password=b2&CODE=c3", "?Secret=[secret]&password=[secret]&CODE=[secret]"],
      ["?sig=a1&signature=b2", "?sig=[secret]&signature=[secret]"],
      ["?client_token=a1 and monkey=b2 ?keys=c3", "?client_token=a1 and monkey=b2 ?keys=c3"],
      ["redis://me:pa@h and rediss://:pb@h/0", "redis://me:[secret]@h and rediss://:[secret]@h/0"],
      ["http://h:80/a@b and mail://me@h", "http://h:80/a@b and mail://me@h"],
      ["bearer abcdefghijkl", "bearer [secret]"],
      ["BEARER  abcd.ef/gh+~=-x, on", "BEARER [secret], on"],
      ["Bot abcdefghijkl a bot answered", "Bot [secret] a bot answered"],
      ["Bearer abcdefghijk", "Bearer abcdefghijk"],
      [`/bot12345:${"a".repeat(20)}/x`, "/bot[secret]/x"],
      [
        `/bot1234:${"a".repeat(20)} /bot12345:${"a".repeat(19)}`,
        `/bot1234:${"a".repeat(20)} /bot12345:${"a".repeat(19)}`,
      ],
      ["nothing of the kind", "nothing of the kind"],
    ] as const)
      expect([text, await shown(text)]).toEqual([text, wanted]);
  });

  test("nor anything that nobody sees, or that turns a line around: it is written out, and means the same", async () => {
    const name = "Eve\u202Eabc\u200B\u2066\uFEFF\u2800\u{E0041} 👨‍👩‍👧 Привет";
    const line = await lines((log) => log.info({ sender: name }, name));
    expect(JSON.parse(line)).toMatchObject({ sender: name, msg: name });
    expect(line).toContain("👨‍👩‍👧 Привет");
    expect(line.replaceAll("👨‍👩‍👧", "")).not.toMatch(/[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u);
  });

  test("one that came later is hidden from then on; the level changes for the children that there are", async () => {
    let text = "";
    const { log, hide, setLevel } = await logger({
      level: "info",
      pretty: false,
      secrets: [],
      onLine: (line) => (text += line),
    });
    const child = log.child({ part: "turns" });
    child.debug({}, "too little");
    setLevel("debug");
    hide("minted-later");
    child.debug({}, "it is minted-later");
    expect(text).not.toMatch(/too little|minted-later/);
    expect(text).toContain("it is [secret]");
    const told = (): unknown[] =>
      text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown);
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(told()).toEqual([{ level: 20, time: at, part: "turns", msg: "it is [secret]" }]);
    // Each level is said from itself upwards.
    for (const level of ["debug", "info", "warn", "error"] as const) {
      text = "";
      setLevel(level);
      for (const each of ["debug", "info", "warn", "error"] as const) child.child({ n: 1 })[each]({}, each);
      const all = ["debug", "info", "warn", "error"];
      expect(told().map((line) => (line as { readonly msg: string }).msg)).toEqual(
        all.slice(all.indexOf(level)),
      );
    }
  });

  test("those given anew for ever are hidden, the newest of them also in answers of a config that stands", async () => {
    let text = "";
    const onLine = (line: string): void => void (text += line);
    const { log, learn, learnt } = await logger({ level: "info", pretty: false, secrets: [], onLine });
    const redaction = wireRedaction(await configOf(), "/home/p/.parley", ["of-the-gateway"], learnt);
    const shown = (): string =>
      sanitizeOutbound("of-the-gateway token-0-x token-299-x", redaction).replaceAll("\n", "");
    expect(shown()).toBe("[secret] token-0-x token-299-x");
    for (let each = 0; each < 300; each += 1) learn([`token-${each}-x`]);
    log.info({}, "it is token-299-x");
    expect(text).toContain("it is [secret]");
    expect(shown()).toBe("[secret] token-0-x [secret]");
    expect(sanitizeOutbound("token-99-x token-100-x", redaction)).toBe("token-99-x [secret]");
    const before = learnt();
    learn(["token-299-x"]);
    expect(learnt()).toBe(before);
  });
});

describe("the log on a terminal", () => {
  /** What a process of its own writes there: this one's standard error is the tester's. */
  function shown(level: string): readonly string[] {
    const entry = fileURLToPath(new URL("../src/log/logger.ts", import.meta.url));
    const script = `
      const { logger } = await import(${JSON.stringify(entry)});
      const { log } = await logger({ level: ${JSON.stringify(level)}, pretty: true, secrets: ["hunter2"] });
      for (const step of ["received", "turn begins", "turn committed", "sent", "had arrived"]) log.info({ n: 1 }, step);
      log.warn({}, "received hunter2");
      log.error({ error: new Error("hunter2") }, "sent");
      log.debug({}, "turn begins");`;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
    });
    return stripVTControlCharacters(stderr)
      .split("\n")
      .flatMap((line) => /^\[\d\d:\d\d:\d\d\] (.*)$/.exec(line)?.[1] ?? []);
  }

  test("shows one line for a message, its end, and all of what went wrong; every step for who looks closer", () => {
    const wrong = ["WARN: received [secret]", expect.stringMatching(/^ERROR: sent/) as string];
    expect(shown("info")).toEqual(['INFO: turn committed {"n":1}', ...wrong]);
    expect(shown("debug")).toEqual([
      ...["received", "turn begins", "turn committed", "sent", "had arrived"].map(
        (step) => `INFO: ${step} {"n":1}`,
      ),
      ...wrong,
      "DEBUG: turn begins",
    ]);
  });
});

async function configOf(file: object = {}, home = "/nowhere"): Promise<Config> {
  return (await loadConfig({ env: {}, home, readFile: async () => JSON.stringify(file) })).config;
}

test("an answer shows neither the gateway's folders, by whichever name, nor a secret of the config or of this run", async () => {
  vi.stubEnv("HOME", "/home/p");
  onTestFinished(() => void vi.unstubAllEnvs());
  const file = {
    gateway: { auth: { token: "a-secret-of-the-config-0123456789" } },
    agents: {
      list: [{ id: "main" }, { id: "two", workspace: "/srv/two" }, { id: "three", workspace: "/home/p3/w" }],
    },
  };
  const redaction = wireRedaction(
    await configOf(file, "/home/p/.parley"),
    "/home/p/.parley",
    ["one", "two"],
    () => [],
  );
  expect({ ...redaction, secrets: redaction.secrets.toSorted() }).toEqual({
    secrets: ["a-secret-of-the-config-0123456789", "one", "two"],
    stateDirs: ["/home/p/.parley", "~/.parley"],
    workspaces: ["/home/p/.parley/workspace", "~/.parley/workspace", "/srv/two", "/home/p3/w"],
  });
  const elsewhere = wireRedaction(await configOf({}, "/srv/state"), "/srv/state", [], () => []);
  expect(elsewhere.stateDirs).toEqual(["/srv/state"]);
});

test("the tools of a rehearsal are there where the config asks for them, and nowhere else", async () => {
  const names = async (file: object) =>
    wireTools(await configOf(file), virtualClock(), "/bin").map(({ name }) => name);
  expect(await names({})).toEqual([]);
  expect((await names({ tools: { rehearsal: true } })).length).toBeGreaterThan(0);
});
