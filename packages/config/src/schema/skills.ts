// skills.*: where skills are found besides the workspace, what each of them is given, and how much of them
// the prompt may show. Which skills an agent or a place may use stands with the agent and the place.
import { z } from "zod";
import { secretField } from "./fields.ts";

export const envName = z
  .string()
  .regex(/^[A-Za-z_]\w{0,127}$/, { error: "not the name of an environment variable" });

const entry = z.strictObject({
  enabled: z.boolean().exactOptional().describe("false: the skill is not used. Default: true."),
  apiKey: secretField(
    "Handed to the turn's tool processes in the variable that the skill names as its primaryEnv.",
  ).exactOptional(),
  env: z
    .record(envName, z.string().max(32_768))
    .default({})
    .describe(
      'Variables for the tool processes of turns that may use the skill. "${NAME}" takes the daemon\'s own. Values of names like …_KEY and …_TOKEN are kept out of logs and answers.',
    ),
  config: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Settings that the skill asks for by "skills.entries.<name>.config.…" among its requirements.'),
});

const count = (text: string, normal: number, most: number) =>
  z.number().int().min(0).max(most).default(normal).describe(text);

export const skillsSchema = z
  .strictObject({
    load: z
      .strictObject({
        extraDirs: z
          .array(z.string().min(1))
          .default([])
          .describe(
            "More folders with skills, used after all others; relative ones lie under the state folder.",
          ),
      })
      .prefault({})
      .describe(
        "Where skills come from: skills/ in the workspace, skills/ in the state folder, those that Parley brings, these.",
      ),
    bundled: z.boolean().default(true).describe("Whether the skills that Parley brings are used."),
    allowBundled: z
      .array(z.string().min(1))
      .exactOptional()
      .describe("Names of the only skills that Parley brings that are used."),
    entries: z
      .record(z.string().min(1).max(128), entry)
      .default({})
      .describe("What is said of single skills, by name or by the key that a skill names."),
    limits: z
      .strictObject({
        maxSkillsPromptChars: count("Most characters of the list of skills in the prompt.", 18_000, 200_000),
        maxSkillsInPrompt: count("Most skills in that list.", 150, 1_000),
        maxSkillsLoadedPerSource: count("Most skills of one root.", 200, 10_000),
        maxCandidatesPerRoot: count("Most folders of one root that are looked into.", 300, 100_000),
        maxSkillFileBytes: count("Largest SKILL.md, in bytes.", 256_000, 2_097_152),
      })
      .prefault({})
      .describe("Bounds."),
  })
  .prefault({})
  .describe("Skills: instructions that the agent reads when it needs them.");

export const skillNames = z.array(z.string().min(1).max(128));
