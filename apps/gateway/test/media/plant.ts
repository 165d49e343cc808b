// Puts deliveries into the outbox of a daemon that is down, as a tool or a turn would have: what it sends at
// its next start.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import {
  accountKey,
  conversationKey,
  silentLog,
  systemClock,
  type Address,
  type Content,
  type Part,
  formatContent,
} from "@parley/protocol";
import { sqliteStore, type SqliteStore } from "@parley/store";
import { withShortValues } from "@parley/delivery";

export async function plant(home: string, to: Address, replies: readonly (readonly Part[])[]): Promise<void> {
  await withStore(home, async (store) => {
    for (const meant of replies) {
      const id = `planted:${randomUUID()}`;
      const { parts, cells } = withShortValues(meant, { id, to });
      for (const { key, value } of cells) await store.cells.put(key, value ?? "", {});
      await post(store, id, to, { v: 1, kind: "reply", parts });
    }
  });
}

/** Deliveries by their ids, so that one may name another. */
export async function plantContents(
  home: string,
  to: Address,
  contents: readonly (readonly [id: string, content: Content])[],
): Promise<void> {
  await withStore(home, async (store) => {
    for (const [id, content] of contents) await post(store, id, to, content);
  });
}

function post(store: SqliteStore, id: string, to: Address, content: Content): Promise<void> {
  const parts = [{ content: formatContent(content) }];
  return store.outbox.post([{ id, pool: accountKey(to), lane: conversationKey(to), cause: "test", parts }]);
}

async function withStore(home: string, work: (store: SqliteStore) => Promise<void>): Promise<void> {
  const store = await sqliteStore({
    path: join(home, "state.db"),
    clock: systemClock(),
    log: silentLog,
    bootId: randomUUID(),
    exclusive: true,
    onFatal: (error) => {
      throw error;
    },
  });
  await work(store);
  await store.close();
}
