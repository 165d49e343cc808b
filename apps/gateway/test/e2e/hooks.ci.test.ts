// Hooks through the edges of a real daemon: folders with HOOK.md, the bundled ones, one that hangs, and kill
// -9.
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MethodResult } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
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

async function hook(root: string, name: string, events: readonly string[], code: string): Promise<void> {
  await mkdir(join(root, name), { recursive: true });
  const metadata = JSON.stringify({ openclaw: { emoji: "🔗", events } });
  await writeFile(
    join(root, name, "HOOK.md"),
    `---\nname: ${name}\ndescription: "The hook ${name}"\nmetadata: ${metadata}\n---\n\n# ${name}\n`,
  );
  await writeFile(join(root, name, "handler.ts"), code);
}

/** Writes every event as a line. */
const writes = (file: string): string => `
import { appendFileSync } from "node:fs";
export default async (event: any): Promise<void> => {
  const { type, action, sessionKey, context } = event;
  const said = { type, action, sessionKey, content: context.content, success: context.success, own: process.env.OWN, leaked: process.env.LEAKED };
  appendFileSync(${JSON.stringify(file)}, JSON.stringify(said) + "\\n");
  if (type === "command") event.messages.push("heard " + action);
};
`;

async function lines(file: string): Promise<readonly { readonly [key: string]: unknown }[]> {
  if (!existsSync(file)) return [];
  const text = await readFile(file, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { readonly [key: string]: unknown });
}

test("a hook of the state folder hears messages and commands, one that hangs delays nothing, and BOOT.md is followed once a start", async () => {
  const home = await freshHome();
  const workspace = join(home, "workspace");
  const heard = join(home, "heard.jsonl");
  await mkdir(workspace, { recursive: true });
  const config = {
    ...(await findableGateway()),
    commands: { ownerAllowFrom: [`telegram:${alice}`] },
    hooks: {
      internal: {
        entries: {
          "boot-md": { enabled: true },
          "session-memory": { enabled: true },
          teller: { env: { OWN: "mine" } },
          hangs: { timeoutMs: 300 },
        },
      },
    },
  };
  await writeFile(join(workspace, "BOOT.md"), "Say that you are up.\n");
  await hook(
    join(home, "hooks"),
    "teller",
    ["message", "command", "gateway:startup", "gateway:shutdown"],
    writes(heard),
  );
  await hook(join(home, "hooks"), "hangs", ["command:new"], "export default () => { for (;;) {} };\n");
  await hook(join(workspace, "hooks"), "local", ["message:received"], writes(join(home, "local.jsonl")));
  w.models.reply(({ lastUserText }) => `re: ${lastUserText.split("\n")[0] ?? ""}`);
  process.env["LEAKED"] = "no";
  const daemon = await w.start({ home, config });
  await eventually(() => w.models.requests().length >= 1, 10_000, "the turn of BOOT.md");
  expect(JSON.stringify(w.models.requests()[0]?.body)).toContain("Say that you are up.");

  const person = w.telegram.as({ id: alice, name: "Alice" });
  person.says("the picnic is on Sunday");
  await w.answered(alice, 1);
  person.says("/new");
  const answers = await w.answered(alice, 2);
  expect(answers[1]).toMatch(/^A new conversation[\s\S]*heard new$/);
  const memory = join(workspace, "memory");
  const [note = ""] = await eventually(async () => {
    const found = await readdir(memory).catch(() => []);
    return found.some((name) => name.endsWith("the-picnic-is-on-sunday.md")) ? found : undefined;
  });
  expect(await readFile(join(memory, note), "utf8")).toContain("- Alice: the picnic is on Sunday");
  const told = await eventually(async () => {
    const found = await lines(heard);
    return found.some(({ action }) => action === "sent") && found.some(({ action }) => action === "new")
      ? found
      : undefined;
  });
  expect(
    told.map(({ type, action, content }) => `${String(type)}:${String(action)} ${String(content)}`),
  ).toEqual(
    expect.arrayContaining([
      "gateway:startup undefined",
      "message:received the picnic is on Sunday",
      expect.stringMatching(/^message:sent re: /),
      "command:new undefined",
    ]),
  );
  expect(told.every(({ own, leaked }) => own === "mine" && leaked === undefined)).toBe(true);

  const listed = (await parleyJson(home, "hooks", "list")) as MethodResult<"hooks.list">;
  const by = Object.fromEntries(listed.hooks.map((each) => [each.name, each]));
  expect(by["hangs"]?.counts).toMatchObject({ runs: 1, timedOut: 1 });
  expect(by["local"]).toMatchObject({ source: "workspace", status: "disabled", eligible: true });
  expect(existsSync(join(home, "local.jsonl"))).toBe(false);
  expect((await parley(home, "hooks", "enable", "local")).exitCode).toBe(0);
  await eventually(async () => {
    person.says("again");
    return (await lines(join(home, "local.jsonl"))).length > 0;
  });
  // The agent could have written it since.
  await hook(join(workspace, "hooks"), "local", ["message:received"], "export default () => {};\n");
  const info = (await parleyJson(home, "hooks", "info", "local")) as MethodResult<"hooks.info">;
  expect(info.status).toBe("changed");
  const numbers = await fetch(`${daemon.url}/metrics`, {
    headers: { authorization: `Bearer ${daemon.token}` },
  });
  expect(await numbers.text()).toMatch(/parley_hook_runs_total\{hook="hangs",result="timed_out"\} 1/);

  const before = w.models.requests().length;
  daemon.kill("SIGKILL");
  await daemon.exited;
  const next = await w.start({ home, config });
  await eventually(
    () =>
      w.models
        .requests()
        .slice(before)
        .filter(({ body }) => JSON.stringify(body).includes("Say that you are up.")).length === 1,
  );
  expect(await next.stop()).toBe(0);
  expect((await lines(heard)).at(-1)).toMatchObject({ type: "gateway", action: "shutdown" });
}, 300_000);
