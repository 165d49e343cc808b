// Makes the ports through which tools reach the session and the chat: one line a port. They are made once for
// a config, since the prompt lists the tools before a turn has its scope; every call brings the scope along.
import type { SessionPorts } from "@parley/tools";
import type { Services } from "../turn-scope.ts";
import { canvasPort } from "../canvas/canvas-port.ts";
import { cronPort } from "./cron-port.ts";
import { childrenPort } from "../sessions/children.ts";
import { messagesPort } from "../messages/post.ts";
import { sessionsPort } from "../sessions/other-sessions.ts";
import { spendBeside } from "../usage/beside-turn.ts";
import { loadedTools } from "./loaded-tools.ts";
import { seenPictures } from "./seen-pictures.ts";
import { plansPort, statusPort } from "./session-tools.ts";

/** All services but those that are made from the tools. A port picks what it uses. */
export type ToolPortNeeds = Omit<Services, "tools" | "prepareTurn">;

export function toolPorts(services: ToolPortNeeds): SessionPorts {
  return {
    status: statusPort(services),
    plans: plansPort(services),
    children: childrenPort(services),
    questions: services.questions,
    messages: messagesPort(services),
    sessions: sessionsPort(services),
    schedules: cronPort(services),
    loadedTools: loadedTools(services),
    seenPictures: seenPictures(services),
    spending: {
      around: (scope, use) =>
        spendBeside(services, scope, ({ used }) =>
          use((usage, id) => used(usage, { id, priced: usage.costUsd !== undefined })),
        ),
    },
    canvases: canvasPort(services),
    ...(services.upkeep === undefined ? {} : { upkeep: services.upkeep }),
  };
}
