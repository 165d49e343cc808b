// Registers the routes that programs call on the control plane's port: the OpenAI chat API and webhooks, on
// the same message path as people.
import type { Config } from "@parley/config";
import type { Clock, Ids, Log } from "@parley/protocol";
import type { ProgramRoutes, ApiCallers } from "@parley/control";
import type { ApiRequests } from "./api-requests.ts";
import { completions } from "./completions.ts";
import { mcpServer } from "./mcp-server.ts";
import { webhooks } from "./webhooks.ts";

export interface ApiRoutesOptions {
  readonly requests: ApiRequests;
  /** Ids of the agents. */
  readonly agents: () => readonly string[];
  readonly hooks: () => Pick<Config["hooks"], "token" | "endpoints">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export function apiRoutes(options: ApiRoutesOptions): (callers: ApiCallers) => ProgramRoutes {
  return (callers) => ({
    ...completions({ ...options, ...callers }),
    ...mcpServer({ ...options, ...callers }),
    hook: webhooks({ ...options, ...callers }),
  });
}
