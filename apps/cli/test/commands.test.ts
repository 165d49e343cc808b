import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { createServer as createSocketServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { sleep, systemClock } from "@parley/protocol";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { gatewayAddress } from "../src/gateway-address.ts";
import { probeTelegram } from "../src/probes.ts";
import manifest from "../package.json" with { type: "json" };
import {
  type Answer,
  type FakeGateway,
  fakeGateway,
  parley,
  Refusal,
  stateFolder,
  token,
} from "./fake-gateway.ts";
import { pass, passUntil, stopTime } from "./passing-time.ts";

const status = {
  version: "1.2.3",
  pid: 42,
  bootId: "b",
  startedAtMs: 0,
  state: "ok",
  reasons: [],
  configPath: "/c/parley.json5",
  config: { takenAtMs: 0, problems: [], restartNeeded: [] },
  model: "rehearsal/rehearsal",
  channels: [{ channel: "telegram", account: "default", state: "down", reason: "bad\u001B[2Jtoken" }],
  turnsRunning: 1,
  rowsWaiting: 2,
  deliveriesWaiting: 3,
  deadRows: 0,
  deliveriesTroubled: 0,
  memoryBytes: 52_428_800,
  heartbeats: { sent: 3, "quiet-hours": 2 },
  subagents: { running: 1, waiting: 2, ended: { answered: 5, failed: 1 } },
};

describe("status", () => {
  test("shows what the gateway says, with the token of the state folder", async () => {
    const gateway = await fakeGateway(() => status);
    const { exitCode, out, err } = await parley(gateway.home, ["status"]);
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out).toContain("Parley 1.2.3  ok");
    expect(out).toContain("1 running, 2 waiting, 3 to deliver");
    expect(out).toContain("Subagents 1 running, 2 waiting; in seven days 5 answered, 1 failed");
    expect(out).toContain("Heartbeat 3 sent, 2 quiet-hours");
    expect(out).toContain("telegram:default  down  bad\\u{1b}[2Jtoken");
    expect(out).not.toContain("\u001B");
    expect(out).not.toContain("Trouble");
    expect(gateway.requests[0]).toMatchObject({ method: "connect", params: { auth: { token } } });
  });

  test("with --json is one document, before or after the command", async () => {
    const gateway = await fakeGateway(() => status);
    for (const argv of [
      ["status", "--json"],
      ["--json", "status"],
    ]) {
      const { exitCode, out } = await parley(gateway.home, argv);
      expect(exitCode).toBe(0);
      expect(JSON.parse(out)).toEqual(status);
    }
  });

  test("counts what is dead and what did not arrive, and names the commands that show it", async () => {
    const gateway = await fakeGateway(() => ({ ...status, deadRows: 1, deliveriesTroubled: 2 }));
    const { out } = await parley(gateway.home, ["status"]);
    expect(out).toContain(
      "Trouble   1 dead (parley dead list), 2 not delivered (parley outbox list --troubled)",
    );
    const other = await fakeGateway(() => ({ ...status, deliveriesTroubled: 2 }));
    expect((await parley(other.home, ["status"])).out).toMatch(/^Trouble .*2 not delivered/m);
  });

  test("tells what of the config file is not in force", async () => {
    const config = {
      takenAtMs: 0,
      problems: ["/c/parley.json5:2:3 gateway.prot: unknown key"],
      restartNeeded: ["gateway.port"],
    };
    const gateway = await fakeGateway(() => ({ ...status, config }));
    const { exitCode, out } = await parley(gateway.home, ["status"]);
    expect(exitCode).toBe(0);
    expect(out).toContain("the last good config goes on:\n  /c/parley.json5:2:3 gateway.prot: unknown key");
    expect(out).toContain("waits for `parley restart`: gateway.port");
  });

  test("of a gateway in trouble exits with 1", async () => {
    const gateway = await fakeGateway(() => ({ ...status, state: "degraded", reasons: ["disk full"] }));
    const { exitCode, out } = await parley(gateway.home, ["status"]);
    expect(exitCode).toBe(1);
    expect(out).toContain("disk full");
  });
});

