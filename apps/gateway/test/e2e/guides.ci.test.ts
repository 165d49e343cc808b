// What the guides tell people to type is typed here: each command of the README, docs/ and deploy/, page by
// page, beside one daemon. A new command runs without being named; what cannot run here stands in a list,
// with the reason.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { openclawHome } from "../import/openclaw-home.ts";
import { cleanUp, eventually, freshHome, programOf, testToken, type Daemon } from "./daemon.ts";
import { findableGateway } from "./operator.ts";
import { world, type World } from "./world.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));

let w: World | undefined;
afterEach(async () => {
  await cleanUp();
  await w?.close();
});

/** What cannot run beside one daemon on one machine. */
const elsewhere: readonly RegExp[] = [
  // newcomer.ci.test.ts and restart.test.ts
  /^npm start$/,
  /^parley restart$/,
  // What this is part of.
  /^npm (?:test|run)\b/,
  // Servers of others, and packages from a registry.
  /^parley mcp add /,
  /^parley setup --provider anthropic /,
  // The machine's services, and what a release holds: packages/update and the release's own tests.
  /^parley service (?:install|status|uninstall)/,
  /^parley update\b/,
  /^(?:npx|tar|apt|skopeo|sudo|helm) /,
  // Several processes over Redis: redis.ci.test.ts.
  /^(?:kill -\w+|redis-cli) /,
  // The answer needs what the agent proposed.
  /^parley memory (?:accept|refuse) /,
  // It talks with who sits there.
  /^parley chat$/,
];

/**
 * What a command must say, beside ending well; of output that a page shows, the first words are looked for.
 */
const promised: { readonly [command: string]: RegExp } = {
  "parley --help": /Set up and run:/,
  "parley why <id|text>": /Delivery .*: failed/,
  "parley prompt explain": /cache boundary/,
  "parley pair list": /123 +Carol/,
  "parley pair approve ABCD2345": /telegram/,
  "parley pair revoke telegram:default:123": /./,
  "parley node run": /connected/i,
  "curl http://127.0.0.1:7275/v1/chat/completions": /"content":"You said: hello"/,
  "curl http://127.0.0.1:7275/hooks/agent": /"ok":true/,
  "parley memory search <query>": /oat milk/,
  "parley memory get <path>": /oat milk/,
  "parley import openclaw": /carried/i,
  "parley config get gateway.port": /^\d+\n$/,
  "parley config validate": /is valid/,
  "parley forget person telegram:777000123":
    /answers\n[^]*Nothing is changed\. To do it, run it again with --yes/,
  "parley prompt diff": /From agent:main/,
  "parley replay agent:main:telegram:dm:7": /Turn +agent:main:telegram:dm:7#/,
  "parley replay agent:main:telegram:dm:7 --save": /Wrote agent:main:telegram:dm:7#/,
  "parley eval turns": /0 failed/,
  "parley doctor": /Others on this machine may use/,
  "parley cron add": /next +(?:20|when)/,
  "parley resume": /Safe mode/,
};

/** Exit codes that a page's own words promise. */
const exits: { readonly [command: string]: number } = {
  "parley doctor": 1,
  // No turn changed a note.
  "parley memory undo": 1,
};

interface Shown {
  readonly page: string;
  readonly command: string;
  /** What the page shows of its output. */
  readonly output: readonly string[];
}

/** Commands of a page's blocks: lines after a `$`, or all lines of a block of `sh` or of `parley` alone. */
function commandsOf(page: string, text: string): readonly Shown[] {
  const found: Shown[] = [];
  for (const [, kind = "", body = ""] of text.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)) {
    if (!["", "sh", "text"].includes(kind)) continue;
    const lines = body.trimEnd().replaceAll("\\\n", "").split("\n");
    const hasPrompt = lines.some((line) => line.startsWith("$ "));
    if (!hasPrompt && kind !== "sh" && !lines.every((line) => line.startsWith("parley "))) continue;
    for (const line of lines) {
      if (!hasPrompt) found.push({ page, command: line, output: [] });
      else if (line.startsWith("$ ")) found.push({ page, command: line.slice(2), output: [] });
      else {
        const last = found.pop();
        if (last !== undefined) found.push({ ...last, output: [...last.output, line] });
      }
    }
  }
  return found;
}

