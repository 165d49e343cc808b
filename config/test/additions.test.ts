// "Listed once" counted: one of each kind is added to a scratch copy, in no more places than AGENTS.md says,
// and the copy is asked whether each is there wherever people meet it.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");

interface Addition {
  /** As the first column of the table in AGENTS.md names it. */
  readonly what: string;
  /** Whole files, by path. */
  readonly files: { readonly [file: string]: string };
  /** What is written in front of a text that a file has already. */
  readonly lines: readonly { readonly file: string; readonly before: string; readonly add: string }[];
  /** Statements of a module in the scratch folder that name in `missing` where the new one is not found. */
  readonly proof: string;
}

/** Ports for tables that only have to be made, not used. */
const anything = `const anything = new Proxy(function () {}, {
  get: (_target, key) => (key === Symbol.toPrimitive ? () => "" : anything),
  apply: () => anything,
});`;

const commands = "apps/gateway/src/commands";
const additions: readonly Addition[] = [
  {
    what: "a chat command",
    files: {
      [`${commands}/moon.ts`]: `// /moon: its phase.
import type { PastLaneCommand } from "./chat-command.ts";

export const moon: PastLaneCommand = {
  name: "moon",
  aliases: { luna: "" },
  summary: "its phase",
  place: "past-lane",
  onlyTells: true,
  run: async () => "full",
};
`,
    },
    lines: [
      {
        file: `${commands}/table.ts`,
        before: "import { newConversation",
        add: 'import { moon } from "./moon.ts";\n',
      },
      { file: `${commands}/table.ts`, before: "  compact,\n", add: "  moon,\n" },
    ],
    proof: `import { boundCommands } from "./${commands}/bound-commands.ts";
import { knownCommands, parseCommand, tellingCommands } from "./apps/gateway/src/commands/parse-command.ts";
const bound = boundCommands({ config: { channels: { telegram: {} } }, skills: { menu: async () => [] } }, { route: () => ({ agent: "main" }), mayAsk: async () => null });
const run = (name) => bound.runPastLane({ name, args: "" }, { owner: false });
if (parseCommand("/luna")?.name !== "moon") missing.push("the parser");
if (!knownCommands().includes("luna")) missing.push("the names that no skill may take");
if (!tellingCommands.includes("moon")) missing.push("the commands that only tell");
if (!(await run("help")).includes("/moon - its phase")) missing.push("/help");
if ((await run("moon")) !== "full") missing.push("what runs commands");
if (!(await bound.menu({ channel: "telegram", account: "a" })).some(({ name }) => name === "moon")) missing.push("the menu");`,
  },
  {
    what: "a control method",
    files: {},
    lines: [
      {
        file: "packages/protocol/src/methods/node.ts",
        before: '  "nodes.list": {',
        add: '  "nodes.moon": {\n    scope: "read",\n    sessions: "none",\n    needs: "store",\n    params: z.object({}),\n    result: z.object({}),\n  },\n',
      },
      {
        file: "apps/gateway/src/operator/operate.ts",
        before: '    "nodes.list":',
        add: '    "nodes.moon": async () => ({}),\n',
      },
    ],
    proof: `import { methods } from "./packages/protocol/src/index.ts";
import { storeHandlers } from "./apps/gateway/src/operator/table.ts";
${anything}
if (methods["nodes.moon"]?.needs !== "store") missing.push("the table of methods");
if (!("nodes.moon" in storeHandlers({ configNow: anything, store: anything }))) missing.push("the handlers that need no daemon");`,
  },
  {
    what: "a tool",
    files: {
      "packages/tools/src/tools/moon.ts": `// Looks at the moon.
import { z } from "zod";
import { defineTool, textResult } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({});

export const moonListing: ToolListing = {
  name: "moon",
  label: "Moon",
  section: "web",
  profiles: ["coding"],
  effect: "reads",
  summary: "Look at the moon",
};

export const moon = (): Tool =>
  defineTool({
    ...moonListing,
    description: "Looks at the moon.",
    args,
    run: async () => textResult("full"),
  });
`,
    },
    lines: [
      {
        file: "packages/tools/src/catalogue.ts",
        before: "import { process, ",
        add: 'import { moon, moonListing } from "./tools/moon.ts";\n',
      },
      {
        file: "packages/tools/src/catalogue.ts",
        before: "  built(webFetchListing",
        add: "  built(moonListing, moon),\n",
      },
    ],
    proof: `import { catalogue } from "./packages/tools/src/index.ts";
const made = catalogue.find(({ id }) => id === "moon")?.make?.({});
if (made?.name !== "moon") missing.push("the catalogue");
if (made?.summary !== "Look at the moon") missing.push("what the model is told");`,
  },
  {
    what: "a port to the session or the chat, for a tool",
    files: {
      "packages/tools/src/ports/tide.ts": `// The port to the tide.
import type { ToolScope } from "../tool.ts";

export interface Tide {
  at(scope: ToolScope): Promise<string>;
}
`,
      "packages/runner/src/tools/tide-port.ts": `// Tells the tide at the conversation.
import type { SessionPorts } from "@parley/tools";
import type { Services } from "../turn-scope.ts";

export function tidePort({ clock }: Pick<Services, "clock">): SessionPorts["tide"] {
  return { at: async ({ conversation }) => \`\${conversation} \${clock.now()}\` };
}
`,
    },
    lines: [
      {
        file: "packages/tools/src/context.ts",
        before: "  readonly plans: Plans;",
        add: "  readonly tide: Tide;\n",
      },
      {
        file: "packages/tools/src/context.ts",
        before: "import type { Web }",
        add: 'import type { Tide } from "./ports/tide.ts";\n',
      },
      {
        file: "packages/runner/src/tools/tool-ports.ts",
        before: "import { plansPort",
        add: 'import { tidePort } from "./tide-port.ts";\n',
      },
      {
        file: "packages/runner/src/tools/tool-ports.ts",
        before: "    plans: plansPort",
        add: "    tide: tidePort(services),\n",
      },
    ],
    proof: `import { toolPorts } from "./packages/runner/src/index.ts";
${anything}
const { tide } = toolPorts({ config: anything, models: anything, sessions: anything, clock: { now: () => 7 } });
if ((await tide?.at({ conversation: "here" })) !== "here 7") missing.push("the ports");`,
  },
  {
    what: "a prompt section",
    files: {
      "packages/agent/src/prompt/sections/moon.ts": `// How to behave while the moon is full.
import type { StableSection } from "../section.ts";

export const moon: StableSection = {
  id: "moon",
  title: "Full Moon",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 30,
  render: () => "Look up first.",
  why: () => "always",
};
`,
    },
    lines: [
      {
        file: "packages/agent/src/prompt/order.ts",
        before: "import { projectContext }",
        add: 'import { moon } from "./sections/moon.ts";\n',
      },
      { file: "packages/agent/src/prompt/order.ts", before: "  projectContext,\n", add: "  moon,\n" },
    ],
    proof: `import { promptSections } from "./packages/agent/src/index.ts";
if (!promptSections.some(({ id }) => id === "moon")) missing.push("the order of the prompt");`,
  },
];

