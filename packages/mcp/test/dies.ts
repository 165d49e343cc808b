// A gateway in small: starts a server by the guarded transport and kills itself. The server ignores its
// input's end, because it is never read again.
import { systemClock } from "@parley/protocol";
import { stdioTransport } from "../src/stdio.ts";

const [, , ...args] = process.argv;
const transport = stdioTransport({
  // A shell in between that keeps the input open and puts a process into another session.
  argv: ["/bin/sh", "-c", 'sleep 1000 | "$0" "$@"', process.execPath, ...args],
  cwd: "/",
  env: { PATH: process.env["PATH"] ?? "" },
  mark: `test-${process.pid}`,
  clock: systemClock(),
  onStderr: () => undefined,
});
await transport.start();
setTimeout(() => process.kill(process.pid, "SIGKILL"), 1_500);
