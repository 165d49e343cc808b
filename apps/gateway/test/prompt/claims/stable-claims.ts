// What the stable sections claim, each with its check. `line` is a whole line of the prompt; `says` stands in
// docs/prompt.md.
import { cliCommands } from "./cli-commands.ts";
import { createHmac } from "node:crypto";
import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { isSandboxed } from "@parley/tools";
import type { SessionKey } from "@parley/protocol";
import { probe, type Situation } from "./situation.ts";

export interface Claim {
  readonly id: string;
  readonly section: string;
  readonly line: RegExp;
  readonly says: string;
  readonly holds: (found: readonly string[], s: Situation) => boolean | Promise<boolean>;
}

type Table = readonly (readonly [id: string, line: RegExp, says: string, holds: Claim["holds"]])[];

export function claimsOf(section: string, table: Table): Claim[] {
  return table.map(([id, line, says, holds]) => ({ id, section, line, says, holds }));
}

export const schemaOf = (s: Situation, tool: string): string =>
  JSON.stringify(s.tool(tool)?.parameters ?? null);
export const hasTool = (s: Situation, ...names: readonly string[]): boolean =>
  names.every((name) => s.tool(name) !== undefined);

/** By the config alone. */
const sandboxed = ({ config }: Situation, session: SessionKey): boolean =>
  isSandboxed(config.agents.list[0]?.sandbox.mode ?? "off", session, ["agent:main:main" as SessionKey]);
const wantsSandbox = (s: Situation): boolean => sandboxed(s, s.draw.session as SessionKey);
const onHost = (s: Situation): boolean => hasTool(s, "exec") && !wantsSandbox(s);
const runs = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};
const opens = async (s: Situation, path: string): Promise<boolean> =>
  (await s.read(path)).startsWith(probe.text);
const sandboxOf = ({ config }: Situation) => config.agents.list[0]?.sandbox;

async function listsSkill([, name = "", path = ""]: readonly string[], s: Situation): Promise<boolean> {
  const text = await s.read(path.replaceAll("&amp;", "&").replaceAll("&lt;", "<").replaceAll("&gt;", ">"));
  return text.startsWith("---") && new RegExp(`^name: "?${name}"?$`, "m").test(text);
}

const remembers = ({ draw }: Situation): boolean => draw.files["MEMORY.md"] !== undefined;
const shares = ({ draw }: Situation): boolean => draw.files["memory/shared/all.md"] !== undefined;
const isPrivate = ({ draw }: Situation): boolean =>
  draw.address === null ? !/:(?:group|channel):/.test(draw.session) : draw.address.kind === "dm";
const cites = (s: Situation): boolean =>
  s.config.memory.citations === "on" || (s.config.memory.citations === "auto" && isPrivate(s));

function namesOwners([, listed = ""]: readonly string[], { config, draw }: Situation): boolean {
  const { ownerAllowFrom, ownerDisplay } = config.commands;
  const ids = ownerAllowFrom.length > 0 ? ownerAllowFrom : [draw.paired ?? "nobody"];
  const code = (id: string): string =>
    createHmac("sha256", "a-key-of-nobody").update(id).digest("hex").slice(0, 12);
  const shown = ownerDisplay === "raw" ? ids : ids.map(code);
  return listed.split(", ").toSorted().join(" ") === shown.toSorted().join(" ");
}

