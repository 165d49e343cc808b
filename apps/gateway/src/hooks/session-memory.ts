// Saves the end of a conversation to the agent's memory when /new, /reset or the reset policy ends it. That a
// conversation is to be saved is stored before the new one begins, and nobody waits for it: what a crash left
// is saved at the next start, once.
import type { Config } from "@parley/config";
import { parseSessionKey, type Clock, type Log, type SessionKey } from "@parley/protocol";
import { keepConversation, type SessionNoteNeeds } from "@parley/runner";
import type { Cells, Sessions } from "@parley/store";
import type { BundledHook } from "./hook-runner.ts";
import type { HookRegistry } from "./hook-registry.ts";
import type { Hook } from "./judged-hook.ts";

export interface SessionMemory {
  /** Call it before the conversation ends. `by`: "/new", for example. */
  ending(key: SessionKey, epoch: number, by: string): Promise<void>;
  readonly hook: BundledHook;
}

export interface SessionMemoryOptions extends SessionNoteNeeds {
  readonly config: Pick<Config, "agents">;
  readonly registry: Pick<HookRegistry, "hearing">;
  readonly cells: Pick<Cells, "get" | "put" | "list" | "remove">;
  readonly sessions: Pick<Sessions, "transcript">;
  readonly clock: Clock;
  readonly log: Log;
}

interface Due {
  readonly key: SessionKey;
  readonly epoch: number;
  readonly by: string;
  readonly endedAtMs: number;
}

const prefix = "session-memory:";
const defaultMessages = 15;
const mostMessages = 100;
const mostDue = 100;
/** What could not be saved for so long is given up. */
const dueMs = 7 * 86_400_000;
/** Sessions of programs and of Parley itself are no talk with a person. */
const talks = new Set(["main", "dm", "group", "channel"]);

export function sessionMemory(options: SessionMemoryOptions): SessionMemory {
  const { config, registry, cells, sessions, clock, log } = options;

  async function save(due: Due, most: number): Promise<void> {
    const { key, epoch, by, endedAtMs } = due;
    const id = parseSessionKey(key).agent;
    const agent = config.agents.list.find((each) => each.id === id);
    if (agent === undefined) return;
    const path = await keepConversation(
      options,
      {
        key,
        epoch,
        by,
        endedAtMs,
        agent: id,
        workspace: agent.workspace,
        timeZone: config.agents.defaults.userTimezone,
      },
      most,
    );
    if (path !== null) log.info({ session: key, path }, "a conversation that ended was saved");
  }

  return {
    async ending(key, epoch, by) {
      if (!talks.has(parseSessionKey(key).kind)) return;
      const event = { type: "command", action: "new", sessionKey: key } as const;
      const hooks = await registry.hearing(event);
      if (!hooks.some(isOwn)) return;
      if ((await sessions.transcript(key, { epoch, limit: 1 })).length === 0) return;
      const due: Due = { key, epoch, by, endedAtMs: clock.now() };
      await cells.put(`${prefix}${key}:${epoch}`, JSON.stringify(due), { ttlMs: dueMs });
    },
    async hook({ type, sessionKey }, { messages }) {
      const most =
        typeof messages === "number" && messages >= 1
          ? Math.min(Math.floor(messages), mostMessages)
          : defaultMessages;
      // At a start, what a crash left of all of them.
      const due = await cells.list(type === "gateway" ? prefix : `${prefix}${sessionKey}:`, mostDue);
      for (const { key, value, version } of due) {
        await save(JSON.parse(value) as Due, most);
        await cells.remove(key, version);
      }
    },
  };
}

function isOwn({ name, source }: Hook): boolean {
  return source === "bundled" && name === "session-memory";
}
