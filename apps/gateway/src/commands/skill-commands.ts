// Finds the skills that people call by command: /skill NAME, or a skill's own command. A call is a message
// with its place in the lane (packages/runner/src/skills/skill-call.ts); the gateway answers at once with the
// list of skills, or that a name does not exist.
import { commandSummary, findSkillCommand, skillId, type SkillCommand } from "@parley/agent";
import type { AgentConfig, Config } from "@parley/config";
import type { Inbound, SkillCall } from "@parley/protocol";
import type { Place, PlaceRules, Route } from "@parley/access";
import { skillCall, type SkillRegistry, type SkillsHere } from "@parley/runner";
import { commandIn, type ChatSkills } from "./chat-command.ts";

export interface ChatSkillsOptions {
  readonly config: Config;
  readonly book: SkillRegistry;
  readonly rules: (place: Place) => Pick<PlaceRules, "skills"> | null;
}

/** Fits into one message on every platform, with room to spare. */
const listChars = 1_800;

export function chatSkills({ config, book, rules }: ChatSkillsOptions): ChatSkills {
  const isNative = config.commands.nativeSkills !== false;

  function agentOf(id: string): AgentConfig | null {
    return config.agents.list.find((agent) => agent.id === id) ?? null;
  }

  async function here(place: Place, agentId: string): Promise<SkillsHere | null> {
    const agent = agentOf(agentId);
    return agent === null
      ? null
      : book.at(agent, place.address.kind === "dm" ? undefined : rules(place)?.skills);
  }

  async function called(inbound: Inbound, { agent }: Route): Promise<SkillCall | null> {
    if (inbound.kind === "callback" || inbound.kind === "reaction") return null;
    const given = commandIn(inbound.text);
    if (given === null || (given.name !== "skill" && !isNative)) return null;
    const skills = await here(inbound, agent);
    if (skills === null) return null;
    if (given.name === "skill") {
      const meant = namedFirst(given.args, skills.commands);
      return meant === null ? null : skillCall(meant.found, meant.rest, skills.location(meant.found.skill));
    }
    const found = skills.commands.find(({ command }) => command === given.name);
    return found === undefined ? null : skillCall(found, given.args, skills.location(found.skill));
  }

  return {
    called,
    async menu(agentId) {
      const agent = agentOf(agentId);
      if (agent === null || !isNative) return [];
      const { commands } = await book.at(agent);
      return commands.map(({ command, skill }) => ({ name: command, description: commandSummary(skill) }));
    },
    async names({ inbound, route }) {
      return ((await here(inbound, route.agent))?.commands ?? []).map(({ command }) => command);
    },
    async list({ args, inbound, route }) {
      const commands = (await here(inbound, route.agent))?.commands ?? [];
      if (commands.length === 0) return "There are no skills here.";
      const list = listed(commands, isNative);
      const wanted = args.split(/\s/, 1)[0] ?? "";
      return wanted === ""
        ? list
        : `There is no skill \`${wanted.replaceAll(/[`\s]+/g, " ").slice(0, 64)}\` here.\n${list}`;
    },
  };
}

/** Returns the skill whose name begins the text, the longest name first, because names may have spaces. */
function namedFirst(
  args: string,
  commands: readonly SkillCommand[],
): { readonly found: SkillCommand; readonly rest: string } | null {
  const [word = ""] = args.split(/\s/, 1);
  const wanted = skillId(args);
  const byName = commands
    .filter(({ skill }) => {
      const id = skillId(skill.manifest.name);
      return wanted === id || (wanted.startsWith(id) && /\s/.test(wanted.charAt(id.length)));
    })
    .toSorted((a, b) => b.skill.manifest.name.length - a.skill.manifest.name.length)[0];
  if (byName !== undefined)
    return { found: byName, rest: args.slice(byName.skill.manifest.name.length).trim() };
  const found = word === "" ? null : findSkillCommand(commands, word);
  return found === null ? null : { found, rest: args.slice(word.length).trim() };
}

function listed(commands: readonly SkillCommand[], isNative: boolean): string {
  const lines = ["Use one with /skill NAME and what you want:"];
  let chars = 0;
  for (const [index, { command, skill }] of commands.entries()) {
    const line = `${isNative ? `/${command}` : `\`${skill.manifest.name}\``} - ${commandSummary(skill)}`;
    chars += line.length + 1;
    if (chars > listChars) {
      lines.push(`... and ${commands.length - index} more`);
      break;
    }
    lines.push(line);
  }
  return lines.join("\n");
}
