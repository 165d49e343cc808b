// The same for keys of agents, models, tools, skills and hooks.
import { expect, test } from "vitest";
import { problemsOf } from "./load-text.ts";

const provider = (block: string): string =>
  `{ models: { providers: { lab: { api: "ollama", baseUrl: "http://127.0.0.1:1", ${block} } } } }`;

test.for([
  ['{ agent: { model: "a/b" } }', "agent", "Use agents.defaults"],
  [
    '{ agents: { list: [{ id: "main", identity: { name: "Sam" } }] } }',
    "agents.list[0].identity",
    "IDENTITY.md",
  ],
  [
    '{ agents: { list: [{ id: "main", tools: { exec: { host: "gateway" } } }] } }',
    "agents.list[0].tools.exec.host",
    "sandbox",
  ],
  [
    '{ agents: { defaults: { models: { "lab/m": { params: { temperature: 1 } } } } } }',
    undefined,
    "sampling",
  ],
  [provider('models: [{ id: "m", name: "M" }]'), "models.providers.lab.models[0].name", "alias"],
  [provider('auth: "api-key"'), "models.providers.lab.auth", "apiKey"],
  ["{ tools: { exec: { safeBins: [] } } }", "tools.exec.safeBins", "allowlist"],
  ["{ skills: { load: { watch: true } } }", "skills.load.watch", "next message"],
  ["{ cron: { skipMissedJobs: true } }", "cron.skipMissedJobs", "--misfire none"],
  ['{ cron: { store: "~/cron/jobs.json" } }', "cron.store", "parley import openclaw"],
  ['{ cron: { webhookToken: "abc" } }', "cron.webhookToken", "--webhook URL"],
  ["{ cron: { failureAlert: { after: 3 } } }", "cron.failureAlert", "second failure"],
  ['{ hooks: { path: "/hooks" } }', "hooks.path", "/hooks/NAME"],
] as const)("%s", async ([text, path, fix]) => {
  const [problem] = await problemsOf(text);
  if (path !== undefined) expect(problem?.path).toBe(path);
  expect(problem?.message).toMatch(/^unknown key/);
  expect(problem?.fix).toContain(fix);
});
