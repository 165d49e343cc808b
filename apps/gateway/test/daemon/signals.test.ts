// How a process ends as another one, and what it does when its terminal hangs up.
import { afterEach, expect, test } from "vitest";
import { onHangUp } from "../../src/daemon/hang-up.ts";
import { leaveStopToSystem, signalsHeard, startAgain } from "../../src/daemon/restart.ts";

const { execve } = process;
const { isTTY } = process.stderr;
afterEach(() => {
  process.removeAllListeners("SIGHUP");
  Object.assign(process, { execve });
  Object.assign(process.stderr, { isTTY });
});

test("a checkout is begun by its launcher, anything else as it was begun, with its own words and what it is given", () => {
  const became: unknown[] = [];
  Object.assign(process, { execve: (...how: readonly unknown[]) => void became.push(how) });
  const words = process.argv.slice(2);
  startAgain({ PARLEY_LAUNCHER: "/co/bin/parley", A: "1" });
  const plain = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  for (const env of [{ A: "2" }, { PARLEY_LAUNCHER: "" }]) startAgain(env);
  expect(became).toEqual([
    ["/co/bin/parley", ["/co/bin/parley", "start", ...words], { PARLEY_LAUNCHER: "/co/bin/parley", A: "1" }],
    [process.execPath, plain, { A: "2" }],
    [process.execPath, plain, { PARLEY_LAUNCHER: "" }],
  ]);
  Object.assign(process, { execve: undefined });
  expect(() => startAgain({})).toThrow(
    "this system cannot restart a program in place: start the daemon again",
  );
});

test("a signal that came before is heard first; from then on the system ends the process", async () => {
  const heard: string[] = [];
  // Sent in each place of a turn of the loop, and by others ignored.
  for (const place of [(run: () => void) => run(), setImmediate, (run: () => void) => setTimeout(run, 1)]) {
    await new Promise<void>((resolve) => place(resolve));
    process.once("SIGWINCH", (signal) => heard.push(signal));
    process.kill(process.pid, "SIGWINCH");
    await signalsHeard();
  }
  expect(heard).toEqual(["SIGWINCH", "SIGWINCH", "SIGWINCH"]);
  const before = (["SIGTERM", "SIGINT"] as const).map(
    (signal) => [signal, process.listeners(signal)] as const,
  );
  for (const [signal] of before) process.on(signal, () => {});
  leaveStopToSystem();
  expect(before.map(([signal]) => process.listenerCount(signal))).toEqual([0, 0]);
  for (const [signal, listeners] of before) for (const each of listeners) process.on(signal, each);
});

test("a daemon without a terminal reads its config again when it is hung up on, and stops for nobody", async () => {
  const did: string[] = [];
  Object.assign(process.stderr, { isTTY: false });
  const reload = async (cause: string) => void did.push(`reload ${cause}`);
  onHangUp(Promise.resolve({ reload: reload as never }), (signal) => did.push(`stop ${signal}`));
  process.emit("SIGHUP", "SIGHUP");
  await Promise.resolve();
  expect(did).toEqual(["reload SIGHUP"]);
  // One that could not start tells that itself.
  process.removeAllListeners("SIGHUP");
  onHangUp(Promise.reject(new Error("no")), (signal) => did.push(`stop ${signal}`));
  process.emit("SIGHUP", "SIGHUP");
  await new Promise((resolve) => setImmediate(resolve));
  expect(did).toEqual(["reload SIGHUP"]);
});
