// Shares migrated chats and hand-overs among nodes. A node stores what it learns before it tells the others
// to read again, so a lost message costs them the news for a while, and never a row.
import type { Log } from "@parley/protocol";
import type { Bus } from "@parley/queue";
import type { Store } from "@parley/store";
import {
  conversationBindings,
  migratedChats,
  type ConversationBindings,
  type MigratedChats,
} from "@parley/access";

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

/** Resolves once what earlier runs handed over is known. */
export async function clusterHandOvers(
  { cells }: Pick<Store, "cells">,
  bus: Bus,
  log: Log,
): Promise<ConversationBindings> {
  const book = conversationBindings(cells);
  await book.load();
  bus.hear(
    "handed-over",
    () => void book.load().catch((error: unknown) => log.warn({ error }, "hand-overs could not be read")),
  );
  return {
    ...book,
    async handOver(...what) {
      await book.handOver(...what);
      bus.tell("handed-over", "");
    },
    async takeBack(session) {
      const was = await book.takeBack(session);
      bus.tell("handed-over", "");
      return was;
    },
    async bind(...what) {
      await book.bind(...what);
      bus.tell("handed-over", "");
    },
    async unbind(session) {
      const threads = await book.unbind(session);
      if (threads.length > 0) bus.tell("handed-over", "");
      return threads;
    },
  };
}