describe("without a gateway", () => {
  test("a state folder where none ever started is told how to start one", async () => {
    const { exitCode, out, err } = await parley(stateFolder(null, null), ["status"]);
    expect([exitCode, out]).toEqual([1, ""]);
    expect(err).toContain("Start it with `parley start`.");
  });

  test("one that stopped is told how to start it, in JSON on request", async () => {
    const home = stateFolder("{ gateway: { port: 1 } }");
    const { exitCode, out, err } = await parley(home, ["status", "--json"]);
    expect([exitCode, err]).toEqual([1, ""]);
    expect(JSON.parse(out)).toMatchObject({ ok: false, error: { code: "unavailable" } });
  });

  test("another program in its place is told from nothing", async () => {
    const other = createServer((_request, response) => void response.end("hello")).listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const home = stateFolder(`{ gateway: { port: ${(other.address() as AddressInfo).port} } }`);
    const { exitCode, err } = await parley(home, ["status"]);
    expect(exitCode).toBe(1);
    expect(err).toMatch(/another program answers there\.\nStop that program, or set gateway\.port/);
  });

  test.each(["gateway-token", "gateway.auth.token", "gateway-port", "gateway-port of before"])(
    "a token that it does not take is named by where it stands: %s",
    async (place) => {
      const { home, port } = await fakeGateway(() => ({}), "it was revoked");
      if (place === "gateway.auth.token")
        writeFileSync(
          join(home, "parley.json5"),
          `{ gateway: { port: ${port}, auth: { token: "a-token-of-the-config-0123456789" } } }`,
        );
      const [file = ""] = place.split(" ");
      if (file === "gateway-port")
        writeFileSync(join(home, file), `${port} ${process.pid} loopback ${"t".repeat(43)}\n`);
      // The config was changed since.
      if (file !== place) utimesSync(join(home, file), 1, 1);
      const from = place.includes(".") ? place : join(home, file);
      expect(await parley(home, ["status"])).toEqual({
        exitCode: 1,
        out: "",
        err: `The gateway at http://127.0.0.1:${port} does not take the token of ${from}: it was revoked.\nAnother gateway may run there, or the token changed after its start: restart it, or set gateway.port.\n`,
      });
    },
  );

  test("a state folder that was never used is told with what is missing", async () => {
    const home = stateFolder(null, null);
    expect((await parley(home, ["status"])).err).toBe(
      `The gateway is not running at http://127.0.0.1:7275: there is no token in ${home}/gateway-token, so no gateway has started here yet.\nStart it with \`parley start\`.\n`,
    );
    writeFileSync(join(home, "parley.json5"), "{\n gateway: { port: 8, prot: 1 }\n}");
    const { exitCode, err } = await parley(home, ["status"]);
    expect([exitCode, err]).toEqual([
      78,
      `The gateway is not running at http://127.0.0.1:7275: there is no token in ${home}/gateway-token, so no gateway has started here yet.\nMend the config, then run \`parley start\`.\n`,
    ]);
  });

  test("and with a broken config the exit code is 78 and the line is named", async () => {
    const home = stateFolder("{\n gateway: { prot: 1 }\n}", null);
    const { exitCode, err } = await parley(home, ["status"]);
    expect(exitCode).toBe(78);
    expect(err).toContain("Mend the config");
  });
});

describe("pairing", () => {
  test("list shows codes and names, without anything a name could do to the terminal", async () => {
    const pending = [
      {
        code: "ABCD2345",
        channel: "telegram",
        account: "default",
        senderId: "7",
        senderName: "Eve\u001B]0;x\u0007",
        expiresAtMs: 0,
      },
    ];
    const gateway = await fakeGateway(() => ({ pending, paired: [] }));
    const { exitCode, out } = await parley(gateway.home, ["pair", "list"]);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^ABCD2345 {2}telegram:default {2}7 {2}Eve\\u\{1b\}\]0;x\\u\{7\} {2}until 1970/);
  });

  test("approve sends the code and says who is in", async () => {
    const gateway = await fakeGateway(() => ({
      channel: "telegram",
      account: "default",
      senderId: "7",
      senderName: "Eve",
    }));
    const { exitCode, out } = await parley(gateway.home, ["pair", "approve", "ABCD2345"]);
    expect([exitCode, out]).toEqual([0, "Paired Eve (7) on telegram:default.\n"]);
    expect(gateway.requests[1]).toMatchObject({ method: "pairing.approve", params: { code: "ABCD2345" } });
  });

  test("revoke sends the id and says who is out", async () => {
    const gateway = await fakeGateway(() => ({
      channel: "telegram",
      account: "default",
      senderId: "7",
      senderName: "Eve",
    }));
    const { exitCode, out } = await parley(gateway.home, ["pair", "revoke", "telegram:7"]);
    expect([exitCode, out]).toEqual([0, "Eve (7) is no longer paired on telegram:default.\n"]);
    expect(gateway.requests[1]).toMatchObject({ method: "pairing.revoke", params: { id: "telegram:7" } });
  });

  test("approve of a wrong code repeats the gateway's words and exits with 1", async () => {
    const gateway = await fakeGateway(() => {
      throw new Refusal("missing", "no pairing request has this code");
    });
    const { exitCode, out, err } = await parley(gateway.home, ["pair", "approve", "NO"]);
    expect([exitCode, out, err]).toEqual([1, "", "no pairing request has this code\n"]);
  });
});

