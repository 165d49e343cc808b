// Runs the handlers of each hook in a process of its own, started by its first event and ended when none
// comes any more: a gateway without hooks has no such process. A handler that takes longer than its limit is
// killed with its process, so that nothing of it goes on.
import { fork, type ChildProcess } from "node:child_process";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { Fault, type Clock, type HookEvent, type Log, type Timer } from "@parley/protocol";
import type { HookReply, HookTask } from "./hook-child.ts";
import type { Hook } from "./judged-hook.ts";

export interface HookCallResult {
  readonly messages: readonly string[];
  readonly context: HookEvent["context"];
  /** A list that the handler returned; absent: it returned none. */
  readonly returned?: readonly unknown[];
}

export interface HookProcesses {
  /**
   * Rejects with Fault: "unavailable" where it took longer than its limit, "invalid" where it threw or ended
   * its process.
   */
  call(hook: Hook, env: NodeJS.ProcessEnv, event: HookEvent, limitMs: number): Promise<HookCallResult>;
  /** Kills them all. */
  close(): void;
}

interface Running {
  readonly child: ChildProcess;
  /** What it was started with: another module or other variables need another process. */
  readonly stamp: string;
  readonly waiting: Map<number, { resolve(reply: HookReply): void; reject(error: unknown): void }>;
  idle: Timer | null;
}

const idleMs = 60_000;
const heapMb = 256;
/** Words for a person, of one call. */
const mostMessages = 10;
const messageChars = 4_000;
const mostTroubleChars = 1_000;
/** Lines of its output that the log takes from one process. */
const mostLines = 1_000;
const lineChars = 1_000;

/** As a bundle, this file and the child are JavaScript side by side. */
const program = new URL(
  import.meta.url.endsWith(".ts") ? "./hook-child.ts" : "./hook-child.js",
  import.meta.url,
);

export function hookProcesses({ clock, log }: { readonly clock: Clock; readonly log: Log }): HookProcesses {
  const running = new Map<string, Running>();
  let asked = 0;
  let closed = false;

  function end(file: string, one: Running, why: string): void {
    if (running.get(file) === one) running.delete(file);
    one.idle?.cancel();
    one.child.kill("SIGKILL");
    for (const { reject } of one.waiting.values()) reject(new Fault("invalid", why));
    one.waiting.clear();
  }

  function start(hook: Hook, env: NodeJS.ProcessEnv, stamp: string): Running {
    const child = fork(program, {
      cwd: dirname(hook.file),
      env,
      execArgv: [`--max-old-space-size=${heapMb}`, "--no-warnings"],
      serialization: "advanced",
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const one: Running = { child, stamp, waiting: new Map(), idle: null };
    let lines = 0;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        lines += 1;
        if (lines <= mostLines) log.info({ hook: hook.name, said: line.slice(0, lineChars) }, "a hook says");
      });
    }
    child.on("message", (reply: HookReply) => {
      one.waiting.get(reply.id)?.resolve(reply);
      one.waiting.delete(reply.id);
    });
    const gone = (): void => end(hook.file, one, "its process ended");
    child.on("exit", gone).on("error", gone);
    running.set(hook.file, one);
    return one;
  }

  function processOf(hook: Hook, env: NodeJS.ProcessEnv): Running {
    const { file, handler } = hook;
    const stamp = `${changedAt(handler ?? file)} ${JSON.stringify(env)}`;
    const known = running.get(file);
    if (known?.stamp === stamp) return known;
    // What it began with its older module may end.
    if (known !== undefined && known.waiting.size === 0) end(file, known, "it changed");
    return start(hook, env, stamp);
  }

  return {
    async call(hook, env, event, limitMs) {
      if (closed) throw new Fault("aborted", "the gateway stops");
      const one = processOf(hook, env);
      one.idle?.cancel();
      one.child.ref();
      one.child.channel?.ref();
      asked += 1;
      const id = asked;
      const { promise, resolve, reject } = Promise.withResolvers<HookReply>();
      one.waiting.set(id, { resolve, reject });
      const timer = clock.after(limitMs, () => {
        one.waiting.delete(id);
        reject(new Fault("unavailable", `it took longer than ${limitMs} ms`));
        end(hook.file, one, "its process was killed, because another event took it too long");
      });
      const { type, action, sessionKey, context } = event;
      const told = { type, action, sessionKey, timestamp: new Date(clock.now()), context };
      const task: HookTask = {
        id,
        path: hook.handler ?? hook.file,
        exportName: hook.exportName,
        event: told,
      };
      try {
        one.child.send(task, (error) => {
          if (error !== null) reject(new Fault("invalid", "its process ended"));
        });
        const reply = await promise;
        // A hook throws what it likes; what is told of it stays short.
        if (!reply.ok) throw new Fault("invalid", String(reply.message).slice(0, mostTroubleChars));
        return {
          messages: wordsOf(reply.messages),
          context: reply.context,
          ...(Array.isArray(reply.returned) ? { returned: reply.returned } : {}),
        };
      } finally {
        timer.cancel();
        one.waiting.delete(id);
        if (one.waiting.size === 0 && running.get(hook.file) === one) {
          one.child.unref();
          one.child.channel?.unref();
          one.idle?.cancel();
          one.idle = clock.after(idleMs, () => end(hook.file, one, "it rests"));
        } else if (one.waiting.size === 0) one.child.kill("SIGKILL");
      }
    },
    close() {
      closed = true;
      for (const [file, one] of running) end(file, one, "the gateway stops");
    },
  };
}

function wordsOf(said: readonly unknown[]): readonly string[] {
  return said
    .filter((word): word is string => typeof word === "string" && word.trim() !== "")
    .slice(0, mostMessages)
    .map((word) => word.slice(0, messageChars).toWellFormed());
}

/** A module that went away fails where it is loaded. */
function changedAt(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "gone" : `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
}
