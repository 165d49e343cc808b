// The wire to a gateway that runs for this command alone (`--once`): one frame a line on its standard input
// and output. It holds the state folder meanwhile and receives nothing from any channel.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Env } from "@parley/config";
import { CommandFailure, exitCodes } from "./exit.ts";
import type { Wire } from "./wire.ts";

export function onceWire(program: string, env: Env): Wire {
  const child = spawn(process.execPath, ["--disable-sigusr1", program, "--once"], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...env },
  });
  const lines = createInterface({ input: child.stdout });
  let told = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (told += chunk));
  // A child that ended before it read everything says why on standard error.
  child.stdin.on("error", () => {});
  const closed = new Promise<CommandFailure>((resolve) => {
    child.once("error", (cause) =>
      resolve(
        new CommandFailure("internal", `The gateway could not be started: ${cause.message}`, 1, { cause }),
      ),
    );
    child.once("close", (code) => {
      const exitCode = code === exitCodes.config ? exitCodes.config : exitCodes.failed;
      resolve(
        new CommandFailure("unavailable", told.trim() || "The gateway ended without an answer.", exitCode),
      );
    });
  });
  return {
    closed,
    send: (text) => void child.stdin.write(`${text}\n`),
    listen: (listener) => lines.on("line", listener),
    close: () => child.stdin.end(),
  };
}
