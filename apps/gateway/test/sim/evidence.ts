// What a simulation leaves behind, read once: rows, deliveries, transcripts, and what the platforms showed.
import { parseRowPayload, type Entry, type SessionKey } from "@parley/protocol";
import type { DeliveryView, RowView, Store, StoredEntry } from "@parley/store";
import type { Platform, Shown } from "./platform.ts";
import type { Effects } from "./tools.ts";
import type { WitnessBook } from "./witness.ts";
import type { World } from "./world.ts";

export interface Evidence {
  readonly world: World;
  readonly platforms: ReadonlyMap<string, Platform>;
  readonly book: WitnessBook;
  readonly effects: Effects;
  /** Timers and calls of the process that wait. */
  readonly timers: number;
  readonly running: number;
  /** Oldest first. */
  readonly rows: readonly RowView[];
  readonly rowsOfTurn: ReadonlyMap<string, readonly RowView[]>;
  readonly deliveries: ReadonlyMap<string, DeliveryView>;
  readonly transcripts: readonly Line[];
}

/** One line of a transcript. */
export interface Line extends StoredEntry {
  readonly session: string;
  readonly entry: Entry;
}

export type Seen = Omit<Evidence, "rows" | "rowsOfTurn" | "deliveries" | "transcripts">;

const all = 100_000;

export async function evidence(seen: Seen, store: Store): Promise<Evidence> {
  const rows = (await store.inbox.find({ dismissed: true, limit: all })).toReversed();
  const deliveries = new Map(
    (await store.outbox.find({ limit: all })).map((delivery) => [delivery.id, delivery]),
  );
  const transcripts: Line[] = [];
  for (const { key, epoch } of await store.sessions.list({ limit: all })) {
    for (let each = 0; each <= epoch; each += 1) {
      const lines = await store.sessions.transcript(key as SessionKey, { epoch: each, limit: all });
      for (const line of lines)
        transcripts.push({ ...line, session: key, entry: JSON.parse(line.body) as Entry });
    }
  }
  const rowsOfTurn = Map.groupBy(
    rows.filter((row) => row.turn !== null && row.outcome !== "context"),
    (row) => row.turn ?? "",
  );
  return { ...seen, rows, rowsOfTurn, deliveries, transcripts };
}

/** The number that a message carries; null for commands. */
export function numberOf(row: Pick<RowView, "payload">): number | null {
  if (row.payload === "") return null;
  const found = /#(\d+)/.exec(parseRowPayload(row.payload).inbound.text);
  return found === null ? null : Number(found[1]);
}

/** The messages that a text says it answers. */
export function answered(text: string): readonly number[] {
  return Array.from(text.matchAll(/ans\[(\d+)\]/g), ([, number]) => Number(number));
}

/** `<delivery>/<part>` taken apart. */
export function partOf({ key }: Pick<Shown, "key">): { readonly delivery: string; readonly part: number } {
  const slash = key.lastIndexOf("/");
  return { delivery: key.slice(0, slash), part: Number(key.slice(slash + 1)) };
}

/** Turn ids are `<lane>#<token>`, and their deliveries `<turn>/<name>` and `<turn>/block/<n>`. */
export function turnOfDelivery(delivery: string): string | null {
  const found = /^(agent:.*#\d+)\/(?:block\/\d+|[a-z0-9]+)$/.exec(delivery);
  return found?.[1] ?? null;
}
