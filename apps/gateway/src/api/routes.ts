// Registers the routes that programs call on the control plane's port: the OpenAI chat API and webhooks, on
// the same message path as people.
import type { Clock, Ids, Log } from "@parley/protocol";
import type { ProgramRoutes, ApiCallers } from "@parley/control";
import type { ApiRequests } from "./api-requests.ts";
import { canvasPages, type CanvasPagesOptions } from "./canvas-pages.ts";
import { completions } from "./completions.ts";
import { mcpServer } from "./mcp-server.ts";
import { webhooks, type WebhookOptions } from "./webhooks.ts";

export interface ApiRoutesOptions
  extends
    Pick<WebhookOptions, "hooks" | "world" | "counted">,
    Pick<CanvasPagesOptions, "cells" | "receive" | "isOpen"> {
  readonly requests: ApiRequests;
  /** Ids of the agents. */
  readonly agents: () => readonly string[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export function apiRoutes(options: ApiRoutesOptions): (callers: ApiCallers) => ProgramRoutes {
  return (callers) => ({
    ...completions({ ...options, ...callers }),
    ...mcpServer({ ...options, ...callers }),
    canvas: canvasPages({ ...options, ...callers }),
    hook: webhooks({ ...options, ...callers }),
  });
}
