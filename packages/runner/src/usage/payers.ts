// Says who is asked for the costs of a turn: its agent, the person who asked, and a shared place. Each is a
// payer under a key of its own, with the caps that the config sets for it.
import type { Config, SpendConfig } from "@parley/config";
import { accountKey, parseConversationKey, parseRowPayload, parseSessionKey } from "@parley/protocol";
import type { Turn } from "@parley/store";
import { payerOf } from "../sessions/child-registry.ts";

export interface Payer {
  readonly key: string;
  readonly caps: SpendConfig & { readonly turnsPerDay?: number };
  readonly of: "agent" | "person" | "place";
}

const spendCaps = ["turnsPerDay", "dayUsd", "monthUsd", "dayTokens", "monthTokens"] as const;

export const capsOf = (config: Config, agent: string): SpendConfig =>
  config.agents.list.find(({ id }) => id === agent)?.spend ?? {};

/** Whoever is asked for the turn's costs, with caps that somebody set. */
export function payersOf(
  config: Config,
  turn: Pick<Turn, "lane" | "conversation" | "rows">,
): readonly Payer[] {
  const agent = payerOf(turn.lane);
  const isOwners = turn.rows.length > 0 && turn.rows.every(({ payload }) => parseRowPayload(payload).owner);
  const { person, place, owners } = config.limits;
  const limited =
    isOwners && !owners
      ? []
      : [
          { key: personKey(whoAsked(turn).person), caps: person, of: "person" as const },
          ...placeKeys(turn.lane).map((key) => ({ key, caps: place, of: "place" as const })),
        ];
  const payers: readonly Payer[] = [{ key: agent, caps: capsOf(config, agent), of: "agent" }, ...limited];
  return payers.filter(({ caps }) => spendCaps.some((name) => caps[name] !== undefined));
}

export function whoAsked({ conversation, rows }: Pick<Turn, "conversation" | "rows">): {
  readonly channel: string;
  readonly person: string;
} {
  const channel = accountKey(parseConversationKey(conversation as Turn["conversation"]));
  const newest = rows.at(-1);
  if (newest === undefined) return { channel, person: "nobody" };
  const { inbound } = parseRowPayload(newest.payload);
  return { channel, person: `${inbound.channel}:${inbound.sender.id}` };
}

// No agent's id has a space.
export const personKey = (person: string): string => `person ${person}`;

/** Of a session that only one place can have. */
export function placeKeys(session: string): readonly string[] {
  const { kind } = parseSessionKey(session);
  return kind === "group" || kind === "channel" ? [`place ${session}`] : [];
}
