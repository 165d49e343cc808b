// Shares migrated chats among nodes. A node stores what it learns before it tells the others to read again,
// so a lost message costs them the new id for a while, and never a row.
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