describe("usage", () => {
  test.for([
    [["stat"]],
    [["config"]],
    [["pair", "approve"]],
    [["status", "--nope"]],
    [["why"]],
    [["outbox", "retry"]],
    [["dead", "lsit"]],
    [["migrate", "--to", "mysql"]],
    [["backup"]],
    [["chat", "--thread"]],
  ] as const)("%j exits with 2 and writes nothing to standard output", async ([argv]) => {
    const { exitCode, out, err } = await parley(stateFolder(null), argv);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).not.toBe("");
  });

  test("with --json is told in the one document too", async () => {
    const { exitCode, out } = await parley(stateFolder(null), ["outbox", "retyr", "x", "--json"]);
    expect(exitCode).toBe(2);
    expect(JSON.parse(out)).toEqual({
      ok: false,
      error: { code: "invalid", message: expect.stringMatching(/^unknown command 'retyr'/) as string },
    });
    for (const argv of [["--json"], ["config", "--json"]]) {
      const missing = await parley(stateFolder(null), argv);
      expect([missing.exitCode, JSON.parse(missing.out)]).toEqual([
        2,
        { ok: false, error: { code: "invalid", message: "a command is missing; --help shows them" } },
      ]);
    }
  });

  test("--version is the version alone", async () => {
    expect(await parley(stateFolder(null), ["--version"])).toEqual({
      exitCode: 0,
      out: `${manifest.version}\n`,
      err: "",
    });
  });

  test.for([["outbox"], ["dead"], ["pair"], ["sessions"], ["devices"]])("%s alone lists", async ([group]) => {
    const gateway = await fakeGateway(() => ({
      deliveries: [],
      rows: [],
      pending: [],
      paired: [],
      sessions: [],
      devices: [],
    }));
    const alone = await parley(gateway.home, [group ?? ""]);
    expect(alone).toEqual(await parley(gateway.home, [group ?? "", "list"]));
    expect(alone.exitCode).toBe(0);
    for (const [argv, isList] of [
      [["--help"], false],
      [["-h"], false],
      [["--json"], true],
    ] as const) {
      const { out } = await parley(gateway.home, [group ?? "", ...argv]);
      expect([out.includes("Commands:"), out.startsWith("{")]).toEqual([!isList, isList]);
      if (isList) expect((await parley(gateway.home, [...argv, group ?? ""])).out).toBe(out);
    }
  });

  test("a mistyped command is guessed", async () => {
    expect((await parley(stateFolder(null), ["statsu"])).err).toContain("Did you mean status?");
  });

  test("help exits with 0 and lists every command", async () => {
    const { exitCode, out } = await parley(stateFolder(null), ["--help"]);
    expect(exitCode).toBe(0);
    for (const command of [
      "start",
      "status",
      "chat",
      "pair",
      "why",
      "outbox",
      "dead",
      "lanes",
      "resume",
      "backup",
      "restore",
    ])
      expect(out).toContain(`  ${command}`);
  });

  test("help of a word is that command's, and a word that is none is answered with the nearest", async () => {
    const helpOf = (...words: readonly string[]) => parley(stateFolder(null), ["help", ...words]);
    expect((await helpOf("cron", "rm")).out).toMatch(/^Usage: parley cron rm /);
    // What stands behind it is not done.
    expect((await helpOf("send", "hello")).out).toMatch(/^Usage: parley send /);
    expect((await helpOf("cron")).out).toMatch(/^Usage: parley cron /);
    const unknown = await helpOf("statsu");
    expect([unknown.exitCode, unknown.out]).toEqual([2, ""]);
    expect(unknown.err).toContain("Did you mean status?");
    expect((await helpOf("cron", "lits")).err).toContain("unknown command 'lits'");
    expect((await helpOf("cron", "lits", "rm")).err).toContain("unknown command 'lits'");
    expect((await helpOf("--json", "cron", "rm")).out).toMatch(/^Usage: parley cron rm /);
    expect((await helpOf()).out).toBe((await parley(stateFolder(null), ["--help"])).out);
  });

  test("help has every command under a heading that says what it is for", async () => {
    const { out } = await parley(stateFolder(null), ["--help"]);
    const headings = out.split("\n").filter((each) => /^\S.*:$/.test(each));
    expect(headings).toEqual([
      "Options:",
      "Set up and run:",
      "See how it is:",
      "Talk, and let people in:",
      "What became of a message:",
      "What the agent has:",
      "Keep and move its data:",
      "At the shell:",
    ]);
  });
});

