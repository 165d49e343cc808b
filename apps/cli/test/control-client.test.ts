// What the command line says to a gateway and makes of its frames, over a wire that the test holds and over a
// program that is run for one command.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { protocolRange } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import { harmless, line, result, styled } from "../src/console.ts";
import { connectControl, type ConnectOptions } from "../src/control-client.ts";
import { CommandFailure } from "../src/exit.ts";
import { onceWire } from "../src/once-wire.ts";

/** A wire whose other end is the test. */
function held() {
  const sent: unknown[] = [];
  let [hear, end, closes]: [(text: string) => void, (why: CommandFailure) => void, number] = [
    () => undefined,
    () => undefined,
    0,
  ];
  const wire: ConnectOptions["wire"] = {
    send: (text) => void sent.push(JSON.parse(text)),
    listen: (listener) => (hear = listener),
    closed: new Promise((resolve) => (end = resolve)),
    close: () => void (closes += 1),
  };
  return {
    wire,
    sent,
    tell: (frame: object) => hear(JSON.stringify(frame)),
    end: (why: CommandFailure) => end(why),
    closes: () => closes,
  };
}
const welcome = { type: "res", id: "1", ok: true, payload: { seq: 3 } };

test.each<[string, Partial<ConnectOptions>, object]>([
  ["nothing", {}, { protocol: protocolRange, client: { name: "parley-cli", version: "1" }, follows: false }],
  [
    "a token and a conversation",
    { token: "t", follows: { thread: "work" } },
    {
      protocol: protocolRange,
      client: { name: "parley-cli", version: "1" },
      auth: { token: "t" },
      thread: "work",
    },
  ],
  [
    "the conversation without a name",
    { token: "t", follows: {} },
    { protocol: protocolRange, client: { name: "parley-cli", version: "1" }, auth: { token: "t" } },
  ],
  [
    "a code in place of a token, under a name",
    { token: "t", auth: { code: "C", deviceToken: "d" }, name: "parley-node" },
    {
      protocol: protocolRange,
      client: { name: "parley-node", version: "1" },
      auth: { code: "C", deviceToken: "d" },
      follows: false,
    },
  ],
])("with %s it says who it is and what it follows", async (_what, options, params) => {
  const { wire, sent, tell } = held();
  const connecting = connectControl({ wire, ...options });
  tell(welcome);
  expect((await connecting).welcome).toEqual({ seq: 3 });
  expect(sent).toEqual([{ type: "req", id: "1", method: "connect", params }]);
});

test("answers go to whoever asked, in whatever order, events to all who listen, and an end to all who wait", async () => {
  const { wire, sent, tell, end, closes } = held();
  const connecting = connectControl({ wire });
  tell(welcome);
  const client = await connecting;
  const heard: unknown[] = [];
  client.on("chat.delta", (payload) => heard.push(["first", payload]));
  client.on("chat.delta", (payload) => heard.push(["second", payload]));
  client.on("chat.message", (payload) => heard.push(["other", payload]));
  const asked = [
    client.request("status", {}),
    client.request("lanes.list", { limit: 1 }),
    client.request("status", {}),
    client.request("status", {}),
  ];
  const outcomes = Promise.allSettled(asked);
  expect(sent.slice(1)).toEqual([
    { type: "req", id: "2", method: "status", params: {} },
    { type: "req", id: "3", method: "lanes.list", params: { limit: 1 } },
    { type: "req", id: "4", method: "status", params: {} },
    { type: "req", id: "5", method: "status", params: {} },
  ]);
  tell({ type: "res", id: "9", ok: true, payload: "nobody's" });
  tell({ type: "res", id: "3", ok: true, payload: { lanes: [] } });
  tell({ type: "event", event: "chat.delta", payload: { turn: "t" } });
  tell({ type: "event", event: "chat.typing", payload: {} });
  tell({ type: "res", id: "2", ok: false, error: { code: "denied", message: "not you" } });
  tell({ type: "res", id: "4", ok: false });
  const gone = new CommandFailure("unavailable", "it went away");
  end(gone);
  expect(
    (await outcomes).map((each) =>
      each.status === "fulfilled"
        ? each.value
        : [(each.reason as CommandFailure).code, (each.reason as Error).message],
    ),
  ).toEqual([
    ["denied", "not you"],
    { lanes: [] },
    ["internal", "The gateway gave no reason."],
    ["unavailable", "it went away"],
  ]);
  expect(heard).toEqual([
    ["first", { turn: "t" }],
    ["second", { turn: "t" }],
  ]);
  expect([await client.closed, closes()]).toEqual([gone, 0]);
  client.close();
  expect(closes()).toBe(1);
});

test("a gateway for one command speaks by lines and ends with its input; one that ends first says why", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-once-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const run = (body: string) => {
    const program = join(folder, `${body.length}.mjs`);
    writeFileSync(program, body);
    return onceWire(program, { WORD: "a" });
  };
  const speaks = run(
    "process.stdin.on('data', (said) => process.stdout.write(process.argv[2] + Object.keys(process.env).filter((name) => name === 'WORD' || name === 'HOME') + said)).on('end', () => process.exit(0))",
  );
  const lines: string[] = [];
  const two = new Promise<void>((resolve) =>
    speaks.listen((text) => {
      lines.push(text);
      if (lines.length === 2) resolve();
    }),
  );
  speaks.send("one\n{}");
  await two;
  speaks.close();
  const ends = await Promise.all([
    speaks.closed,
    run("console.error(' the config is broken '); process.exitCode = 78").closed,
    run("process.exitCode = 3").closed,
  ]);
  expect(lines).toEqual(["--onceWORDone", "{}"]);
  expect(ends.map(({ code, message, exitCode }) => [code, message, exitCode])).toEqual([
    ["unavailable", "The gateway ended without an answer.", 1],
    ["unavailable", "the config is broken", 78],
    ["unavailable", "The gateway ended without an answer.", 1],
  ]);
});

test("colours are for a terminal that wants them, and nobody else's words bring any", () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  const pipe = new PassThrough();
  expect([
    harmless(styled(terminal, {}, "bold", "a")),
    harmless(styled(terminal, { NO_COLOR: "" }, "dim", "b")),
    harmless(styled(terminal, { NO_COLOR: "0" }, "red", "c")),
    harmless(styled(pipe, {}, "red", "d")),
    harmless(styled(terminal, {}, "green", "e\u001B[31mf")),
    ...(["red", "yellow"] as const).map((style) => harmless(styled(terminal, {}, style, "g"))),
  ]).toEqual([
    "\u001B[1ma\u001B[0m",
    "\u001B[2mb\u001B[0m",
    "c",
    "d",
    "\u001B[32me\\u{1b}[31mf\u001B[0m",
    "\u001B[31mg\u001B[0m",
    "\u001B[33mg\u001B[0m",
  ]);
  line(pipe, "two\nlines\n");
  result({ json: true, out: pipe }, { a: "\u001B\n" }, "words");
  result({ json: false, out: pipe }, { a: 1 }, "words\nof it");
  expect(String(pipe.read())).toBe('two\\u{a}lines\\u{a}\n{"a":"\\u001b\\n"}\nwords\\u{a}of it\n');
});
