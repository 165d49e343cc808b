// Remembers which tools a session has looked up: their schemas stand at the end of what its models are told,
// in the order in which they were loaded, until the conversation begins anew.
import type { SessionKey } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { LoadedTools, Tool } from "@parley/tools";
import type { Config } from "@parley/config";
import { estimateTokens } from "@parley/agent";
import type { Services } from "../turn-scope.ts";

const loadedField = "loadedTools";
/** The oldest go first: a session that looks up all it can find would have them all in its prompt again. */
const mostLoaded = 64;

export function loadedTools({ sessions }: Pick<Services, "sessions">): LoadedTools {
  /** Searches of one answer run side by side. */
  let last: Promise<unknown> = Promise.resolve();
  return {
    load({ session: key }, names) {
      const loading = last.then(async () => {
        const session = await sessions.open(key);
        const before = loadedIn(session).filter((name) => !names.includes(name));
        const all = [...before, ...names].slice(-mostLoaded);
        await sessions.patch(key, { [loadedField]: { epoch: session.epoch, names: all } });
      });
      last = loading.catch(() => undefined); // Its own caller is told.
      return loading;
    },
  };
}

/** Their names, as a session's next model call is told them. */
export async function loadedNow(
  { sessions }: Pick<Services, "sessions">,
  key: SessionKey,
): Promise<readonly string[]> {
  return loadedIn(await sessions.open(key));
}

function loadedIn({ fields, epoch }: Session): readonly string[] {
  const loaded = fields[loadedField] as
    | { readonly epoch?: number; readonly names?: readonly string[] }
    | undefined;
  return loaded?.epoch === epoch ? (loaded.names ?? []) : [];
}

/** True where the tools of other programs are looked up and not told. */
export function isSearched(
  { mode, maxPromptTokens }: Config["mcp"]["toolSearch"],
  remote: readonly Tool[],
): boolean {
  if (mode === "off" || remote.length === 0) return false;
  if (mode === "on") return true;
  const schemas = remote.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return estimateTokens(JSON.stringify(schemas)) > maxPromptTokens;
}