interface Message {
  seq: number;
  role: string;
  text: string;
}

/**
 * Answers each message with `answers`, one a look at the history; a message that is said again under its key
 * is not new.
 */
function replying(answers: readonly string[]): Answer {
  const messages: Message[] = [{ seq: 3, role: "assistant", text: "from long ago" }];
  const keys = new Set<string>();
  let left: readonly string[] = [];
  return ({ method, params }) => {
    if (method === "chat.send") {
      const { text, idempotencyKey } = params as { text: string; idempotencyKey: string };
      if (!keys.has(idempotencyKey)) {
        messages.push({ seq: 11, role: "user", text });
        left = answers;
      }
      keys.add(idempotencyKey);
      return { id: "x", sessionKey: "s", duplicate: false };
    }
    if (method === "why") return { now: left.length > 0 ? "it is worked on" : null };
    const [next, ...rest] = left;
    if (next !== undefined) messages.push({ seq: messages.length + 20, role: "assistant", text: next });
    left = rest;
    return { sessionKey: "s", messages, working: left.length > 0 };
  };
}

const talking = (answers: readonly string[]): Promise<FakeGateway> => fakeGateway(replying(answers));

describe("chat with piped input", () => {
  test("prints every message of the answer, and only these, and leaves", async () => {
    const gateway = await talking(["first", "second"]);
    const { exitCode, out, err } = await parley(gateway.home, ["chat"], {
      input: new PassThrough().end("hi\n"),
    });
    expect([exitCode, out, err]).toEqual([0, "first\nsecond\n", ""]);
    // It looks until nothing is worked on any more: what came with the last look is told, too.
    const [connect, ...asked] = gateway.requests.map(({ method, params }) => [method, params]);
    expect(connect).toEqual(["connect", expect.not.objectContaining({ follows: false }) as unknown]);
    expect(asked).toEqual([
      ["chat.send", { text: "hi", idempotencyKey: expect.any(String) as string }],
      ...[1, 2, 3].flatMap(() => [
        ["why", { query: "x" }],
        ["chat.history", { limit: 200 }],
      ]),
    ]);
  });

  test("with --json is one document", async () => {
    const gateway = await talking(["yes"]);
    const { out } = await parley(gateway.home, ["chat", "--json", "--thread", "work"], {
      input: new PassThrough().end("hi"),
    });
    expect(JSON.parse(out)).toMatchObject({ messages: [{ text: "yes" }] });
    expect(
      gateway.requests.map(({ method, params }) => [method, (params as { thread?: string }).thread]),
    ).toEqual([
      ["connect", "work"],
      ["chat.send", "work"],
      ...[1, 2].flatMap(() => [
        ["why", undefined],
        ["chat.history", "work"],
      ]),
    ]);
  });

  test("that the agent answers by silence leaves, also when that was quicker than the first look", async () => {
    const gateway = await talking([]);
    const { exitCode, out, err } = await parley(gateway.home, ["chat"], {
      input: new PassThrough().end("hi"),
    });
    expect([exitCode, out, err]).toEqual([0, "", "The agent did not answer.\n"]);
  });

  test("waits for a gateway that restarts meanwhile, and says it under the same key", async () => {
    let restarts = 1;
    const reply = replying(["at last"]);
    const gateway = await fakeGateway((request) => {
      if (request.method === "why" && restarts-- > 0) {
        gateway.hangUp("the gateway restarts");
        // What was answered meanwhile stands before where the conversation is now.
        gateway.seq = 90;
      }
      return reply(request);
    });
    const { exitCode, out, err } = await parley(gateway.home, ["chat"], {
      input: new PassThrough().end("hi"),
    });
    expect([exitCode, out]).toEqual([0, "at last\n"]);
    expect(err).toBe("The gateway went away; what was said is kept. Waiting for it to be back ...\n");
    const keys = gateway.requests
      .filter(({ method }) => method === "chat.send")
      .map(({ params }) => (params as { idempotencyKey: string }).idempotencyKey);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test("that is empty is a mistake of usage", async () => {
    const gateway = await talking(["yes"]);
    const { exitCode, err } = await parley(gateway.home, ["chat"], { input: new PassThrough().end(" \n") });
    expect(exitCode).toBe(2);
    expect(err).toContain("standard input is empty");
  });
});

describe("chat on a terminal", () => {
  test("streams what grows, settles what is final, and leaves at the end of input", async () => {
    const input: PassThrough & { isTTY?: boolean } = Object.assign(new PassThrough(), { isTTY: true });
    const gateway = await fakeGateway(({ method }) => {
      if (method !== "chat.send") throw new Refusal("unsupported", method);
      gateway.tell("chat.delta", { turn: "t", text: "Hel" });
      gateway.tell("chat.delta", { turn: "t", text: "Hello th" });
      gateway.tell("chat.message", { seq: 12, role: "user", text: "hi", html: "", atMs: 0 });
      gateway.tell("chat.message", { seq: 13, role: "assistant", text: "Hello there", html: "", atMs: 0 });
      return { id: "x", sessionKey: "s", duplicate: false };
    });
    const onOut = (soFar: string): void => {
      if (soFar.endsWith("there\n")) input.end();
    };
    input.write("hi\n");
    const { exitCode, out } = await parley(gateway.home, ["chat"], { input, onOut });
    expect([exitCode, out]).toEqual([0, "Hello there\n"]);
    expect(gateway.requests.filter(({ method }) => method === "chat.send")).toMatchObject([
      { params: { text: "hi" } },
    ]);
  });
});

test("a gateway that goes away ends the conversation with the reason and exit code 1", async () => {
  const input: PassThrough & { isTTY?: boolean } = Object.assign(new PassThrough(), { isTTY: true });
  const gateway = await fakeGateway(() => {
    gateway.hangUp("the gateway restarts");
    return { id: "x", sessionKey: "s", duplicate: false };
  });
  input.write("hi\n");
  const { exitCode, err } = await parley(gateway.home, ["chat"], { input });
  expect(exitCode).toBe(1);
  expect(err).toContain("closed the connection: the gateway restarts");
});

describe("a gateway that runs is found", () => {
  test.for([
    ["a file that is broken elsewhere", (text: string) => text.replace(/\}$/, ", loging: {} }")],
    [
      "a variable that only the gateway has",
      (text: string) => text.replace(/\}$/, ', channels: { discord: { token: { env: "NOT_HERE" } } } }'),
    ],
  ] as const)("over %s, with a warning", async ([, spoil]) => {
    const gateway = await fakeGateway(() => status);
    const config = join(gateway.home, "parley.json5");
    writeFileSync(config, spoil(readFileSync(config, "utf8")));
    const { exitCode, out, err } = await parley(gateway.home, ["status"]);
    expect(exitCode).toBe(0);
    expect(out).toContain("Parley 1.2.3");
    expect(err).toContain("config: ");
  });

  test("by what it wrote down after the config's last change, and by the config after a later one", async () => {
    const gateway = await fakeGateway(() => status);
    const config = join(gateway.home, "parley.json5");
    const [port] = /\d+/.exec(readFileSync(config, "utf8")) ?? [];
    const spoilt = `{ gateway: { port: ${port} }, loging: {} }`;
    writeFileSync(config, spoilt);
    await sleep(systemClock(), 20);
    writeFileSync(join(gateway.home, "gateway-port"), `${port} ${process.pid} loopback ${token}\n`);
    expect(await parley(gateway.home, ["status"])).toMatchObject({ exitCode: 0, err: "" });
    await sleep(systemClock(), 20);
    writeFileSync(config, spoilt);
    const { exitCode, err } = await parley(gateway.home, ["status"]);
    expect(exitCode).toBe(0);
    expect(err).toContain("config: ");
  });

  test("over a file that cannot be read at all, by the last good one", async () => {
    const gateway = await fakeGateway(() => status);
    const config = join(gateway.home, "parley.json5");
    writeFileSync(`${config}.bak`, readFileSync(config));
    writeFileSync(config, "{ gateway: { port");
    expect((await parley(gateway.home, ["status"])).exitCode).toBe(0);
  });

  test.for([
    ["another port in the file", "{ gateway: { port: 1 } }"],
    ["a syntax error in it", "{ gateway: { port"],
    [
      "another token in it",
      '{ gateway: { port: 1, auth: { token: "the-token-of-the-next-start-0123456789" } } }',
    ],
    ["a token that only the gateway has", '{ gateway: { auth: { token: { env: "NOT_HERE" } } } }'],
  ] as const)("over %s, by what it left in the state folder", async ([, config]) => {
    const gateway = await fakeGateway(() => status);
    const port = /\d+/.exec(readFileSync(join(gateway.home, "parley.json5"), "utf8"))?.[0];
    writeFileSync(join(gateway.home, "parley.json5"), config);
    writeFileSync(join(gateway.home, "gateway-port"), `${port} ${process.pid} loopback ${"t".repeat(43)}\n`);
    expect(await parley(gateway.home, ["status"])).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining("Parley 1.2.3") as string,
    });
    expect(gateway.requests[0]?.params).toMatchObject({ auth: { token: "t".repeat(43) } });
  });

  test("by the config again once the process that left it is gone", async () => {
    const gateway = await fakeGateway(() => status);
    const gone = spawnSync("true").pid;
    writeFileSync(join(gateway.home, "gateway-port"), `1 ${gone} loopback ${"t".repeat(43)}\n`);
    expect((await parley(gateway.home, ["status"])).exitCode).toBe(0);
    expect(gateway.requests[0]?.params).toMatchObject({ auth: { token } });
  });
});

