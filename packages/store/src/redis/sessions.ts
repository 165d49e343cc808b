// Sessions and their transcript on Redis.
import type { Session, Sessions } from "../store.ts";
import { fieldPatch } from "./arguments.ts";
import type { Connection } from "./connection.ts";
import { entryOf, sessionOf, type SessionReply } from "./records.ts";
import {
  forgetSessionScript,
  listSessionsScript,
  openSessionScript,
  patchSessionScript,
  resetSessionScript,
  transcriptScript,
  trimSessionScript,
} from "./verbs/state.ts";

/** Sessions read per call. */
const scan = 500;

export function redisSessions({ call }: Connection): Sessions {
  return {
    open: async (key) => sessionOf(await call<SessionReply>(openSessionScript, { key })),
    patch: async (key, patch) =>
      sessionOf(await call<SessionReply>(patchSessionScript, { key, patch: fieldPatch(patch) })),
    reset: async (key) => sessionOf(await call<SessionReply>(resetSessionScript, { key })),
    async forget(key, record) {
      const [session, entries] = await call<readonly [SessionReply, number]>(forgetSessionScript, {
        key,
        record,
      });
      return { session: sessionOf(session), entries };
    },
    trim: (key, beforeEpoch) => call<number>(trimSessionScript, { key, beforeEpoch }),
    async list({ prefix = "", sinceMs = 0, limit }) {
      const found: Session[] = [];
      for (let from = 0; found.length < limit; from += scan) {
        const [sessions, lookedAt] = await call<readonly [readonly SessionReply[], number]>(
          listSessionsScript,
          {
            prefix,
            sinceMs,
            from,
            scan,
          },
        );
        found.push(...sessions.map(sessionOf));
        if (lookedAt < scan) break;
      }
      return found
        .toSorted((a, b) => b.updatedAtMs - a.updatedAtMs || (a.key < b.key ? -1 : 1))
        .slice(0, limit);
    },
    async transcript(key, { afterSeq = 0, epoch, newest, limit }) {
      const entries = (
        await call<readonly string[]>(transcriptScript, { key, afterSeq, epoch, newest, limit })
      ).map(entryOf);
      return newest === true ? entries.toReversed() : entries;
    },
  };
}
