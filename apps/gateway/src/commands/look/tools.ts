// Implements /tools: lists the tools that the agent may use for the person who asks; with a name, it explains
// why that tool is there or not. Only owners learn why this machine cannot have a tool.
import { nearestWord } from "@parley/config";
import { listedTools, type ListedTool } from "@parley/runner";
import { senderId } from "@parley/access";
import type { PastLaneCommand } from "../chat-command.ts";

const shownNameChars = 40;

export const tools: PastLaneCommand = {
  name: "tools",
  summary: "what I may use here; /tools NAME says why, or why not",
  place: "past-lane",
  onlyTells: true,
  async run({ args, inbound, route: { agent, session: key }, owner }, { store, turnPreparer, hold }) {
    const session = await store.sessions.open(key);
    // Answers for a turn of this person: others in the chat may have fewer tools, or more.
    const by = { owner, senders: [senderId(inbound)] };
    const [{ here }, onHold] = await Promise.all([
      turnPreparer.prompt({ agent, session, place: inbound, by }),
      hold.now(),
    ]);
    const listed = listedTools(here);
    const [name] = args.split(/\s+/).filter((word) => word !== "");
    const said = name === undefined ? list(listed, here.decision.reason) : explained(listed, name, owner);
    return onHold === null
      ? said
      : `${said}\n🛑 All tools are held by /estop; an owner lets them go on with /estop off.`;
  },
};

function list(all: readonly ListedTool[], whyNone: string | undefined): string {
  const ready = all.filter(({ status }) => status === "ready");
  if (ready.length === 0) return `I may use no tool here${whyNone === undefined ? "." : `: ${whyNone}.`}`;
  const sections = [...new Set(ready.map(({ section }) => section))];
  return [
    `Tools that I may use here: ${ready.length} of ${all.length}.`,
    // Without the line between, a section's name would belong to the list above it.
    ...sections.flatMap((section) => [
      "",
      `**${section}**`,
      ...ready.filter((tool) => tool.section === section).map(({ id, summary }) => `- \`${id}\`: ${summary}`),
    ]),
    "",
    "Why, or why not: /tools NAME",
  ].join("\n");
}

function explained(all: readonly ListedTool[], name: string, owner: boolean): string {
  const found = all.find(({ id }) => id.toLowerCase() === name.toLowerCase());
  if (found === undefined) {
    const near = nearestWord(
      name.toLowerCase(),
      all.map(({ id }) => id),
    );
    const meant = near === null ? "" : ` Did you mean \`${near}\`?`;
    return `There is no tool "${name.replaceAll("`", "").slice(0, shownNameChars)}".${meant} /tools shows those that I may use.`;
  }
  const { id, status, summary, reason } = found;
  switch (status) {
    case "ready":
      return `I may use \`${id}\` here: it is there, and no rule takes it away. ${summary}.`;
    case "removed":
      return `I may not use \`${id}\` here: ${reason}.`;
    case "unavailable":
      return owner && reason !== null
        ? `\`${id}\` cannot be had here: ${reason}.`
        : `\`${id}\` cannot be had here. The operator sees why with \`parley tools explain ${id}\`.`;
  }
}
