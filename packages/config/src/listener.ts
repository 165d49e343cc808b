// Finds out which process listens at a port that is taken, so that a person need not search: another Parley
// or not, and its process id where this user may see it.
import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";

const answersWithinMs = 1_000;

/** Words for the middle of a sentence: `another Parley (process 12: node ...)`. */
export async function listenerAt(host: string, port: number): Promise<string> {
  const near = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const [isParley, found] = await Promise.all([
    answersAsParley(near, port),
    processAt(port).catch(() => null),
  ]);
  const who = isParley ? "another Parley" : "another program";
  return found === null ? who : `${who} (process ${found.pid}: ${found.command})`;
}

async function answersAsParley(host: string, port: number): Promise<boolean> {
  const { get } = await import("node:http");
  return new Promise((resolve) => {
    const asking = get(
      { host, port, path: "/healthz", headers: { host: "localhost" }, timeout: answersWithinMs },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
          if (text.length > 100) response.destroy();
        });
        response.once("close", () => resolve(/^\{"ok":(?:true|false)\}$/.test(text)));
      },
    );
    asking.once("timeout", () => asking.destroy());
    asking.once("error", () => resolve(false));
  });
}

interface Owner {
  readonly pid: string;
  readonly command: string;
}

const commandChars = 60;

/** Null for a process of another user. */
async function processAt(port: number): Promise<Owner | null> {
  const sockets = await socketsAt(port).catch(() => null);
  const pid = sockets === null ? await withLsof(port) : await holderOf(sockets);
  if (pid === null) return null;
  const written = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const command =
    written === ""
      ? ((await output("ps", ["-o", "args=", "-p", pid])) ?? "")
      : written.replaceAll("\0", " ").trim();
  const short = command.length > commandChars ? `${command.slice(0, commandChars)}...` : command;
  return { pid, command: short };
}

const listening = "0A";

/** Names of the listening sockets, as the links of processes have them. Rejects where there is no /proc. */
async function socketsAt(port: number): Promise<ReadonlySet<string>> {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const tables = await Promise.all([
    readFile("/proc/net/tcp", "utf8"),
    readFile("/proc/net/tcp6", "utf8").catch(() => ""),
  ]);
  const rows = tables.flatMap((table) => table.split("\n").map((row) => row.trim().split(/\s+/)));
  return new Set(
    rows
      .filter(([, local = "", , state]) => state === listening && local.endsWith(`:${hex}`))
      .map((row) => `socket:[${row[9]}]`),
  );
}

async function holderOf(sockets: ReadonlySet<string>): Promise<string | null> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const file of files)
      if (sockets.has(await readlink(`/proc/${pid}/fd/${file}`).catch(() => ""))) return pid;
  }
  return null;
}

async function withLsof(port: number): Promise<string | null> {
  const text = await output("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-t"]);
  return /^\d+/.exec(text ?? "")?.[0] ?? null;
}

function output(program: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 5_000 }, (error, out) => resolve(error === null ? out.trim() : null));
  });
}
