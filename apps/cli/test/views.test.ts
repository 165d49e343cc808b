// The whole text of each command's answer, and all that it asks of the gateway, against views/*.txt. What an
// operator is meant to see anew is taken up by `vitest run --project @parley/cli views -u`, and read in the
// diff.
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  fakeGateway,
  parley,
  Refusal,
  stateFolder,
  token,
  type FakeGateway,
  type Run,
  type RunOptions,
} from "./fake-gateway.ts";
import { agents } from "./views/agents.ts";
import { kept } from "./views/kept.ts";
import { schedules } from "./views/schedules.ts";
import { settings } from "./views/settings.ts";
import type { View } from "./views/view.ts";
import { work } from "./views/work.ts";

/** What differs between two runs: where the home is, and drawn ids. */
const unsteady = /[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g;

interface Told extends Run {
  /** What was asked of the gateway, as lines. */
  readonly asked: string;
  /** What it answered last, as JSON. */
  readonly last: string;
}

/** An answer names the folder of the gateway, which every run draws anew. */
const placed = (answer: unknown, home: string): string =>
  (JSON.stringify(answer) ?? "nothing").replaceAll("<home>", home);

/** As a gateway that runs: no command has to read the config to find it. */
function leavesWhereItIs({ home, port }: FakeGateway): void {
  const path = join(home, "gateway-port");
  writeFileSync(path, `${port} ${process.pid} loopback ${token}`);
  const soon = Date.now() / 1000 + 60;
  utimesSync(path, soon, soon);
}

/** What becomes of each view, one after another, and of what is told of it a text. */
async function told(
  views: readonly View[],
  tell: (run: Told) => string,
  options: RunOptions = {},
): Promise<string> {
  let shown: View | undefined;
  const gateway = await fakeGateway(({ method }) => {
    const answer = shown?.answers[method];
    if (answer instanceof Refusal) throw answer;
    if (answer instanceof Error) throw new Refusal("missing", answer.message);
    if (answer === undefined) throw new Refusal("internal", `the view has no answer to ${method}`);
    return JSON.parse(placed(answer, gateway.home));
  });
  leavesWhereItIs(gateway);
  const texts: string[] = [];
  for (const each of views) {
    shown = each;
    gateway.requests.length = 0;
    const run = await parley(gateway.home, each.argv, options);
    const requests = gateway.requests.filter(({ method }) => method !== "connect");
    const asked = requests.map(({ method, params }) => `asks ${method} ${JSON.stringify(params)}\n`).join("");
    const last = placed(each.answers[requests.at(-1)?.method ?? ""], gateway.home);
    texts.push(`$ parley ${each.argv.join(" ")}\n${tell({ ...run, asked, last })}exit ${run.exitCode}\n`);
  }
  return texts.join("\n").replaceAll(gateway.home, "<home>").replaceAll(unsteady, "<id>");
}

const all = { work, schedules, agents, kept, settings };

describe("the whole answer of every command about", () => {
  test.for(Object.entries(all))(
    "%s is the one in its file (after a wanted change: run with -u)",
    async ([name, views]) => {
      const text = await told(views, ({ asked, out, err }) =>
        err === "" ? `${asked}${out}` : `${asked}${out}stderr:\n${err}`,
      );
      await expect(text).toMatchFileSnapshot(`views/${name}.txt`);
    },
  );
});

/** The commands whose words have colours. */
const coloured = ["status", "skills", "hooks", "mcp", "memory", "config"];

test("on a terminal what is well, odd and wrong has its colour, what is no matter is dim; NO_COLOR has none", async () => {
  const views = Object.values(all)
    .flat()
    .filter(({ argv }) => coloured.includes(argv[0] ?? "") && !argv.includes("--json"));
  const onTerminal = (shown: readonly View[], value: string): Promise<string> =>
    told(shown, ({ out, err }) => `${out}${err}`, { isTTY: true, env: { NO_COLOR: value } });
  const shown = await onTerminal(views, "");
  const lines = shown
    .split("\n\n")
    .map((each) => each.split("\n").filter((line, n) => n === 0 || line.includes("\u001B[")))
    .filter((each) => each.length > 1);
  const text = [...new Set(lines.flat())].join("\n").replaceAll("\u001B[", "^");
  await expect(`${text}\n`).toMatchFileSnapshot("views/coloured.txt");
  const plain = await onTerminal(views.slice(0, 2), "1");
  expect(plain).toBe(
    shown.slice(0, shown.indexOf("\n\n", shown.indexOf("degraded")) + 1).replaceAll(/\u001B\[\d+m/g, ""),
  );
});

async function commandPaths(): Promise<ReadonlySet<string>> {
  const { out } = await parley(stateFolder(null), ["completion", "fish"]);
  return new Set([...out.matchAll(/__parley_at "([^"]*)"/g)].map(([, path = ""]) => path));
}

test("with --json every command asks the same, and prints what came back or a document of its own", async () => {
  const views = [...(await firstViews()).values()].map((each) => ({
    ...each,
    argv: [...each.argv, "--json"],
  }));
  const text = await told(views, ({ asked, last, out, err }) => {
    const shown = out === `${last}\n` ? "prints that\n" : out;
    return err === "" ? `${asked}${shown}` : `${asked}${shown}stderr:\n${err}`;
  });
  await expect(text).toMatchFileSnapshot("views/json.txt");
});

/** The path and the first view of each command that asks the gateway for something. */
async function firstViews(): Promise<ReadonlyMap<string, View>> {
  const paths = await commandPaths();
  const views = new Map<string, View>();
  for (const each of Object.values(all).flat()) {
    const [group = "", name = ""] = each.argv;
    const path = paths.has(`${group} ${name}`) ? `${group} ${name}` : group;
    const isWhole = Object.keys(each.answers).length > 0 && !each.argv.includes("--json");
    if (isWhole && !views.has(path)) views.set(path, each);
  }
  return views;
}

test("where no gateway runs a command says so, or reads the records by one that it starts, or does without", async () => {
  const program = process.execPath;
  onTestFinished(() => void (process.execPath = program));
  process.execPath = "/nowhere/node";
  const ways: { [way: string]: string[] } = {};
  for (const [path, { argv }] of await firstViews()) {
    const { exitCode, err } = await parley(stateFolder("{ gateway: { port: 1 } }"), argv);
    const way = err.includes("The gateway is not running at")
      ? "say that none runs"
      : err === "The gateway could not be started: spawn /nowhere/node ENOENT\n"
        ? "start one for this alone"
        : "do without";
    (ways[`${way}, exit ${exitCode}`] ??= []).push(path);
  }
  const text = Object.entries(ways).map(
    ([way, paths]) => `${way}:\n${paths.map((path) => `  ${path}\n`).join("")}`,
  );
  await expect(text.toSorted().join("\n")).toMatchFileSnapshot("views/without-gateway.txt");
});

test("the help of every command names its words, its options with their defaults, and what it is for", async () => {
  const home = stateFolder(null);
  const texts: string[] = [];
  for (const path of await commandPaths()) {
    const argv = [...path.split(" "), "--help"].filter((word) => word !== "");
    texts.push(`$ parley ${argv.join(" ")}\n${(await parley(home, argv)).out}`);
  }
  await expect(texts.join("\n")).toMatchFileSnapshot("views/help.txt");
});
