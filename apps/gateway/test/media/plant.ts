// Puts deliveries into the outbox of a daemon that is down, as a tool or a turn would have: what it sends at its next start.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import {
  accountKey,
  conversationKey,
  silentLog,
  systemClock,
  type Address,
  type Part,
  formatContent,
} from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { withShortValues } from "@parley/delivery";

export async function plant(home: string, to: Address, replies: readonly (readonly Part[])[]): Promise<void> {
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
  for (const meant of replies) {
    const id = `planted:${randomUUID()}`;
    const { parts, cells } = withShortValues(meant, { id, to });
    for (const { key, value } of cells) await store.cells.put(key, value ?? "", {});
    const content = formatContent({ v: 1, kind: "reply", parts });
    await store.outbox.post([
      { id, pool: accountKey(to), lane: conversationKey(to), cause: "test", parts: [{ content }] },
    ]);
  }
  await store.close();
}
