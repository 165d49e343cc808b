// A server that is a program: small programs of the shell stand in for it. What goes in and comes out, what
// is said of each end, how it is asked to end, and what of its environment and its errors is seen.
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { isFault } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { stdioTransport, type StdioRequest } from "../src/stdio.ts";

const cwd = realpathSync(tmpdir());
function program(script: string, more: Partial<StdioRequest> = {}) {
  const clock = virtualClock();
  const messages: unknown[] = [];
  const failures: string[] = [];
  const stderr: string[] = [];
  let closed = 0;
  const transport = stdioTransport({
    argv: ["sh", "-c", script],
    cwd,
    env: { PATH: process.env["PATH"] ?? "", KEY: "k" },
    mark: "m7",
    clock,
    onStderr: (text) => void stderr.push(text),
    ...more,
  });
  transport.onmessage = (message) => void messages.push(message);
  transport.onerror = (error) =>
    void failures.push(`${isFault(error) ? `${error.code}: ` : ""}${error.message}`);
  transport.onclose = () => void (closed += 1);
  onTestFinished(async () => {
    const closing = transport.close();
    await clock.advance(1_000);
    await closing;
  });
  return { transport, clock, messages, failures, stderr, closed: () => closed };
}
const message = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" }) as const;
const refusal = (error: unknown): string =>
  isFault(error) ? `${error.code}: ${error.message}` : String(error);

test("each message is a line, in and out, in its folder and its environment, with the mark of its server", async () => {
  const script = `printf '{"jsonrpc":"2.0","where":"%s %s %s"}\\n' "$(pwd)" "$KEY" "$PARLEY_MCP"; cat`;
  const { transport, messages } = program(script);
  expect([transport.pid(), transport.ended()]).toEqual([undefined, null]);
  await transport.start();
  expect([transport.pid() !== undefined, transport.ended()]).toEqual([true, null]);
  await transport.send(message(1));
  await transport.send(message(2));
  await expect
    .poll(() => messages)
    .toEqual([{ jsonrpc: "2.0", where: `${cwd} k m7` }, message(1), message(2)]);
});

test("why there is no server any more is told by how its program ended", async () => {
  const rows: readonly (readonly [argv: readonly string[], ended: string])[] = [
    [["sh", "-c", "exit 0"], "its program ended with exit code 0"],
    [["sh", "-c", "exit 3"], "its program ended with exit code 3"],
    [
      ["sh", "-c", "for w in a b c; do echo $w >&2; sleep 0.1; done; exit 4"],
      "its program ended with exit code 4",
    ],
    [["sh", "-c", "kill -9 $$"], "its program ended with SIGKILL"],
    [["/none/at-all"], "its program was not found"],
    [[cwd], "its program may not be run"],
  ];
  for (const [argv, ended] of rows) {
    const { transport, clock, closed } = program("", { argv });
    await transport.start();
    await expect.poll(() => transport.ended()).toBe(ended);
    // Between two pieces of what it said the reading pauses, also behind its end.
    const pausesOver = async (): Promise<number> => (await clock.advance(50), closed());
    await expect.poll(pausesOver).toBe(1);
    expect(await transport.send(message(1)).catch(refusal)).toBe("unavailable: it has ended");
    await transport.close();
    expect([closed(), transport.ended()]).toEqual([1, ended]);
  }
  const { transport } = program("", { cwd: "/none/at-all" });
  expect(await transport.send(message(1)).catch(refusal)).toBe("unavailable: it has ended");
  await transport.close();
  expect(await transport.start().catch(refusal)).toMatch(/^invalid: it cannot be started: .*ENOENT/);
});

test("a server is asked to end by its input, after half a second by a signal, and after a second it is killed", async () => {
  const polite = program("cat; exit 5");
  await polite.transport.start();
  await polite.transport.close();
  expect([polite.transport.ended(), polite.clock.armed()]).toEqual(["its program ended with exit code 5", 0]);

  const ready = '{"jsonrpc":"2.0","id":0}';
  const deaf = program(`exec 2>/dev/null; trap 'exit 6' TERM; echo '${ready}'; while :; do sleep 0.01; done`);
  await deaf.transport.start();
  await expect.poll(() => deaf.messages.length).toBe(1);
  let isOver = false;
  const closing = deaf.transport.close().then(() => (isOver = true));
  await deaf.clock.advance(499);
  expect([isOver, deaf.transport.ended(), deaf.clock.armed()]).toEqual([false, null, 2]);
  await deaf.clock.advance(1);
  await closing;
  expect([deaf.transport.ended(), deaf.clock.armed()]).toEqual(["its program ended with exit code 6", 0]);

  const stubborn = program(`exec 2>/dev/null; trap '' TERM; echo '${ready}'; while :; do sleep 0.01; done`);
  await stubborn.transport.start();
  await expect.poll(() => stubborn.messages.length).toBe(1);
  const killing = stubborn.transport.close();
  await stubborn.clock.advance(999);
  expect(stubborn.transport.ended()).toBeNull();
  await stubborn.clock.advance(1);
  await killing;
  expect([stubborn.transport.ended(), stubborn.closed()]).toEqual(["its program ended with SIGKILL", 1]);
});

test("what it says on standard error is handed on, and read on after a pause", async () => {
  const { transport, clock, stderr } = program("echo one >&2; read _; echo two >&2; cat");
  await transport.start();
  await expect.poll(() => stderr).toEqual(["one\n"]);
  expect(clock.armed()).toBe(1);
  await clock.advance(49);
  await transport.send(message(1));
  expect([stderr, clock.armed()]).toEqual([["one\n"], 1]);
  await clock.advance(1);
  await expect.poll(() => stderr).toEqual(["one\n", "two\n"]);
});

test("a program that writes without end what is no message is ended, and why is told", async () => {
  const limits = { messageBytes: 50, junkBytes: 100 };
  const { transport, clock, failures, closed } = program("yes junk; sleep 60", { limits });
  await transport.start();
  const says = "it writes without end what is no message";
  await expect.poll(() => failures).toEqual([`unavailable: ${says}`]);
  await clock.advance(500);
  await expect.poll(closed).toBe(1);
  expect(transport.ended()).toBe(says);
  const long = program(`printf '{"jsonrpc":"2.0","id":4,"result":"%060d"}\\n' 1; cat`, { limits });
  await long.transport.start();
  await expect
    .poll(() => long.messages)
    .toEqual([
      { jsonrpc: "2.0", id: 4, error: { code: -32_603, message: "the answer is larger than 0.00005 MB" } },
    ]);
});