test.each([
  ["gateway-port", "The file PATH cannot be read: EISDIR: illegal operation on a directory, read."],
  [
    "gateway-token",
    "The token file PATH cannot be read: EISDIR: illegal operation on a directory, read.\nRun this as the user of the daemon.",
  ],
])("a %s that cannot be read is told, and nothing is guessed", async (name, words) => {
  const gateway = await fakeGateway(() => status);
  rmSync(join(gateway.home, name), { force: true });
  mkdirSync(join(gateway.home, name));
  const { exitCode, out, err } = await parley(gateway.home, ["status"]);
  expect([exitCode, out, err]).toEqual([1, "", `${words.replace("PATH", join(gateway.home, name))}\n`]);
  expect(gateway.requests).toEqual([]);
});

test.each([
  ["4321 GONE lan x", "http://127.0.0.1:1", "the config, where its process is gone"],
  ["0 PID lan x", "http://127.0.0.1:1", "the config, where it names no port"],
  ["4321 PID loopback", "http://127.0.0.1:4321", "this machine"],
  ["4321 PID lan x", "http://127.0.0.1:4321", "every interface"],
  ["4321 PID 0.0.0.0 x", "http://127.0.0.1:4321", "every address"],
  ["4321 PID 127.0.0.9 x", "http://127.0.0.9:4321", "another address of this machine alone"],
  ["4321 PID ::1 x", "http://[::1]:4321", "this machine by its other address"],
  ["4321 PID 192.0.2.7 x", "http://192.0.2.7:4321", "one address"],
  ["4321 PID 2001:db8::7 x", "http://[2001:db8::7]:4321", "an address in brackets"],
])("what a gateway left, %s, leads to %s: %s", async (written, url) => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  const gone = spawnSync("true").pid;
  const text = written.replace("PID", String(process.pid)).replace("GONE", String(gone));
  writeFileSync(join(home, "gateway-port"), `${text}\n`);
  expect((await gatewayAddress({ PARLEY_HOME: home })).url).toBe(url);
});

