// What the rows of a turn tell about it beside their words.
import { parseConversationKey } from "@parley/protocol";
import type { Row, Turn } from "@parley/store";
import type { Place } from "../inbound/place-rules.ts";
import { parseRowPayload } from "../inbound/row-payload.ts";
import { wantedIn, type Wanted } from "./directives.ts";

/** A server and the chat above a thread are not part of the address; its newest row knows them. */
export function placeOf({ rows, conversation }: Turn): Place {
  const address = parseConversationKey(conversation);
  const newest = rows.at(-1);
  if (newest === undefined) return { address };
  const { guild, parent } = parseRowPayload(newest.payload).inbound;
  return { address, ...(guild === undefined ? {} : { guild }), ...(parent === undefined ? {} : { parent }) };
}

/** What the messages of the turn say to Parley; commands and what was not meant for us say nothing. */
export function wantedBy(rows: readonly Row[]): Wanted {
  return wantedIn(rows.map(({ payload }) => parseRowPayload(payload).inbound.text));
}

export function isAddressed({ payload }: Row): boolean {
  return parseRowPayload(payload).inbound.addressed;
}
