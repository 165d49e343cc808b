// Gives tools the other sessions that a turn may see: their list, what was said in them, messages to them.
// Each is found by the same rules, so that none of the three reaches further than the others.
import type { OtherSessions } from "@parley/tools";
import type { Services } from "../turn-scope.ts";
import { sessionHistory } from "./session-history.ts";
import { listSessions } from "./session-list.ts";
import { sendToSession } from "./session-send.ts";

type OtherSessionServices = Parameters<typeof listSessions>[0] &
  Parameters<typeof sessionHistory>[0] &
  Parameters<typeof sendToSession>[0];

export function sessionsPort(services: Pick<Services, keyof OtherSessionServices>): OtherSessions {
  return {
    list: (scope, request) => listSessions(services, scope, request),
    history: (scope, request) => sessionHistory(services, scope, request),
    send: (scope, request) => sendToSession(services, scope, request),
  };
}