function memberOf(file: string): string {
  return file.split("/").slice(0, 2).join("/");
}

const placesIn = ({ files, lines }: Addition): readonly string[] => [
  ...new Set([...Object.keys(files), ...lines.map(({ file }) => file)]),
];

function scratchCopy(files: readonly string[]): string {
  const scratch = mkdtempSync(path.join(tmpdir(), "parley-additions-"));
  // The protocol reads the version there.
  cpSync(path.join(root, "package.json"), path.join(scratch, "package.json"));
  for (const member of new Set(files.map(memberOf))) {
    mkdirSync(path.join(scratch, member), { recursive: true });
    cpSync(path.join(root, member, "src"), path.join(scratch, member, "src"), { recursive: true });
    cpSync(path.join(root, member, "package.json"), path.join(scratch, member, "package.json"));
    symlinkSync(path.join(root, member, "node_modules"), path.join(scratch, member, "node_modules"));
  }
  return scratch;
}

function add(scratch: string, { files, lines }: Addition): void {
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(scratch, file), text);
  for (const { file, before, add: added } of lines) {
    const text = readFileSync(path.join(scratch, file), "utf8");
    expect(text.split(before)).toHaveLength(2);
    writeFileSync(
      path.join(scratch, file),
      text.replace(before, () => added + before),
    );
  }
}

/** The number that the table in AGENTS.md gives. */
function placesOf(what: string): number {
  const row = readFileSync(path.join(root, "AGENTS.md"), "utf8")
    .split("\n")
    .find((line) => line.startsWith(`| ${what} |`));
  return Number(row?.split("|")[4]?.trim());
}

/** What each proof misses, or the error that it ended with. */
let told: { readonly [what: string]: readonly string[] };
let scratch: string;
beforeAll(() => {
  scratch = scratchCopy(additions.flatMap(placesIn));
  for (const [at, each] of additions.entries()) {
    add(scratch, each);
    writeFileSync(path.join(scratch, `proof-${at}.mjs`), `export const missing = [];\n${each.proof}\n`);
  }
  // One process for all: nearly all that each takes is to load the sources.
  writeFileSync(
    path.join(scratch, "proofs.mjs"),
    `const told = {};
    for (const [at, what] of ${JSON.stringify(additions.map(({ what }) => what))}.entries())
      told[what] = await import(\`./proof-\${at}.mjs\`).then(({ missing }) => missing, (error) => [error.stack]);
    console.log(JSON.stringify(told));`,
  );
  const asked = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", "proofs.mjs"], {
    cwd: scratch,
    encoding: "utf8",
  });
  expect(asked.stderr).toBe("");
  told = JSON.parse(asked.stdout) as typeof told;
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

test.each(additions)("$what is added in as many places as AGENTS.md says", (addition) => {
  expect(placesIn(addition)).toHaveLength(placesOf(addition.what));
  expect(told[addition.what]).toEqual([]);
});
