// Builds access under one config: owners, pairing, the policy of each account, and the routes to agents.
import {
  accessPolicy,
  admission,
  linkedPeople,
  mayReach,
  owners,
  pairingDecisions,
  pairingStore,
  placeNow,
  router,
  type Admit,
  type HandOver,
  type MayReach,
  type Owners,
  type PairingDecisions,
  type Place,
  type PlaceOf,
  type PlaceRules,
  type RouteInbound,
} from "@parley/access";
import type { Address } from "@parley/protocol";
import type { MessagePathParts } from "./parts.ts";

export interface PathAccess {
  readonly owners: Owners;
  /** Private chats of the owners, on accounts that this process has. */
  readonly ownersAt: () => Promise<readonly Address[]>;
  readonly pairingStore: ReturnType<typeof pairingStore>;
  readonly pairing: PairingDecisions;
  readonly policy: ReturnType<typeof accessPolicy>;
  /** Returns the config's rules for a shared place; null for an account that it does not name. */
  readonly rules: (place: Place) => PlaceRules | null;
  /** Says why nothing may be sent to a place by a tool. */
  readonly reach: MayReach;
  readonly route: RouteInbound;
  /** Admits as a message would be, and leaves nothing behind: nobody is asked to pair, nothing is counted. */
  readonly mayAsk: Admit;
  readonly placeOf: PlaceOf;
}

export function pathAccess({
  config,
  store,
  channels,
  moved,
  handOvers,
  clock,
  ids,
}: Pick<
  MessagePathParts,
  "config" | "store" | "channels" | "moved" | "handOvers" | "clock" | "ids"
>): PathAccess {
  const requests = pairingStore(store.cells, clock, ids);
  const known = owners(config.commands.ownerAllowFrom, store.cells);
  const policy = accessPolicy(config.channels, moved);
  const rules = (place: Place): PlaceRules | null => policy(place.address)?.rules(place) ?? null;
  const { dmScope, identityLinks } = config.session;
  const linked = linkedPeople(identityLinks);
  const inForce = (found: HandOver | null): HandOver | null =>
    found !== null && linked(found.from, found.to) ? found : null;
  return {
    owners: known,
    ownersAt: ownerChats(known.all, () =>
      [...channels.values()].map(({ name, account }) => ({ channel: name, account })),
    ),
    pairingStore: requests,
    pairing: pairingDecisions(requests, known),
    policy,
    rules,
    reach: mayReach({ policy, isOwner: known.isOwner, pairing: requests }),
    mayAsk: admission({
      policy,
      isOwner: known.isOwner,
      pairing: { isPaired: requests.isPaired, ask: async () => ({ kind: "pending" }) },
      botLoops: { passes: () => false },
    }),
    route: router({
      agents: config.agents.list.map((agent) => agent.id),
      bindings: config.bindings,
      dmScope,
      identityLinks,
      rules,
      moved,
      handedOver: (address) =>
        address.kind === "dm" ? (inForce(handOvers.at(address))?.session ?? null) : handOvers.worker(address),
    }),
    placeOf: placeNow(handOvers, identityLinks),
  };
}

/** Private chats of the owners with accounts that this process has. */
function ownerChats(
  owners: () => Promise<readonly string[]>,
  accounts: () => readonly Pick<Address, "channel" | "account">[],
): () => Promise<readonly Address[]> {
  return async () =>
    (await owners()).flatMap((owner): Address[] => {
      const at = owner.indexOf(":");
      const [channel, peer] = [owner.slice(0, at), owner.slice(at + 1)];
      const account = accounts().find((each) => each.channel === channel);
      return account === undefined ? [] : [{ channel, account: account.account, kind: "dm", peer }];
    });
}
