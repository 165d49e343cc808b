// Keeps the index of what was said in an agent's sessions for the operator, who finds all of it, and takes
// a session out of it that was forgotten.
import type { Config } from "@parley/config";
import type { MemoryEngine } from "@parley/memory";
import { parseSessionKey } from "@parley/protocol";
import { agentIn } from "../prepare-turn.ts";
import { memoryTarget } from "./recall.ts";
import { talkFeed, type TalkParts } from "./talk.ts";

export interface OperatorTalk {
  /** Takes up what was said in all sessions of an agent that has them searched. Returns what to tell. */
  upToDate(agent: string): Promise<readonly string[]>;
  /** Leaves no byte of a session in the index of its agent. */
  drop(session: string): Promise<void>;
}

export interface OperatorTalkOptions extends Omit<TalkParts, "engine"> {
  /** Absent where no notes are searched. */
  readonly machine:
    | { readonly home: string; readonly memory?: { readonly engine: MemoryEngine } }
    | undefined;
  readonly config: Config;
}

const mostSessions = 1_000;

export function operatorTalk({ machine, config, sessions, ...parts }: OperatorTalkOptions): OperatorTalk {
  const memory = machine?.memory;
  if (machine === undefined || memory === undefined)
    return { upToDate: async () => [], drop: async () => undefined };
  const { engine } = memory;
  const feed = talkFeed({ ...parts, engine, sessions });
  return {
    async upToDate(agent) {
      const target = memoryTarget(machine.home, agentIn(config)(agent));
      if (!target.talk) return [];
      const left = await feed.upToDate(
        target,
        await sessions.list({ prefix: `agent:${agent}:`, limit: mostSessions }),
      );
      return left === 0 ? [] : [`${left} conversations are not searched whole yet: search again`];
    },
    async drop(session) {
      const { agent } = parseSessionKey(session);
      // The sessions of an agent that is gone from the config may outlive it.
      if (!config.agents.list.some(({ id }) => id === agent)) return;
      await engine.dropTalk(memoryTarget(machine.home, agentIn(config)(agent)), session);
    },
  };
}
