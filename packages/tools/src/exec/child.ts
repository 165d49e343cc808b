// Runs a command: with pipes, or with a terminal of its own for programs that need one. Either way it leads a
// process group, and ends together with everything it started.
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Fault, type Clock } from "@parley/protocol";
import { killGroup } from "../process-group.ts";

export interface ChildRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
  readonly pty: boolean;
  /** Keep its input open. A terminal always does. */
  readonly input: boolean;
  /** The command's output waits until this resolves. */
  readonly onOutput: (chunk: Buffer) => Promise<void>;
  readonly clock: Clock;
}

interface ChildEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
}

export interface Child {
  readonly pid: number;
  readonly ended: Promise<ChildEnd>;
  /** Throws Fault("unsupported") without open input. */
  write(text: string): void;
  closeInput(): void;
  /** Asks the group to end, and ends it `graceMs` later. */
  kill(): void;
}

const graceMs = 500;
/**
 * A finished command may have left others that keep its output open: they get this long, then they end too.
 */
export const leftoverMs = 500;

export function startChild(request: ChildRequest): Promise<Child> {
  return request.pty ? inTerminal(request) : withPipes(request);
}

function withPipes({ argv, cwd, env, input, onOutput, clock }: ChildRequest): Promise<Child> {
  const [program = "", ...args] = argv;
  const options = { cwd, env, detached: true } as const;
  const child: ChildProcess = spawn(program, args, {
    ...options,
    stdio: [input ? "pipe" : "ignore", "pipe", "pipe"],
  });
  const { pid, stdin, stdout, stderr } = child;
  return new Promise((resolve, reject) => {
    for (const stream of [stdout, stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        stream.pause();
        // A disk that takes no more must not let output pile up in memory: the command waits, or is ended.
        onOutput(chunk).then(
          () => stream.resume(),
          () => killGroup(pid, "SIGKILL"),
        );
      });
      stream?.on("error", () => undefined); // It is closed with the child, whose end is reported below.
    }
    stdin?.on("error", () => undefined); // A command may end without reading what it was sent.
    child.once("error", (cause) =>
      reject(
        new Fault(
          "invalid",
          `${program} cannot be started: ${"code" in cause ? String(cause.code) : cause.message}`,
          { cause },
        ),
      ),
    );
    const ended = new Promise<ChildEnd>((done) => {
      child.once("exit", () => {
        clock.after(leftoverMs, () => {
          killGroup(pid, "SIGKILL");
          stdout?.destroy();
          stderr?.destroy();
        });
      });
      child.once("close", (code, signal) => done({ code, signal }));
    });
    child.once("spawn", () =>
      resolve({
        pid: pid ?? 0,
        ended,
        write(text) {
          if (stdin === null || stdin.writableEnded) throw noInput();
          stdin.write(text);
        },
        closeInput: () => void stdin?.end(),
        kill: () => endGroup(pid, clock),
      }),
    );
  });
}

async function inTerminal({ argv, cwd, env, onOutput, clock }: ChildRequest): Promise<Child> {
  const pty = await import("@lydell/node-pty").catch((cause: unknown) => {
    throw new Fault("unsupported", "there is no terminal library for this platform; run it without pty", {
      cause,
    });
  });
  const [program = "", ...args] = argv;
  const terminal = pty.spawn(program, args, {
    name: "xterm-256color",
    cols: 120,
    rows: 30,
    cwd,
    env: { ...env, TERM: "xterm-256color" },
  });
  const { pid } = terminal;
  const held = heldOpen(terminal);
  terminal.onData((text) => {
    terminal.pause();
    onOutput(Buffer.from(text)).then(
      () => terminal.resume(),
      () => killGroup(pid, "SIGKILL"),
    );
  });
  let over = false;
  const ended = new Promise<ChildEnd>((done) => {
    terminal.onExit(({ exitCode, signal }) => {
      over = true;
      if (held !== null) closeSync(held);
      // Its children lose their terminal with it; those that do not care are ended.
      clock.after(leftoverMs, () => killGroup(pid, "SIGKILL"));
      const signalled = signal !== undefined && signal !== 0;
      done({ code: signalled ? null : exitCode, signal: signalled ? `signal ${signal}` : null });
    });
  });
  return {
    pid,
    ended,
    write(text) {
      if (over) throw noInput();
      terminal.write(text);
    },
    // What a person types for it: end of input.
    closeInput: () => terminal.write("\u0004"),
    kill: () => endGroup(pid, clock),
  };
}

/**
 * The terminal's other side, kept open until the command is over. When a command closes all it has open just
 * before it exits, the library takes that for its end and hangs up, and a command that was about to succeed
 * dies of SIGHUP. The library knows the path, but does not type it.
 */
function heldOpen(terminal: object): number | null {
  const path = "_pty" in terminal ? terminal._pty : null;
  if (typeof path !== "string") return null;
  try {
    return openSync(path, constants.O_RDWR | constants.O_NOCTTY);
  } catch {
    return null; // It is over already.
  }
}

function endGroup(pid: number | undefined, clock: Clock): void {
  killGroup(pid, "SIGTERM");
  clock.after(graceMs, () => killGroup(pid, "SIGKILL"));
}

function noInput(): Fault {
  return new Fault("unsupported", "its input is not open; start it with background or pty");
}

/**
 * When a process began, in the kernel's ticks since boot (proc(5), field 22): with its number it names one
 * process. Null where that is not known.
 */
export async function processBegan(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything, parentheses too.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null; // Over already, or no /proc here.
  }
}
