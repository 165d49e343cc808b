// Writes one line of JSON for each chat command to logs/commands.log in the state folder: which command, in
// which session, by whom, and when; never what stood behind it. The file begins anew when it is full, and one
// full file is kept.
import { appendFile, mkdir, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "@parley/protocol";
import type { BundledHook } from "./hook-runner.ts";

const mostBytes = 5_242_880;

export function commandLogger({
  home,
  clock,
}: {
  readonly home: string;
  readonly clock: Clock;
}): BundledHook {
  const path = join(home, "logs", "commands.log");
  return async ({ type, action, sessionKey, context }) => {
    if (type !== "command") return;
    const line = {
      timestamp: new Date(clock.now()).toISOString(),
      action,
      sessionKey,
      senderId: context["senderId"] ?? null,
      source: context["commandSource"] ?? null,
    };
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const size = await stat(path).then(
      (file) => file.size,
      () => 0, // It is not there yet.
    );
    if (size >= mostBytes) await rename(path, `${path}.1`);
    await appendFile(path, `${JSON.stringify(line)}\n`, { mode: 0o600 });
  };
}
