// Serves an agent's skills to the operator: lists them with their source and why one is unused, and installs
// one. It names missing settings but never shows their values (CVE-2026-26326). It needs only config and
// files, so it works without a daemon.
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { installSkill, skillCommands, skillId, riskSignsIn, type Skill } from "@parley/agent";
import type { Config } from "@parley/config";
import { Fault, type MethodParams, type MethodResult } from "@parley/protocol";
import { knownCommands } from "../../commands/parse-command.ts";
import type { SkillSurvey, SurveyedSkill } from "@parley/runner";
import { agentAt } from "./agents.ts";
import { absolute } from "../backup.ts";
import type { ConfigPorts } from "../ports.ts";

export interface SkillPorts extends Pick<ConfigPorts, "skills" | "clock" | "ids"> {
  readonly config: Config;
}

type Shown = MethodResult<"skills.list">["skills"][number];

export interface SkillMethods {
  "skills.list"(params: MethodParams<"skills.list">): Promise<MethodResult<"skills.list">>;
  "skills.info"(params: MethodParams<"skills.info">): Promise<MethodResult<"skills.info">>;
  "skills.install"(params: MethodParams<"skills.install">): Promise<MethodResult<"skills.install">>;
}

export function skillMethods({ config, skills: registry, clock, ids }: SkillPorts): SkillMethods {
  return {
    async "skills.list"({ agent: id }) {
      const agent = agentAt(config, id);
      const survey = await registry.survey(agent);
      const { roots, shelf } = survey;
      return {
        agent: agent.id,
        roots: roots.map(({ source, path }) => ({ source, path })),
        skills: shown(survey),
        shadowed: shelf.shadowed.map(({ skill, by }) => ({
          name: skill.manifest.name,
          source: skill.source,
          file: skill.file,
          by: by.file,
        })),
        rejected: [...shelf.rejected],
        cut: [...shelf.cut],
      };
    },

    async "skills.info"({ agent: id, name }) {
      const survey = await registry.survey(agentAt(config, id));
      const wanted = skillId(name.trim());
      const all = shown(survey);
      const at = all.findIndex((skill) => skillId(skill.name) === wanted || skill.command === wanted);
      const [skill, found] = [all[at], survey.skills[at]];
      if (skill === undefined || found === undefined) {
        const near = survey.shelf.rejected.filter(({ file }) => file.toLowerCase().includes(`/${wanted}/`));
        const why = near.map(({ file, reason }) => `\n${file} is refused: ${reason}`).join("");
        throw new Fault("missing", `there is no skill "${name}". \`parley skills list\` shows them.${why}`);
      }
      return { ...skill, ...(await details(found, survey)) };
    },

    async "skills.install"({ path, force = false }) {
      const done = await installSkill({
        from: absolute(path),
        into: registry.managed,
        force,
        run: ids.uuid(),
        nowMs: clock.now(),
      });
      const { manifest, folder, files, sha256, replaced, notes, warnings } = done;
      const survey = await registry.survey(agentAt(config, undefined));
      const same = survey.skills.find(({ skill }) => skillId(skill.manifest.name) === skillId(manifest.name));
      const hides = survey.shelf.shadowed.filter(
        ({ skill, by }) => by.folder === folder && skill.folder !== folder,
      );
      const isUsed = same?.skill.folder === folder;
      const refused = survey.shelf.rejected.find(({ file }) => dirname(file) === folder);
      return {
        name: manifest.name,
        folder,
        files,
        sha256,
        replaced,
        notes: [
          ...notes,
          ...(refused === undefined ? [] : [`it is not used: ${refused.reason}`]),
          ...(isUsed || same === undefined
            ? []
            : [`it is not used: ${same.skill.file} has the same name and comes first`]),
          ...hides.map(({ skill }) => `it takes the place of the ${skill.source} skill ${skill.file}`),
          ...(isUsed && same.state.status !== "ready" ? [`it is not ready: ${same.state.reason}`] : []),
        ],
        warnings: [...warnings],
      };
    },
  };
}

function shown({ skills }: SkillSurvey): Shown[] {
  // Numbers only the ready skills, as chats do.
  const ready = skills.filter(({ state }) => state.status === "ready").map(({ skill }) => skill);
  const commands = new Map(
    skillCommands(ready, knownCommands()).map(({ command, skill }) => [skill, command]),
  );
  return skills.map(({ skill, state }) => {
    const { name, description, userInvocable, modelInvocable, dispatch, emoji } = skill.manifest;
    return {
      name,
      description,
      source: skill.source,
      file: skill.file,
      status: state.status,
      reason: state.status === "ready" ? null : state.reason,
      command: commands.get(skill) ?? null,
      userInvocable,
      modelInvocable,
      tool: dispatch?.tool ?? null,
      notes: [...skill.notes],
      emoji: emoji ?? null,
    };
  });
}

async function details(
  { skill, unmet: lacks }: SurveyedSkill,
  { shelf }: SkillSurvey,
): Promise<Omit<MethodResult<"skills.info">, keyof Shown>> {
  const { gates, homepage, primaryEnv, key } = skill.manifest;
  const unmet = lacks();
  const isMet = (kind: string, what: string): boolean =>
    !unmet.some((each) => each.kind === kind && each.what === what);
  const requirement = (kind: "os" | "bin" | "anyBins" | "env" | "config", what: string) => ({
    kind,
    what,
    satisfied: isMet(kind, what),
  });
  return {
    key,
    homepage: homepage ?? null,
    primaryEnv: primaryEnv ?? null,
    always: gates.always,
    requirements: [
      ...(gates.os.length === 0 ? [] : [requirement("os", gates.os.join(" or "))]),
      ...gates.bins.map((what) => requirement("bin", what)),
      ...(gates.anyBins.length === 0 ? [] : [requirement("anyBins", gates.anyBins.join(" or "))]),
      ...gates.env.map((what) => requirement("env", what)),
      ...gates.config.map((what) => requirement("config", what)),
    ],
    warnings: await warningsOf(skill),
    shadows: shelf.shadowed.filter(({ by }) => by === skill).map(({ skill: other }) => other.file),
  };
}

async function warningsOf({ file, source }: Skill): Promise<string[]> {
  if (source === "bundled") return [];
  try {
    return riskSignsIn(await readFile(file, "utf8")).map((words) => `SKILL.md ${words}`);
  } catch {
    // The skill was removed since it was listed, so there is nothing to warn of.
    return [];
  }
}
