// Runs a program of the operator's config: words go in, bytes come out, and it is killed with everything it
// started when it takes too long or says too much (I9). No shell, and nothing of the gateway's environment
// but where programs and the home folder lie.
import { spawn } from "node:child_process";
import { Fault, type Clock } from "@parley/protocol";

export interface ProgramCall {
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly input: string;
  readonly env: { readonly [name: string]: string };
  readonly timeoutMs: number;
  readonly mostBytes: number;
}

/** What it wrote. Throws Fault. */
export function runProgram(
  { command, input, env, timeoutMs, mostBytes }: ProgramCall,
  clock: Clock,
  signal: AbortSignal,
): Promise<Buffer> {
  const [program = "", ...args] = command;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  if (signal.aborted) return Promise.reject(new Fault("aborted", `${program} was stopped`));
  // A group of its own, so that ending it takes along whatever it started.
  const child = spawn(program, args, { env: { ...env }, stdio: ["pipe", "pipe", "pipe"], detached: true });
  const kill = (fault: Fault): void => {
    reject(fault);
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  const timer = clock.after(timeoutMs, () =>
    kill(new Fault("unavailable", `${program} took longer than ${timeoutMs / 1_000} s`)),
  );
  const aborted = (): void => kill(new Fault("aborted", `${program} was stopped`));
  signal.addEventListener("abort", aborted, { once: true });
  const out: Buffer[] = [];
  let bytes = 0;
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostBytes) kill(new Fault("unsupported", `${program} wrote more than ${mostBytes} bytes`));
    else out.push(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    said = `${said}${chunk.toString()}`.slice(-400);
  });
  child.on("error", (cause) =>
    reject(new Fault("unavailable", `${program} cannot be started: ${cause.message}`, { cause })),
  );
  child.on("close", (code) => {
    if (code === 0) resolve(Buffer.concat(out));
    else reject(new Fault("unavailable", `${program} ended with ${code ?? "a signal"}: ${said.trim()}`));
  });
  // A program that does not read its input closes it, which is no reason to fail.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return promise.finally(() => {
    timer.cancel();
    signal.removeEventListener("abort", aborted);
  });
}
