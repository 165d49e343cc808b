// Implements /mcp for owners: shows the MCP servers, and approves tools of one that wait.
import { isFault } from "@parley/protocol";
import type { PastLaneCommand } from "../chat-command.ts";

const usage = "Usage: /mcp (show the servers), or /mcp approve NAME CODE (use the tools that wait).";

export const mcp: PastLaneCommand = {
  name: "mcp",
  summary: "show the MCP servers, or approve tools of theirs that wait",
  place: "past-lane",
  ownersOnly: true,
  onlyTells: true,
  async run({ args, owner }, { mcp: servers }) {
    if (!owner) return null;
    const [verb = "list", name, code, ...more] = args.split(/\s+/).filter((word) => word !== "");
    if (verb === "approve" && name !== undefined && code !== undefined && more.length === 0) {
      try {
        const { tools } = await servers.approve(name, code);
        return tools.length === 0
          ? `Nothing of "${name}" waits for an approval.`
          : `✅ Approved, and used from the next turn on: ${tools.map((tool) => `\`${tool}\``).join(", ")}`;
      } catch (error) {
        if (isFault(error)) return `⚠️ ${error.message}`;
        throw error;
      }
    }
    if (verb !== "list" || name !== undefined) return usage;
    const found = await servers.list();
    if (found.length === 0) return "There are no MCP servers (mcp.servers in the config).";
    return found
      .map(({ name: server, enabled, state, reason, tools, waiting, code: waits }) => {
        const what = enabled ? `${state}${reason === undefined ? "" : ` (${reason})`}` : "off";
        const open =
          waiting.length === 0
            ? ""
            : `\n  ${waiting.length} wait: ${waiting.map((each) => `\`${each.name}\``).join(", ")}. \`/mcp approve ${server} ${waits}\``;
        return `- **${server}**: ${what}, ${tools.length} tools${open}`;
      })
      .join("\n");
  },
};
