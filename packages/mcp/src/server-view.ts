// Shows a server to people: what runs, what its tools are, and what waits. Secrets of its config stay out.
import type { Definition, Listing } from "./definition.ts";
import { usable, waiting, waitingCode, type Pins, type Waiting } from "./pins.ts";
import type { ServerState } from "./server.ts";
import { identityOf, type ServerSettings } from "./settings.ts";
import { allows } from "./tool-rules.ts";

export interface ServerView extends ServerState {
  readonly name: string;
  readonly enabled: boolean;
  /** The program or the address, without what may be secret. */
  readonly target: string;
  readonly transport: ServerSettings["transport"];
  readonly tools: readonly Definition[];
  readonly waiting: readonly Waiting[];
  /** Names what waits, for an approval; empty: nothing. */
  readonly code: string;
  readonly leftOut: Listing["leftOut"];
  readonly listedAtMs: number | null;
}

/** `found`: what is pinned under its name, of this server or of another one before it. */
export function viewOf(
  name: string,
  settings: ServerSettings,
  found: Pins | null,
  state: ServerState | undefined,
): ServerView {
  const mine = found?.identity === identityOf(settings) ? found : null;
  return {
    ...(state ?? { state: "stopped", starts: 0 }),
    name,
    enabled: settings.enabled,
    target: targetOf(settings),
    transport: settings.transport,
    tools: mine === null ? [] : usable(mine).filter((tool) => allows(settings.tools, tool.name)),
    waiting: mine === null ? [] : waiting(mine),
    code: mine === null ? "" : waitingCode(mine),
    leftOut: mine?.leftOut ?? [],
    listedAtMs: mine?.listedAtMs ?? null,
  };
}

/** Arguments may hold keys, and so may an address behind its path. */
function targetOf({ command, args, url }: ServerSettings): string {
  if (command !== undefined) return [command, ...args].join(" ");
  const { origin, pathname } = new URL(url ?? "http://invalid");
  return `${origin}${pathname}`;
}
