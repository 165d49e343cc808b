// A message path with no daemon around it: all is well, and nothing restarts.
import type { DaemonForChats } from "../src/commands/chat-command.ts";

export const noDaemon: DaemonForChats = {
  report: async () => ({ state: "ok" }),
  restart: async () => null,
  update: async () => null,
  updateCheck: async () => "",
};
