// Skills through the edges of a real daemon: the command line with and without it, the platform's menu, a
// chat, and a model that repeats a key.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MethodResult } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, freshHome } from "./daemon.ts";
import { findableGateway, parley, parleyJson } from "./operator.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

const alice = 4242;

async function folder(home: string, name: string, front: string): Promise<string> {
  const path = join(home, "source", name);
  await mkdir(path, { recursive: true });
  await writeFile(
    join(path, "SKILL.md"),
    `---\nname: ${name}\ndescription: The skill ${name}.\n${front}\n---\nSteps of ${name}.\n`,
  );
  return path;
}

test("from the command line into the chat, with and without a daemon", async () => {
  const home = await freshHome();
  const config = {
    ...(await findableGateway()),
    tools: { rehearsal: true },
    skills: { entries: { keyed: { apiKey: "key-that-nobody-sees" } } },
  };
  await mkdir(home, { recursive: true });
  await writeFile(join(home, "parley.json5"), JSON.stringify({ ...w.config, ...config }));

  // No daemon runs.
  const loud = await folder(home, "loud", "command-dispatch: tool\ncommand-tool: echo");
  const first = (await parleyJson(home, "skills", "install", loud)) as MethodResult<"skills.install">;
  expect(first).toMatchObject({
    name: "loud",
    folder: join(home, "skills", "loud"),
    files: 1,
    replaced: false,
  });
  const again = await parley(home, "skills", "install", loud);
  expect([again.exitCode, again.err]).toEqual([1, expect.stringContaining("--force replaces it")]);
  // And with one: what is installed now is there with the next message.
  const daemon = await w.start({ home, config });
  const client = await controlClient(daemon);
  const before = (await client.call("skills.list")) as MethodResult<"skills.list">;
  expect(before.skills.map(({ name, source }) => `${name} ${source}`)).toContain("loud managed");
  const person = w.telegram.as({ id: alice, name: "Alice" });
  await eventually(() => JSON.stringify(w.telegram.bot().commands()).includes('"loud"'));
  person.says("/loud as it is");
  await w.answered(alice, 1);
  person.says("/skill later now");
  await w.answered(alice, 2);
  expect(w.answers(alice)[0]?.text).toContain("as it is");
  expect(w.answers(alice)[1]?.text).toContain("There is no skill later here.");
  expect(w.models.requests()).toHaveLength(0);

  await client.call("skills.install", { path: await folder(home, "later", "") });
  await client.call("skills.install", {
    path: await folder(home, "keyed", "metadata: {parley: {primaryEnv: KEYED, requires: {env: [KEYED]}}}"),
  });
  w.models.reply(({ lastUserText }) => `I read: ${lastUserText} key-that-nobody-sees`);
  person.says("/skill later now");
  await w.answered(alice, 3);
  expect(w.answers(alice)[2]?.text).toMatch(
    /I read: Use the "later" skill[\s\S]*SKILL.md first[\s\S]*now \[secret\]/,
  );

  const shown = (await client.call("skills.info", { name: "keyed" })) as MethodResult<"skills.info">;
  expect(shown).toMatchObject({
    status: "ready",
    primaryEnv: "KEYED",
    requirements: [{ kind: "env", what: "KEYED", satisfied: true }],
  });
  client.close();
  await writeFile(join(home, "skills", "later", "SKILL.md"), "---js\n({})\n---\n");
  const check = await parley(home, "skills", "check");
  expect([check.exitCode, check.out]).toEqual([
    1,
    expect.stringMatching(/refused[\s\S]*later[\s\S]*only YAML is read/),
  ]);
  for (const text of [JSON.stringify(shown), check.out, daemon.log()])
    expect(text).not.toContain("key-that-nobody-sees");
});
