// Chats that moved, known on every node: what one learns is durable before the others are told to read again, so a lost word costs them the
// new id until they start or learn it themselves, and never the row.
import type { Log } from "@parley/protocol";
import type { Bus } from "@parley/queue";
import type { Store } from "@parley/store";
import { migratedChats, type MigratedChats } from "@parley/access";

/** Resolves once what earlier runs learned is known. */
export async function clusterMigratedChats(
  { cells }: Pick<Store, "cells">,
  bus: Bus,
  log: Log,
): Promise<MigratedChats> {
  const book = migratedChats(cells);
  await book.load();
  bus.hear(
    "moved",
    () => void book.load().catch((error: unknown) => log.warn({ error }, "moved chats could not be read")),
  );
  return {
    ...book,
    async learn(...move) {
      await book.learn(...move);
      bus.tell("moved", "");
    },
  };
}
