// Which agent answers, and in which session. The session key is the isolation policy (I14).
import { Fault, sessionKeyOf, type DmScope, type Inbound, type SessionKey } from "@parley/protocol";

export interface Route {
  readonly agent: string;
  readonly session: SessionKey;
}

export interface RouteOptions {
  /** Ids of the configured agents. */
  readonly agents: readonly string[];
  readonly dmScope: DmScope;
  readonly identityLinks: { readonly [person: string]: readonly string[] };
}

export type RouteInbound = (inbound: Inbound) => Route;

/** Throws Fault("invalid") when several agents are configured and nothing says which one answers. */
export function router(options: RouteOptions): RouteInbound {
  const [only, ...others] = options.agents;
  return (inbound) => {
    const agent = others.length === 0 ? only : options.agents.find((id) => id === "main");
    if (agent === undefined) {
      throw new Fault("invalid", `no agent is bound to ${inbound.channel} and none is called "main": name one "main" in agents.list`);
    }
    const { dmScope, identityLinks } = options;
    return { agent, session: sessionKeyOf(inbound.address, { agent, dmScope, identityLinks }) };
  };
}
