// Checks the hooks: those that are on and cannot run, that failed since the start, files that are refused,
// and entries of the config that name no hook. A gateway is asked only where there may be a hook at all.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Config, Places } from "@parley/config";
import type { MethodResult } from "@parley/protocol";
import type { Console } from "../console.ts";
import { CommandFailure } from "../exit.ts";
import { quietly, withState } from "../with-gateway.ts";
import { ok, warn, type Finding } from "./finding.ts";

type List = MethodResult<"hooks.list">;

export async function hookFindings(
  terminal: Console,
  places: Places,
  { hooks: { internal } }: Config,
): Promise<readonly Finding[]> {
  const named = Object.keys(internal.entries);
  const { extraDirs } = internal.load;
  const mayBe = named.length + extraDirs.length > 0 || (await isFolder(join(places.home, "hooks")));
  if (!internal.enabled || !mayBe) return [];
  let found: List;
  try {
    found = await withState(quietly(terminal), (client) => client.request("hooks.list", {}));
  } catch (failure) {
    // Why the gateway does not answer is another finding.
    if (failure instanceof CommandFailure) return [];
    throw failure;
  }
  const trouble = findingsIn(found, named);
  const ready = found.hooks.filter(({ status }) => status === "ready").length;
  return trouble.length > 0 ? trouble : [ok("hooks", `Hooks: ${ready} ready, none in trouble`)];
}

function findingsIn({ hooks, rejected }: List, named: readonly string[]): readonly Finding[] {
  const known = new Set(hooks.map(({ name }) => name.toLowerCase()));
  return [
    ...hooks
      .filter(({ status }) => status === "unmet" || status === "changed")
      .map(({ name, reason }) =>
        warn(
          "hook.stuck",
          `The hook ${name} is on and does not run: ${reason ?? ""}`,
          `\`parley hooks info ${name}\` shows what it needs; \`parley hooks disable ${name}\` ends it`,
        ),
      ),
    ...hooks.flatMap(({ name, counts }) =>
      counts === null || counts.failed + counts.timedOut + counts.dropped === 0
        ? []
        : [
            warn(
              "hook.failing",
              `The hook ${name} failed ${counts.failed + counts.timedOut} of ${counts.runs} times since the start${counts.dropped === 0 ? "" : `, and was not told of ${counts.dropped} events`}${counts.lastError === null ? "" : `: ${counts.lastError}`}`,
              `Look at \`parley hooks info ${name}\` and \`parley logs\``,
            ),
          ],
    ),
    ...rejected.map(({ file, reason }) =>
      warn("hook.refused", `${file} is refused: ${reason}`, "Mend it, or take the folder away"),
    ),
    // A hook may be named by its hookKey as well, which only its file tells.
    ...named
      .filter((name) => !known.has(name.toLowerCase()))
      .map((name) =>
        warn(
          "hook.unknown",
          `hooks.internal.entries.${name} names no hook that is there`,
          "`parley hooks list` shows their names",
        ),
      ),
  ];
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (file) => file.isDirectory(),
    () => false, // It is not there.
  );
}
