// Runs a real redis-server for tests: on a Unix socket in a folder of its own, killed and started again at
// will. With its append-only file it forgets nothing that it acknowledged; the folder goes when the server is
// closed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { program, programPath } from "./programs.ts";

export interface RedisServer {
  /** The server's address for clients: the path of its socket. */
  readonly url: string;
  /** SIGKILL and wait: what a crash of the server is. */
  kill(): Promise<void>;
  /** Starts it again on the same folder; resolves when it answers. */
  start(): Promise<void>;
  /** SIGSTOP, SIGCONT. */
  signal(name: NodeJS.Signals): void;
  /** Sends one command as redis-cli would, without spaces inside; resolves with the raw answer. */
  command(...words: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

export interface RedisServerOptions {
  /** More arguments, as on the command line: "--maxmemory-policy allkeys-lru". */
  readonly args?: readonly string[];
}

const readyWithinMs = 15_000;

/** Rejects with the line that installs redis-server where there is none. */
export async function redisServer({ args = [] }: RedisServerOptions = {}): Promise<RedisServer> {
  const binary = programPath(program("redis-server"));
  const folder = await mkdtemp(path.join(os.tmpdir(), "parley-redis-"));
  const socket = path.join(folder, "redis.sock");
  let child: ChildProcess | null = null;
  const killWithUs = (): void => void child?.kill("SIGKILL");
  process.on("exit", killWithUs);

  async function command(...words: readonly string[]): Promise<string> {
    const client = createConnection(socket);
    try {
      await once(client, "connect");
      client.write(
        `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`,
      );
      const [answer] = (await once(client, "data")) as [Buffer];
      return answer.toString();
    } finally {
      client.destroy();
    }
  }

  async function start(): Promise<void> {
    const durable = [
      "--appendonly",
      "yes",
      "--appendfsync",
      "always",
      "--save",
      "",
      "--maxmemory-policy",
      "noeviction",
    ];
    const own = ["--port", "0", "--unixsocket", socket, "--dir", folder, "--loglevel", "warning"];
    const running = spawn(binary, [...own, ...durable, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    child = running;
    let log = "";
    running.stdout.on("data", (chunk: Buffer) => (log += chunk.toString()));
    running.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
    const until = Date.now() + readyWithinMs;
    for (;;) {
      // Not there yet, or still loading: asked again until the time is over.
      const answer = await command("PING").catch(() => "");
      if (answer.startsWith("+PONG") || answer.startsWith("-NOAUTH")) return;
      if (running.exitCode !== null) throw new Error(`redis-server ended with ${running.exitCode}\n${log}`);
      if (Date.now() > until) throw new Error(`redis-server was not ready in time\n${log}`);
      await wait(5);
    }
  }

  async function kill(): Promise<void> {
    const running = child;
    child = null;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    running.kill("SIGKILL");
    await once(running, "exit");
  }

  async function close(): Promise<void> {
    await kill();
    process.off("exit", killWithUs);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: socket,
    kill,
    start,
    signal: (name) => void child?.kill(name),
    command,
    close,
  };
}
