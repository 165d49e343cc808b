// Lists the routes, and finds the one that a path means.
import type { Route, Routes } from "./call.ts";
import { channelRoutes } from "./channels.ts";
import { commandRoutes } from "./commands.ts";
import { interactionRoutes } from "./interactions.ts";
import { messageRoutes } from "./messages.ts";
import { reactionRoutes } from "./reactions.ts";
import { threadRoutes } from "./threads.ts";

const routes: Routes = {
  ...channelRoutes,
  ...messageRoutes,
  ...reactionRoutes,
  ...threadRoutes,
  ...commandRoutes,
  ...interactionRoutes,
};

export interface Found {
  /** As `POST /channels/:channel/messages`. */
  readonly name: string;
  readonly route: Route;
  readonly params: { readonly [name: string]: string };
}

interface Compiled {
  readonly name: string;
  readonly method: string;
  readonly route: Route;
  readonly steps: readonly string[];
}

/** Literal steps win over parameters: `@me` before `:user`. */
const compiled: readonly Compiled[] = Object.entries(routes)
  .map(([name, route]) => ({
    name,
    route,
    method: name.split(" ")[0] ?? "",
    steps: name.replace(/^\w+ \//, "").split("/"),
  }))
  .toSorted((a, b) => a.name.split(":").length - b.name.split(":").length);

/** null: no such path; "method": the path exists, but not for this method. */
export function routeOf(method: string, path: string): Found | "method" | null {
  const steps = path.replace(/^\//, "").split("/").map(decodeURIComponent);
  const fitting = compiled.filter(
    (candidate) =>
      candidate.steps.length === steps.length &&
      candidate.steps.every((step, index) => step.startsWith(":") || step === steps[index]),
  );
  const found = fitting.find((candidate) => candidate.method === method);
  if (found === undefined) return fitting.length > 0 ? "method" : null;
  const params = Object.fromEntries(
    found.steps.flatMap((step, index) => (step.startsWith(":") ? [[step.slice(1), steps[index] ?? ""]] : [])),
  );
  return { name: found.name, route: found.route, params };
}
