// The contract, kept by every tool of the catalogue and by those for rehearsals.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { systemClock, type JsonObject } from "@parley/protocol";
import { catalogue, defineTool, makeTools, textResult, type Tool } from "../src/index.ts";
import { append } from "../src/rehearsal/append.ts";
import { echo } from "../src/rehearsal/echo.ts";
import { sleepTool } from "../src/rehearsal/sleep.ts";
import { asked, mistyped, toolContract } from "./contract.ts";
import { everyPort as ports } from "./every-port.ts";
import { hostPath, stage } from "./stage.ts";

/** Calls of tools that need more than their schema says: one that succeeds, one that does not parse. */
const samples: { readonly [tool: string]: readonly [good: JsonObject, bad: JsonObject] } = {
  read: [{ path: "a.txt" }, { path: 5 }],
  tool_search: [{ query: "echo" }, { query: 5 }],
  write: [{ path: "b.txt", content: "x" }, { path: "b.txt" }],
  edit: [
    { path: "a.txt", oldText: "one", newText: "1" },
    { path: "a.txt", oldText: "one" },
  ],
  apply_patch: [{ input: "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch" }, { input: 1 }],
  agents_list: [{}, { of: "main" }],
  exec: [{ command: ["cat", "a.txt"] }, { command: 5 }],
  canvas: [{ action: "present", html: "<p>" }, { action: "paint" }],
  image: [{ image: "a.txt" }, { image: 5 }],
  memory_upkeep: [{ action: "propose", changes: [] }, { action: "merge" }],
  web_search: [{ query: "words" }, { query: "words", country: "Germany" }],
};

const all = await stage({ context: ports });
const built = makeTools(all.context).tools;
await all.close();

for (const { name, parameters } of built) {
  const [good, bad] = samples[name] ?? [asked(parameters), mistyped(parameters)];
  const make = async () => {
    const own = await stage({ context: ports });
    await writeFile(join(own.workspace, "a.txt"), "one two\n");
    const tool = makeTools(own.context).tools.find((each) => each.name === name);
    if (tool === undefined) throw new Error(`${name} is not made`);
    return { tool, workspace: own.workspace, close: own.close };
  };
  toolContract(name, { make, good, bad });
}

const smallest = defineTool({
  name: "smallest",
  summary: "Says nothing",
  description: "The least that a tool can be.",
  args: z.strictObject({}),
  effect: "reads",
  run: async () => textResult("."),
});

const rehearsals: readonly (readonly [Tool, good: JsonObject, bad: JsonObject])[] = [
  [smallest, {}, { left: 1 }],
  [echo, { text: "hi" }, { text: 1 }],
  [append, { line: "hi" }, { line: "a\nb" }],
  [sleepTool(systemClock(), hostPath), { seconds: 0 }, { seconds: -1 }],
];
for (const [tool, good, bad] of rehearsals) {
  const make = async () => {
    const workspace = await mkdtemp(join(tmpdir(), "parley-tools-"));
    return { tool, workspace, close: () => rm(workspace, { recursive: true }) };
  };
  toolContract(tool.name, { make, good, bad });
}

test("the catalogue's entries are what their tools say, in an order without repeats", async () => {
  const own = await stage({ context: ports });
  const { tools, unavailable } = makeTools(own.context);
  // A schema of its own in every turn would be described, written out and measured in every turn.
  const again = makeTools(own.context).tools;
  expect(
    tools.filter(({ parameters }, at) => again[at]?.parameters !== parameters).map(({ name }) => name),
    "make the zod schema of these tools once, above the factory",
  ).toEqual([]);
  expect(tools.length).toBe(catalogue.length);
  for (const { name, effect, summary } of tools)
    expect(catalogue.find(({ id }) => id === name)).toMatchObject({ effect, summary });
  const says = catalogue
    .map(
      ({ id, effect, section, profiles }) =>
        `${id}: ${effect}, ${section}, ${profiles.join(" ") || "none"}\n`,
    )
    .toSorted();
  await expect(says.join("")).toMatchFileSnapshot("tables/catalogue.txt");
  expect(unavailable.every(({ reason }) => reason === "not built yet")).toBe(true);
  expect(new Set(catalogue.map(({ id }) => id)).size).toBe(catalogue.length);
  expect(tools.length + unavailable.length).toBe(catalogue.length);
  await own.close();
});

test("a tool that cannot be here says why", async () => {
  const own = await stage();
  const { unavailable } = makeTools({ ...own.context, owner: false });
  expect(unavailable).toContainEqual({ tool: "gateway", reason: expect.stringContaining("only owners") });
  await own.close();
});
