// An operator at a shell: runs the real `parley` beside a real daemon, and reads the daemon's log.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { processEnv, programOf, testToken, type Daemon } from "./daemon.ts";

const program = programOf("cli");

export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/** `parley <argv>` on this state folder, as somebody uses it who watches and types. */
export function startParley(home: string, ...argv: readonly string[]) {
  const child = spawn(process.execPath, [program, ...argv], { env: processEnv(home) });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const ended = once(child, "close").then(([exitCode]): Ran => ({ exitCode: exitCode as number, out, err }));
  return {
    ended,
    type: (text: string) => child.stdin.write(text),
    close: () => child.stdin.end(),
    /** What it wrote that looks so. */
    async says(pattern: RegExp): Promise<string> {
      for (;;) {
        const found = pattern.exec(`${out}${err}`)?.[0];
        if (found !== undefined) return found;
        if (child.exitCode !== null) throw new Error(`parley ${argv.join(" ")} ended: ${out}${err}`);
        await Promise.race([once(child.stdout, "data"), once(child.stderr, "data"), once(child, "close")]);
      }
    },
  };
}

/** `parley <argv>` on this state folder. */
export async function parley(home: string, ...argv: readonly string[]): Promise<Ran> {
  const { ended, close } = startParley(home, ...argv);
  close();
  return ended;
}

/** The same with `--json`, read; throws when it fails. */
export async function parleyJson(home: string, ...argv: readonly string[]): Promise<unknown> {
  const { exitCode, out, err } = await parley(home, "--json", ...argv);
  if (exitCode !== 0) throw new Error(`parley ${argv.join(" ")} exited with ${exitCode}: ${out}${err}`);
  return JSON.parse(out);
}

/**
 * A port that is known before the daemon runs, and stays the same over restarts: the part of the config that
 * says which.
 */
export async function findableGateway(): Promise<{ readonly gateway: object }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return { gateway: { port, auth: { token: testToken } } };
}

/** Messages of the log's lines that name this id, in order. */
export function logged(daemon: Daemon, id: string): readonly string[] {
  const lines = daemon.log().split("\n");
  return lines
    .filter((line) => line.includes(JSON.stringify(id)))
    .map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
}