test.each([
  ['{"ok":true}', true],
  ['{"ok":false}', true],
  ['{"ok":true} ', false],
  ["<html>", false],
])(
  "a port that takes no WebSocket and says %s of its health is told as a gateway: %s",
  async (health, isGateway) => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.end(health);
    }).listen(0, "127.0.0.1");
    server.on("upgrade", (_, socket) => void socket.end("HTTP/1.1 503 Service Unavailable\r\n\r\n"));
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const { exitCode, err } = await parley(stateFolder(`{ gateway: { port: ${port} } }`), ["reload"]);
    expect([exitCode, err, asked]).toEqual([
      1,
      isGateway
        ? `The gateway at ${url} takes no connection now: it is stopping, or has too many. Try again.\n`
        : `The gateway is not running at ${url}: another program answers there.\nStop that program, or set gateway.port; then run \`parley start\`.\n`,
      ["/healthz"],
    ]);
  },
);

test("a connection that is closed without a reason is told by its code", async () => {
  const gateway = await fakeGateway(() => {
    gateway.hangUp("");
    return {};
  });
  const { exitCode, err } = await parley(gateway.home, ["reload"]);
  expect([exitCode, err]).toEqual([
    1,
    expect.stringContaining("The gateway closed the connection: code 1012."),
  ]);
});

