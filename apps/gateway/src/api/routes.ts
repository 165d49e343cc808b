// Registers the routes that programs call on the control plane's port: the OpenAI chat API and webhooks, on
// the same message path as people; beside them what people are shown by a link, canvases and documentation.
import type { Clock, Ids, Log } from "@parley/protocol";
import type { ProgramRoutes, ApiCallers } from "@parley/control";
import type { ApiRequests } from "./api-requests.ts";
import { canvasPages, type CanvasPagesOptions } from "./canvas-pages.ts";
import { completions } from "./completions.ts";
import { mcpServer } from "./mcp-server.ts";
import { docsSite } from "../docs-site/pages.ts";
import { webhooks, type WebhookOptions } from "./webhooks.ts";

export interface ApiRoutesOptions
  extends
    Pick<WebhookOptions, "hooks" | "world" | "counted">,
    Pick<CanvasPagesOptions, "cells" | "receive" | "isOpen"> {
  readonly requests: ApiRequests;
  /** Null where the program has none beside it. */
  readonly docsFolder: string | null;
  /** Ids of the agents. */
  readonly agents: () => readonly string[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export function apiRoutes(options: ApiRoutesOptions): (callers: ApiCallers) => ProgramRoutes {
  const docs = docsSite(options.docsFolder);
  return (callers) => ({
    ...completions({ ...options, ...callers }),
    ...mcpServer({ ...options, ...callers }),
    canvas: canvasPages({ ...options, ...callers }),
    docs,
    hook: webhooks({ ...options, ...callers }),
  });
}
