// Implements /canvas: makes a fresh link to what the agent shows in this conversation, because each link
// works once.
import { canvasId, canvasLink, canvasOf } from "@parley/runner";
import { conversationKey } from "@parley/protocol";
import type { PastLaneCommand } from "../chat-command.ts";

export const canvas: PastLaneCommand = {
  name: "canvas",
  summary: "a fresh link to the page that I show here",
  place: "past-lane",
  async run({ route: { session }, inbound: { address } }, { config, store: { cells }, ids }) {
    const id = canvasId(session);
    const kept = await canvasOf(cells, id);
    if (kept === null || !kept.canvas.shown) return "I show no page here. Ask me for one.";
    const base = address.channel === "web" ? "" : config.gateway.publicUrl;
    if (base === undefined) return "There are no links here: gateway.publicUrl is not set.";
    const { path, cell } = canvasLink(ids, id, conversationKey(address));
    await cells.put(cell.key, cell.value ?? "", cell.ttlMs === undefined ? {} : { ttlMs: cell.ttlMs });
    return `[${kept.canvas.title.replaceAll(/[[\]\\]/g, "")}](${base}${base === "" || base.endsWith("/") ? "" : "/"}${path})`;
  },
};
