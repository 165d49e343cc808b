// Implements /update: lets an owner do in a chat what `parley update` does. The chat is told how it ended,
// once, also after the restart.
import type { PastLaneCommand } from "../chat-command.ts";

export const update: PastLaneCommand = {
  name: "update",
  summary: "bring a new version of me, and go back if it does not do",
  place: "past-lane",
  ownersOnly: true,
  run: async ({ inbound, owner, args }, { daemon }) => {
    if (!owner) return null;
    if (/^(?:--)?check$/.test(args)) return daemon.updateCheck();
    if (args !== "" && !/^\w[\w.+-]{0,63}$/.test(args))
      return "Write /update, /update check, or /update and a version, as 1.2.3.";
    return daemon.update(inbound, args === "" ? undefined : args);
  },
};
