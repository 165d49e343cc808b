// Finds the session that a call names, by its key or by the label or id of a sub-agent. One that may not be
// seen is answered in the same words as one that does not exist.
import type { Config } from "@parley/config";
import { Fault, type SessionKey } from "@parley/protocol";
import type { Sessions } from "@parley/store";
import type { ToolScope } from "@parley/tools";
import type { Child, ChildRegistry } from "./child-registry.ts";
import { canonicalKey, mayReach } from "./visibility.ts";

export interface FindNeeds {
  readonly config: Pick<Config, "tools">;
  readonly sessions: Pick<Sessions, "list">;
  readonly children: Pick<ChildRegistry, "below">;
}

export interface FoundSession {
  readonly key: SessionKey;
  /** Null for a session that is no sub-agent of the caller's. */
  readonly child: Child | null;
}

const namedChars = 120;

/** Throws Fault("missing"). */
export async function findSession(
  { config, sessions, children }: FindNeeds,
  scope: Pick<ToolScope, "session" | "by">,
  name: string,
): Promise<FoundSession> {
  const below = await children.below(scope.session);
  const key = canonicalKey(name);
  const child =
    key === null
      ? (below.find(({ id }) => id === name) ?? below.find(({ label }) => label === name))
      : below.find(({ session }) => session === key);
  const to = key ?? (child?.session as SessionKey | undefined) ?? null;
  const missing = new Fault(
    "missing",
    `no session that may be seen from here is called ${JSON.stringify(name.slice(0, namedChars))}; sessions_list lists them`,
  );
  if (to === null || !mayReach(scope, below, config.tools)(to).allowed) throw missing;
  // A sub-agent that has not begun has no transcript yet.
  if (child !== undefined) return { key: to, child };
  if (!(await exists(sessions, to))) throw missing;
  return { key: to, child: null };
}

/** Looking opens no session. */
async function exists(sessions: Pick<Sessions, "list">, key: SessionKey): Promise<boolean> {
  return (await sessions.list({ prefix: key, limit: 1_000 })).some((session) => session.key === key);
}
