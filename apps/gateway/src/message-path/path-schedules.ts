// Makes what one config knows of schedules: the jobs and who may do what with them, and the look by which the
// process's timer fires them.
import type { MayReach } from "@parley/access";
import type { Config } from "@parley/config";
import { Fault, formatSessionKey, sessionKeyOf, type Address } from "@parley/protocol";
import { createSchedules, modelCatalog, modelNamed, type Schedules } from "@parley/runner";
import { jobStore, spanMs } from "@parley/schedules";
import type { Store } from "@parley/store";
import { unknownPatterns } from "@parley/tools";
import { fireJob, type FireJob, type FireJobOptions } from "../schedules/fire-job.ts";
import {
  heartbeatWork,
  keepingForHeartbeat,
  type HeartbeatWork,
  type Home,
} from "../schedules/heartbeats.ts";
import type { SlotNumbers } from "../schedules/slot-counts.ts";
import { watchedFiles } from "../schedules/watched-files.ts";
import { watchSlots } from "../schedules/watch-slots.ts";
import type { MessagePathParts } from "./parts.ts";

export interface PathSchedules {
  readonly schedules: Schedules;
  readonly lookAtJob: FireJob;
  readonly heartbeats: HeartbeatWork;
  readonly slotsNow: () => SlotNumbers;
}

export function runLimitsOf({ cron }: Pick<Config, "cron">): {
  readonly retentionMs: number;
  readonly keepLines: number;
} {
  return { retentionMs: spanMs(cron.runLog.retention) ?? 0, keepLines: cron.runLog.keepLines };
}

export function pathSchedules(
  parts: MessagePathParts,
  store: Store,
  needs: {
    readonly owners: () => Promise<readonly string[]>;
    readonly ownersAt: () => Promise<readonly Address[]>;
    readonly reach: MayReach;
    readonly closedAt: FireJobOptions["closedAt"];
  },
): PathSchedules {
  const { config, kept, clock, ids, log } = parts;
  const agents = config.agents.list.map(({ id }) => id);
  const { ownersAt, reach, closedAt, owners } = needs;
  const { dmScope, identityLinks } = config.session;
  const homesOf = async (agent: string): Promise<readonly [Home, ...Home[]]> => {
    const [first, ...more] = (await ownersAt()).map((place): Home => ({
      session: sessionKeyOf(place, { agent, dmScope, identityLinks }),
      place,
    }));
    return [first ?? { session: formatSessionKey({ kind: "main", agent }), place: null }, ...more];
  };
  const catalog = modelCatalog(config, parts.models);
  const schedules = createSchedules({
    ...store,
    agents,
    zone: config.cron.timezone ?? config.agents.defaults.userTimezone,
    runs: runLimitsOf(config),
    owners,
    reach,
    async modelNamed(id, word) {
      const agent = config.agents.list.find((each) => each.id === id);
      if (agent === undefined) throw new Fault("invalid", `there is no agent ${JSON.stringify(id)}`);
      return modelNamed(catalog, agent, word);
    },
    async filesOf(id, path) {
      const agent = config.agents.list.find((each) => each.id === id);
      return agent === undefined ? "belongs to an agent that is gone" : watchedFiles(agent.workspace, path);
    },
    unknownTools(named) {
      const others = parts.tools.map(({ name }) => name);
      return unknownPatterns({ allow: named }, others, Object.keys(config.mcp.servers));
    },
    homeOf: async (agent) => (await homesOf(agent))[0],
    keeping: keepingForHeartbeat(config),
    clock,
    ids,
  });
  const lookAtJob = fireJob({
    // What a look writes is no change that the timer has to hear of.
    schedules: { ...schedules, jobs: jobStore(parts.store.cells) },
    store,
    agents,
    running: kept.running,
    reach,
    closedAt,
    ownersAt,
    keeping: schedules.keeping,
    sessionRetentionMs: spanMs(config.cron.sessionRetention) ?? 0,
    counts: kept.slots,
    watches: watchSlots(schedules.filesOf, clock),
    clock,
    log: log.child({ part: "schedules" }),
  });
  const { inbox, cells } = store;
  const { jobs } = schedules;
  const counts = kept.heartbeats;
  const heartbeats = heartbeatWork({ config, jobs, homesOf, inbox, cells, reach, counts, clock });
  return { schedules, lookAtJob, heartbeats, slotsNow: kept.slots.now };
}