/** The command as the tables above name it. */
const isNamed = (command: string, names: object): string | undefined =>
  Object.keys(names)
    .filter((name) => command === name || command.startsWith(`${name} `))
    .sort((a, b) => b.length - a.length)[0];

test("what the guides tell people to type does what they promise", async () => {
  w = await world({ dmPolicy: "pairing", allowFrom: ["4242", "7"] });
  const here = w;
  const { telegram, models } = here;
  models.reply(({ lastUserText }) =>
    lastUserText.includes("poison") ? { status: 400 } : `You said: ${lastUserText}`,
  );
  const user = await freshHome();
  const home = join(user, ".parley");
  for (const folder of ["bin", "backups", ".parley/workspace", "shared", "my-agent", "water-plants"])
    await mkdir(join(user, folder), { recursive: true });
  const skillPage = await readFile(join(root, "docs/skills.md"), "utf8");
  await writeFile(
    join(user, "water-plants/SKILL.md"),
    /```\n(---\nname: water-plants[^]*?)```/.exec(skillPage)?.[1] ?? "",
  );
  await writeFile(join(user, "my-agent/AGENTS.md"), "# Rules\n\nBe kind.\n");
  await writeFile(join(home, "workspace/MEMORY.md"), "- Bob likes oat milk.\n");
  await rename(await openclawHome(), join(user, ".openclaw"));
  const launcher = `#!/bin/sh\nexec "${process.execPath}" "${programOf("cli")}" "$@"\n`;
  await writeFile(join(user, "bin/parley"), launcher, { mode: 0o755 });

  const hooksToken = "Zt4kQ0x7Lr9mWv2cYb6nHd3sFg8jPa5e";
  const config = { ...(await findableGateway()), hooks: { token: hooksToken } };
  const daemon: Daemon = await here.start({ home, config });
  const logFile = join(user, "parley.log");
  telegram.as({ id: 4242, name: "Alice" }).says("poison");
  await here.answered(4242, 1);
  const bob = telegram.as({ id: 7, name: "Bob" });
  bob.says("hello");
  await here.answered(7, 1);
  bob.blocks();
  bob.says("anyone there?");
  telegram.as({ id: 123, name: "Carol" }).says("let me in");
  await here.answered(123, 1);
  const pairing = /\b[A-HJ-NP-Z2-9]{8}\b/.exec(here.answers(123)[0]?.text ?? "")?.[0] ?? "";

  const run = async (line: string, more: object = {}, until?: RegExp) => {
    const env = {
      PATH: `${join(user, "bin")}:${process.env["PATH"]}`,
      HOME: user,
      PARLEY_HOME: home,
      TOKEN: testToken,
      HOOKS_TOKEN: hooksToken,
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...more,
    };
    const child = spawn("sh", ["-c", until === undefined ? line : `exec ${line}`], {
      cwd: user,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    const hear = (chunk: Buffer): void => {
      out += chunk.toString();
      if (until?.test(out) === true) child.kill("SIGTERM");
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    const [code] = (await once(child, "close")) as [number | null];
    return { code, out };
  };
  const first = async (line: string, pattern: RegExp): Promise<string> =>
    eventually(async () => pattern.exec((await run(line)).out)?.[0]);
  const answer = await first("parley outbox list --troubled", /^agent:\S+/m);
  const dead = await first("parley dead list", /^telegram:default:u\d+/m);

  let code = "";
  /** What a page names that has another name here. */
  const names: readonly (readonly [string, () => string])[] = [
    ["bin/parley", () => "parley"],
    ["127.0.0.1:7275", () => new URL(daemon.url).host],
    ["gateway:7275", () => new URL(daemon.url).host],
    ["ABC…", () => code],
    ["ABCD2345", () => pairing],
    ["<id|text>", () => "anyone there"],
    ["<query>", () => "milk"],
    ["<path>", () => "MEMORY.md"],
    ["<line>", () => "'Bob likes oat milk.'"],
    ["NAME", () => "daily-notes"],
    ["FOLDER|ARCHIVE", () => "water-plants"],
    ["telegram:123456789", () => "telegram:4242"],
    ["telegram:777000123", () => "telegram:7"],
    ["agent:main:telegram:dm:7#1795239657153/0", () => answer],
    ['"to": "123456"', () => '"to": "4242"'],
    ["telegram:default:u2", () => dead],
    ["telegram:default:u4", () => answer.replace(/\/0$/, "")],
    ["/backups/", () => `${user}/backups/`],
    ["kill 17325", () => `kill ${daemon.pid}`],
  ];
  const untrue: string[] = [];
  let ran = 0;
  const typedBefore = new Set<string>();
  const tellsOf = async ({ page, command, output }: Shown): Promise<void> => {
    const typed = command.replace(/^bin\//, "").replace(/ +#.*$/, "");
    const plain = typed.startsWith("parley ") ? (typed.split(/ {2,}/)[0] ?? "") : typed;
    if (elsewhere.some((one) => one.test(plain))) return;
    const line = names.reduce(
      (text, [from, to]) => text.replaceAll(from, to()),
      plain.replaceAll(/ \[(?:--|id|changes)[^\]]*\]/g, "").replace(/ · .*/, ""),
    );
    if (output.length === 0 && typedBefore.has(line)) return;
    typedBefore.add(line);
    if (plain.startsWith("parley outbox retry") || plain.startsWith("parley channels test")) bob.unblocks();
    if (plain.startsWith("parley dead drop"))
      await eventually(async () => (await run("parley dead list")).out.includes(`${dead}~2`));
    if (plain.startsWith("grep ")) await writeFile(logFile, daemon.log());
    const isNode = plain.startsWith("parley node run");
    const elsewhereHome = page === "docs/moving-in.md" ? { PARLEY_HOME: join(user, "moved") } : {};
    const name = isNamed(plain, promised);
    const told = await run(line, elsewhereHome, isNode ? promised["parley node run"] : undefined);
    ran += 1;
    code = /--code (\w+)/.exec(told.out)?.[1] ?? code;
    const missing =
      name === undefined
        ? output
            .map((each) => /^[A-Za-z-]{3,}/.exec(each.trim())?.[0] ?? "")
            .filter((word) => !new RegExp(`^\\s*${word}`, "m").test(told.out))
        : promised[name]?.test(told.out) === true
          ? []
          : [String(promised[name])];
    const isRefused = output[0]?.includes("is in use by another Parley") === true;
    const exit = isRefused
      ? told.code !== 0
      : told.code === (exits[isNamed(plain, exits) ?? ""] ?? (isNode ? told.code : 0));
    if (!exit || missing.length > 0)
      untrue.push(
        `${page}: ${line} ended with ${told.code}, lacks ${JSON.stringify(missing)}: ${told.out.slice(0, 600)}`,
      );
    if (plain.startsWith("kill ")) await daemon.exited;
  };

  const docs = (await readdir(join(root, "docs"))).filter((each) => each.endsWith(".md"));
  const pages = ["README.md", ...docs.map((each) => `docs/${each}`), "deploy/README.md"];
  const shown = await Promise.all(
    pages.map(async (page) => commandsOf(page, await readFile(join(root, page), "utf8"))),
  );
  // Two at once, each page in order; what ends the daemon comes when all else was said.
  const isLast = ({ command }: Shown): boolean => /^(?:parley restore|kill \d)/.test(command);
  const all = shown.flat();
  const queue = shown.map((page) => page.filter((each) => !isLast(each)));
  const work = async (): Promise<void> => {
    for (let page = queue.shift(); page !== undefined; page = queue.shift())
      for (const each of page) await tellsOf(each);
  };
  await Promise.all([work(), work()]);
  for (const each of all.filter(isLast)) await tellsOf(each);
  expect(untrue).toEqual([]);
  expect(ran).toBeGreaterThan(50);
}, 300_000);