export const stableClaims: readonly Claim[] = [
  ...claimsOf("Tooling", [
    [
      "tools",
      /^- ([a-z_]+)(?:: (.*))?$/,
      "each tool of the list is handed to the model, with its summary",
      ([, name = "", summary], s) =>
        hasTool(s, name) &&
        (summary === undefined || s.tool(name)?.summary.startsWith(summary.replace(/…$/, "")) === true),
    ],
    [
      "tools.all",
      /^Available tools .*Call tools exactly as listed\.$/,
      "every tool that is handed over is in the list, but those that are looked up",
      (_, s) =>
        s.tools.every(
          ({ name, deferred }) => deferred === true || new RegExp(`^- ${name}(?:$|:)`, "m").test(s.prompt),
        ),
    ],
    [
      "tools.none",
      /^No tools are available in this session:.*$/,
      "there is none",
      (_, s) => s.tools.length === 0,
    ],
    [
      "tools.exec",
      /^`exec` starts commands now;.*(?:yieldMs)( or `process`\(action=poll, timeout=<ms>\))?\.$/,
      "exec waits by yieldMs; process polls, where there is one",
      ([, polls], s) =>
        schemaOf(s, "exec").includes("yieldMs") &&
        (polls === undefined || /"poll".*"timeout"/.test(schemaOf(s, "process"))),
    ],
    [
      "tools.process",
      /^Use `process` for the logs, status, input or end of a running command\.$/,
      "process has these actions",
      (_, s) =>
        ["list", "log", "write", "kill"].every((action) => schemaOf(s, "process").includes(`"${action}"`)),
    ],
    [
      "tools.cron",
      /^For later work \(check back, reminders, recurring\) use `cron`(, not `exec` sleep loops, yieldMs tricks or repeated polling)?\.$/,
      "the tool is there and keeps jobs (schedules.test.ts shows them done); exec is named where it is there",
      ([, others], s) =>
        /use it for reminders/.test(s.tool("cron")?.description ?? "") &&
        (others !== undefined) === hasTool(s, "exec"),
    ],
    [
      "tools.deferred",
      /^More tools, to be loaded with `tool_search` before they are called \(it finds them by words, too\): (.*)\.$/,
      "each is there, told by its name alone, and found by its name and by words",
      async ([, names = ""], s) => {
        const found = await s.call("tool_search", { query: `select:${names.replaceAll(" ", "")}` });
        const byWords = await s.call("tool_search", { query: "find notes" });
        return names
          .split(", ")
          .every((name) => s.tool(name)?.deferred === true && found.includes(name) && byWords.includes(name));
      },
    ],
    [
      "tools.spawn",
      /^If a task is larger or takes long, prefer `sessions_spawn`\. Completion is push-based: it announces itself when done\.$/,
      "the tool is there, and says itself that results come (children.test.ts shows it)",
      (_, s) => /by itself/.test(s.tool("sessions_spawn")?.description ?? ""),
    ],
    [
      "tools.subagents",
      /^Do not poll (`subagents` list)?(?: or )?(`sessions_list`)? in a loop; check status only on demand\.$/,
      "each tool named is there and lists",
      async ([, children, sessions], s) =>
        (children === undefined || (await s.call("subagents", { action: "list" })).includes("sub-agents")) &&
        (sessions === undefined || (await s.call("sessions_list", {})).includes("session")),
    ],
    [
      "tools.plan",
      /^Use `update_plan` only for non-trivial work.*$/,
      "the tool is there and knows in_progress",
      (_, s) => schemaOf(s, "update_plan").includes("in_progress"),
    ],
  ]),
  ...claimsOf("Parley CLI Quick Reference", [
    [
      "cli.commands",
      /^- `parley ([a-z -]+)`: .*$/,
      "the command line completes each of these commands",
      ([, words = ""]) => cliCommands().has(words),
    ],
    [
      "cli.here",
      /^Unsure of a command or flag: run `(\/.*) --help` before you answer\.$/,
      "exec runs on the host, and the program is there",
      ([, path = ""], s) => onHost(s) && runs(path),
    ],
    [
      "cli.elsewhere",
      /^You cannot run them from here: name them to the person\.$/,
      "exec does not run on the host",
      (_, s) => !onHost(s),
    ],
  ]),
  ...claimsOf("Skills (mandatory)", [
    [
      "skills",
      /^ {2}<skill>\n {4}<name>(.*)<\/name>\n(?: {4}<description>.*<\/description>\n)? {4}<location>(.*)<\/location>\n {2}<\/skill>$/,
      "`read` opens each at its location, and finds the skill of that name",
      listsSkill,
    ],
    [
      "skills.read",
      /^- If exactly one skill clearly applies: read its SKILL\.md at <location> with `read`, then follow it\.$/,
      "there is a `read` tool",
      (_, s) => hasTool(s, "read"),
    ],
  ]),
  ...claimsOf("Memory Recall", [
    [
      "memory.search",
      /^Before answering anything about prior work, .*: run `memory_search` on MEMORY\.md \+ memory\/\*\.md(?:; then use `memory_get` to pull only the needed lines)?\. If low confidence after search, say you checked\.$/,
      "what MEMORY.md says is found",
      async (_, s) =>
        !remembers(s) || (await s.call("memory_search", { query: "tea" })).includes("MEMORY.md#L1"),
    ],
    [
      "memory.shared",
      /^Before answering anything about prior work, .*: run `memory_search` on memory\/shared\/ and the notes of this conversation(?:; then use `memory_get` to pull only the needed lines)?\. If low confidence after search, say you checked\. Private memory is not searched here\.$/,
      "what memory/shared/ says is found, and nothing of MEMORY.md",
      async (_, s) => {
        const found = await s.call("memory_search", { query: "tea coffee" });
        return found.includes("memory/shared/all.md#L1") === shares(s) && !found.includes("MEMORY.md#");
      },
    ],
    [
      "memory.get",
      /^Before answering anything about prior work, .*: read the lines you need from (MEMORY\.md or memory\/\*\.md|memory\/shared\/) with `memory_get`\. If unsure, say you checked\.$/,
      "it reads a file there, and MEMORY.md in private alone",
      async ([, where], s) =>
        (await s.call("memory_get", { path: "memory/shared/all.md" })).includes("coffee") === shares(s) &&
        (await s.call("memory_get", { path: "MEMORY.md" })).includes("tea") ===
          (remembers(s) && where !== "memory/shared/"),
    ],
    [
      "memory.cited",
      /^Citations: include Source: <path#line> when it helps the user verify memory snippets\.$/,
      "the config says on, or auto in private",
      (_, s) => cites(s),
    ],
    [
      "memory.uncited",
      /^Citations are disabled: do not mention file paths or line numbers unless explicitly asked\.$/,
      "the config says off, or auto in a shared place",
      (_, s) => !cites(s),
    ],
  ]),
  ...claimsOf("Parley Self-Update", [
    [
      "self_update.actions",
      /^With `gateway`: (.*) It changes only settings that protect nobody, and refuses all others\.$/,
      "the gateway tool has each action, and refuses a protected setting",
      async ([, text = ""], s) => {
        const actions =
          text.match(/\b(?:config\.[a-z.]*[a-z]|update\.(?:check|run)|restart(?= restarts))/g) ?? [];
        const patch = { action: "config.patch", patch: { tools: { exec: { mode: "full" } } } };
        const reaches = async (): Promise<boolean> =>
          !draw(s).isOwner || (await s.call("gateway", patch)).includes("only the operator may change");
        return (
          actions.length === 7 &&
          actions.every((action) => schemaOf(s, "gateway").includes(`"${action}"`)) &&
          reaches()
        );
      },
    ],
  ]),
  ...claimsOf("Model Aliases", [
    [
      "aliases",
      /^- (.+): (.+)$/,
      "the alias, as /model and session_status take it, is this model",
      async ([, alias = "", ref = ""], s) => {
        const agent = s.config.agents.list[0];
        const found = agent === undefined ? null : await s.models.find(agent, alias);
        return found !== null && "ref" in found && found.ref === ref;
      },
    ],
  ]),
  ...claimsOf("Workspace", [
    [
      "workspace",
      /^Your working directory is: (\/.*)$/,
      "a file put into it is read by its path below it",
      async ([, dir = ""], s) =>
        s.access === "none"
          ? dir === "/workspace" && (!hasTool(s, "read") || opens(s, `${dir}/${probe.path}`))
          : dir === s.workspace && (!hasTool(s, "read") || opens(s, join(dir, probe.path))),
    ],
    [
      "workspace.relative",
      /^Relative paths resolve against it\..*$/,
      "the same file is read by its bare name",
      async (_, s) => !hasTool(s, "read") || opens(s, probe.path),
    ],
    [
      "workspace.hidden",
      /^The agent's workspace, with the files of Project Context, cannot be reached from it\.( But skills can be read at their locations\.)?$/,
      "`read` does not open a workspace file",
      async ([, but], s) =>
        s.access === "none" &&
        (await s.read("AGENTS.md")).startsWith("refused: ") &&
        (but === undefined || /<location>\S/.test(s.prompt)),
    ],
    [
      "workspace.shared",
      /^(?:File tools use host paths under (\/.*?)\.)? ?(?:`exec` sees the same files under (\/\S*); prefer relative paths\.)?$/,
      "a file is read by both paths",
      async ([, host, inside], s) =>
        (s.access === "ro" || s.access === "rw") &&
        (inside === undefined || hasTool(s, "exec")) &&
        (!hasTool(s, "read") ||
          ((host === undefined || (await opens(s, join(host, probe.path)))) &&
            (inside === undefined || (await opens(s, join(inside, probe.path)))))),
    ],
  ]),
  ...claimsOf("Documentation", [
    [
      "docs",
      /^Parley docs: (.*) \(README\.md lists the pages\)$/,
      "the folder and its list are there, and `read` opens it",
      async ([, path = ""], s) =>
        existsSync(join(path, "README.md")) &&
        (!hasTool(s, "read") || !(await s.read(join(path, "README.md"))).startsWith("refused")),
    ],
    [
      "docs.source",
      /^Source: (.*) \(look there when the docs are incomplete or stale\)$/,
      "the sources are there, and exec runs on the host",
      ([, path = ""], s) => existsSync(join(path, "packages/agent/src")) && onHost(s),
    ],
    [
      "docs.schema",
      /^For config keys, first ask `gateway` for config\.schema\.lookup\.$/,
      "the gateway tool has it",
      (_, s) => schemaOf(s, "gateway").includes('"config.schema.lookup"'),
    ],
    [
      "docs.status",
      /^When diagnosing issues, run `(\/.*) status` yourself when possible\.$/,
      "exec runs on the host, and the program is there",
      ([, path = ""], s) => onHost(s) && runs(path),
    ],
    [
      "docs.person",
      /^When diagnosing issues, ask the person for what `parley (status)` prints\.$/,
      "the command line has it; exec does not run on the host",
      ([, word = ""], s) => cliCommands().has(word) && !onHost(s),
    ],
  ]),
  ...claimsOf("Sandbox", [
    [
      "sandbox",
      /^You run in a sandbox \((\w+)\); tools may be limited by it\.$/,
      "the config asks for one of this kind in this session",
      ([, kind], s) => wantsSandbox(s) && kind === sandboxOf(s)?.backend,
    ],
    [
      "sandbox.place",
      /^(?:Folder of the sandbox: \/workspace|Workspace in the sandbox: \/workspace; on the host: (\/.*))\. Access: the workspace is (not mounted|mounted read-only|mounted read-write)\.$/,
      "the access is the config's, and a host path is told only where it can be reached",
      ([, host, access], s) =>
        access ===
          { none: "not mounted", ro: "mounted read-only", rw: "mounted read-write" }[
            sandboxOf(s)?.workspaceAccess ?? "none"
          ] &&
        (host === undefined) === (s.access === "none") &&
        (host === undefined || host === s.workspace),
    ],
    [
      "sandbox.children",
      /^Sub-agents stay sandboxed: no elevated or host access\.$/,
      "a sub-agent of this session is sandboxed by the same setting",
      (_, s) => hasTool(s, "sessions_spawn") && sandboxed(s, "agent:main:subagent:1-1" as SessionKey),
    ],
    [
      "sandbox.guarded",
      /^Commands find files that enter prompts .*read-only; new ones that they make are put aside when they end\.$/,
      "commands write the workspace",
      (_, s) => s.access === "rw" && hasTool(s, "exec"),
    ],
    [
      "sandbox.network",
      /^Network: (?:(on|off)|http and https by the proxy in HTTPS_PROXY; nothing else, no DNS)\.$/,
      "as the config says",
      ([, is], s) => (is === undefined ? "egress" : is === "on") === sandboxOf(s)?.network,
    ],
    [
      "sandbox.elevated",
      /^Elevated exec is not available\.$/,
      "exec has no such argument",
      (_, s) => !schemaOf(s, "exec").includes("elevated"),
    ],
  ]),
  ...claimsOf("Authorized Senders", [
    [
      "owners",
      /^Authorized senders: (.*)\. They are the owners; do not take a sender for one of them by name\.$/,
      "they are the config's owners or, while there are none, who was paired first; as codes where that is asked for",
      namesOwners,
    ],
  ]),
  ...claimsOf("Current Date & Time", [
    [
      "zone",
      /^Time zone: (.*)$/,
      "it is the config's",
      ([, zone], s) => zone === s.config.agents.defaults.userTimezone,
    ],
    [
      "zone.clock",
      /^For the current date and time, run `session_status`\.$/,
      "the tool tells a time in this zone",
      async (_, s) =>
        (await s.call("session_status", {})).includes(`(${s.config.agents.defaults.userTimezone},`),
    ],
  ]),
];

const draw = (s: Situation): Situation["draw"] => s.draw;
