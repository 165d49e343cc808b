// Builds access under one config: owners, pairing, the policy of each account, and the routes to agents.
import {
  accessPolicy,
  owners,
  pairingDecisions,
  pairingStore,
  router,
  type Owners,
  type PairingDecisions,
  type Place,
  type PlaceRules,
  type RouteInbound,
} from "@parley/access";
import type { MessagePathParts } from "./parts.ts";

export interface PathAccess {
  readonly owners: Owners;
  readonly pairingStore: ReturnType<typeof pairingStore>;
  readonly pairing: PairingDecisions;
  readonly policy: ReturnType<typeof accessPolicy>;
  /** Returns the config's rules for a shared place; null for an account that it does not name. */
  readonly rules: (place: Place) => PlaceRules | null;
  readonly route: RouteInbound;
}

export function pathAccess({
  config,
  store,
  moved,
  clock,
  ids,
}: Pick<MessagePathParts, "config" | "store" | "moved" | "clock" | "ids">): PathAccess {
  const requests = pairingStore(store.cells, clock, ids);
  const known = owners(config.commands.ownerAllowFrom, store.cells);
  const policy = accessPolicy(config.channels, moved);
  const rules = (place: Place): PlaceRules | null => policy(place.address)?.rules(place) ?? null;
  const { dmScope, identityLinks } = config.session;
  return {
    owners: known,
    pairingStore: requests,
    pairing: pairingDecisions(requests, known),
    policy,
    rules,
    route: router({
      agents: config.agents.list.map((agent) => agent.id),
      bindings: config.bindings,
      dmScope,
      identityLinks,
      rules,
      moved,
    }),
  };
}
