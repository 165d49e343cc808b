// The whole answer of every chat command, to an owner, to somebody else, and in a group. After a wanted
// change: `vitest run --project @parley/gateway command-views -u`.
import { existsSync, readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { chatCommands } from "../../src/commands/table.ts";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

/** What each command is given besides nothing. */
const given: { readonly [name: string]: readonly string[] } = {
  activation: ["mention", "always", "off"],
  agents: [],
  answer: ["q1 yes"],
  approve: ["x once"],
  cron: ["list", "run none", "rm none"],
  deny: ["x"],
  forget: ["tea"],
  handoff: ["web"],
  model: ["list", "none/none", "default"],
  name: ["Trip to Rome", "off"],
  pair: ["list", "approve NONE", "revoke telegram:5", "nonsense"],
  queue: ["collect", "steer", "nonsense", "collect debounce:5s cap:3 drop:old", "default"],
  reasoning: ["on", "stream", "off", "nonsense"],
  skill: ["none"],
  subagents: ["list", "kill none", "info none"],
  think: ["low", "max", "off", "nonsense"],
  tts: ["on", "off", "status", "nonsense"],
  usage: ["tokens", "full", "off", "nonsense"],
  verbose: ["on", "full", "off", "nonsense"],
  why: ["none"],
};

/**
 * Those that answer with a file, or when real files were read, that end the process, or that list what grows
 * (commands, tools, the prompt's sizes) have tests of their own.
 */
const elsewhere = ["export_session", "forget", "restart", "help", "commands", "tools", "context"];

/** A command that came since breaks no test, and is taken up where the table is made anew. */
const table = new URL("../tables/commands.txt", import.meta.url);
const before = existsSync(table) ? readFileSync(table, "utf8") : null;
const isShown = ({ name }: { readonly name: string }): boolean =>
  !elsewhere.includes(name) && (before === null || before.includes(`> /${name}\n`));

async function told(who: Person, words: string): Promise<string> {
  const seen = who.sees().length;
  who.says(words);
  await s.pass(3_000);
  return `> ${words}\n${who.sees().slice(seen).join("\n--\n")}\n`;
}

test("is the one in the table", async () => {
  s = await stage({ catalogue: true, config: { commands: { ownerAllowFrom: ["telegram:olga"] } } });
  const texts: string[] = [];
  for (const name of ["olga", "eve"]) {
    const who = s.person(name);
    texts.push(`# ${name}\n`, await told(who, "hello"));
    for (const { name: own } of chatCommands.filter(isShown)) {
      for (const words of ["", ...(given[own] ?? [])]) texts.push(await told(who, `/${own} ${words}`.trim()));
    }
  }
  const steady = texts
    .join("\n")
    .replaceAll(s.home, "<home>")
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, "<id>");
  await expect(steady).toMatchFileSnapshot("../tables/commands.txt");
});