/** Takes every connection, and never says anything. */
async function silent(): Promise<{ readonly port: number; readonly met: Promise<unknown> }> {
  const sockets: Socket[] = [];
  const server = createSocketServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, met: once(server, "connection") };
}

test.each([
  ["the process that wrote itself down", true, `Its process ${process.pid}`],
  ["whatever listens where the config says", false, "What listens there"],
])("a gateway that says nothing for five seconds is told as one that hangs: %s", async (_, isKnown, who) => {
  const { port, met } = await silent();
  const home = stateFolder(`{ gateway: { port: ${port} } }`);
  if (isKnown) writeFileSync(join(home, "gateway-port"), `${port} ${process.pid} loopback ${token}\n`);
  stopTime();
  let end: unknown = null;
  const running = parley(home, ["reload", "--json"]).then((run) => (end = run));
  await met;
  await pass(4_999);
  expect(end).toBeNull();
  const { exitCode, out } = await passUntil(running);
  const message = `The gateway at http://127.0.0.1:${port} does not answer. ${who} said nothing within 5 s: it hangs, or is very busy.\n\`parley stop\` ends it, and \`parley start\` goes on where it stood: nothing is lost.`;
  expect([exitCode, JSON.parse(out)]).toEqual([1, { ok: false, error: { code: "timeout", message } }]);
});

test("one that refuses a WebSocket and does not tell its health within two seconds is none", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  server.on("upgrade", (_, socket) => void socket.end("HTTP/1.1 503 Service Unavailable\r\n\r\n"));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const home = stateFolder(`{ gateway: { port: ${port} } }`);
  stopTime();
  let end: unknown = null;
  const running = parley(home, ["reload"]).then((run) => (end = run));
  await once(server, "request");
  await pass(1_999);
  expect(end).toBeNull();
  await pass(1);
  expect(await running).toEqual({
    exitCode: 1,
    out: "",
    err: `The gateway is not running at http://127.0.0.1:${port}: nothing answers there.\nStart it with \`parley start\`.\n`,
  });
});

test("no wait for a gateway or a platform keeps the program back once it has what it came for", async () => {
  const began = vi.spyOn(globalThis, "setTimeout");
  const ended = vi.spyOn(globalThis, "clearTimeout");
  onTestFinished(() => void vi.restoreAllMocks());
  const gateway = await fakeGateway(() => status);
  await parley(gateway.home, ["status"]);
  const server = createServer((_, response) => void response.end('{"ok":true}')).listen(0, "127.0.0.1");
  server.on("upgrade", (_, socket) => void socket.end("HTTP/1.1 503 Service Unavailable\r\n\r\n"));
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await parley(stateFolder(`{ gateway: { port: ${port} } }`), ["reload"]);
  await probeTelegram("1:t", `http://127.0.0.1:${port}`);
  const cancelled = new Set<unknown>(ended.mock.calls.map(([handle]) => handle));
  const waits = began.mock.calls.map(([, ms], n) => [ms, cancelled.has(began.mock.results[n]?.value)]);
  // For an answer, twice; for its health; for a platform's answer.
  expect(waits.filter(([ms]) => [5_000, 2_000, 15_000].includes(Number(ms)))).toEqual([
    [5_000, true],
    [5_000, true],
    [2_000, true],
    [15_000, true],
  ]);
});
