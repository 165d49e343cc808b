import { describe, expect, test } from "vitest";
import { isSecret, redact, secretValues } from "../src/index.ts";
import { loadText, problemsOf } from "./load-text.ts";

const text = `{
  agents: { defaults: { skills: ["a", "b"] }, list: [{ id: "main" }, { id: "ops", skills: [], skillsLimits: { maxSkillsPromptChars: 500 } }] },
  skills: {
    load: { extraDirs: ["mine", "/opt/skills"] },
    entries: {
      weather: {
        apiKey: { env: "WEATHER" },
        env: { WEATHER_UNITS: "metric", WEATHER_TOKEN: "tok-123456", DATABASE: "postgres://me:pass@host/db", MORE: "\${WEATHER}" },
        config: { city: "Bern" },
      },
    },
  },
}`;

describe("skills keys", () => {
  test("without a word the seeds' numbers hold and every skill may be used", async () => {
    const { skills, agents } = (await loadText(null)).config;
    expect(skills.limits).toEqual({
      maxSkillsPromptChars: 18_000,
      maxSkillsInPrompt: 150,
      maxSkillsLoadedPerSource: 200,
      maxCandidatesPerRoot: 300,
      maxSkillFileBytes: 256_000,
    });
    expect(skills).toMatchObject({ load: { extraDirs: [] }, bundled: true, entries: {} });
    expect(agents.list[0]).not.toHaveProperty("skills");
  });

  test("folders become absolute, an agent's list replaces the defaults'", async () => {
    const { skills, agents } = (await loadText(text, { WEATHER: "k-987654" })).config;
    expect(skills.load.extraDirs).toEqual(["/state/mine", "/opt/skills"]);
    expect(agents.list.map((agent) => agent.skills)).toEqual([["a", "b"], []]);
    expect(agents.list[1]?.maxSkillsPromptChars).toBe(500);
  });

  test("what looks like a credential is a secret, a plain word is not", async () => {
    const { config } = await loadText(text, { WEATHER: "k-987654" });
    const { env } = config.skills.entries["weather"] ?? { env: {} };
    expect(
      Object.entries(env)
        .filter(([, value]) => isSecret(value))
        .map(([name]) => name),
    ).toEqual(["WEATHER_TOKEN", "DATABASE"]);
    expect(secretValues(config)).toEqual(expect.arrayContaining(["k-987654", "tok-123456"]));
    expect(JSON.stringify(redact(config))).not.toMatch(/tok-123456|me:pass/);
  });

  test("a variable that changes how programs run is refused by name", async () => {
    for (const name of [
      "NODE_OPTIONS",
      "LD_PRELOAD",
      "PATH",
      "BASH_ENV",
      "GIT_SSH_COMMAND",
      "PYTHONSTARTUP",
      "PERL5OPT",
      "npm_config_registry",
      "PARLEY_HOME",
    ]) {
      const [problem] = await problemsOf(`{ skills: { entries: { x: { env: { ${name}: "1" } } } } }`);
      expect(problem).toMatchObject({ message: expect.stringContaining(name), fix: "Remove it" });
    }
  });

  test("a value of the wrong kind is not repeated in the message", async () => {
    const problems = await problemsOf("{ skills: { entries: { x: { env: { X_TOKEN: 123456789 } } } } }");
    expect(problems).toHaveLength(1);
    expect(JSON.stringify(problems)).not.toContain("123456789");
  });
});
