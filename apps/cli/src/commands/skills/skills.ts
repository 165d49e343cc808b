// `parley skills list|check|info|install`: which skills an agent has, which of them it can use, and putting
// one in.
import { resolve } from "node:path";
import type { MethodResult } from "@parley/protocol";
import { document, line, styled, type Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";
import { requirementLines, type Styling } from "../../requirement-lines.ts";
import { withState } from "../../with-gateway.ts";

type List = MethodResult<"skills.list">;
type Info = MethodResult<"skills.info">;
type Shown = List["skills"][number];

const descriptionChars = 90;

export async function skillsList(terminal: Console, agent: string | undefined): Promise<ExitCode> {
  const found = await list(terminal, agent);
  if (terminal.json) document(terminal.out, found);
  else for (const text of listLines(found, styling(terminal))) line(terminal.out, text);
  return exitCodes.ok;
}

/**
 * Exit 1 when a file is refused: somebody meant it to be a skill. What only lacks something is no failure.
 */
export async function skillsCheck(terminal: Console, agent: string | undefined): Promise<ExitCode> {
  const found = await list(terminal, agent);
  if (terminal.json) {
    const ready = found.skills.filter(({ status }) => status === "ready").map(({ name }) => name);
    const waiting = found.skills
      .filter(({ status }) => status !== "ready")
      .map(({ name, status, reason }) => ({ name, status, reason }));
    const { agent: id, rejected, shadowed, cut } = found;
    document(terminal.out, { ok: rejected.length === 0, agent: id, ready, waiting, shadowed, rejected, cut });
  } else for (const text of checkLines(found, styling(terminal))) line(terminal.out, text);
  return found.rejected.length === 0 ? exitCodes.ok : exitCodes.failed;
}

export async function skillsShow(
  terminal: Console,
  name: string,
  agent: string | undefined,
): Promise<ExitCode> {
  const found = await withState(terminal, (client) =>
    client.request("skills.info", { name, ...(agent === undefined ? {} : { agent }) }),
  );
  if (terminal.json) document(terminal.out, found);
  else for (const text of infoLines(found, styling(terminal))) line(terminal.out, text);
  return exitCodes.ok;
}

export async function skillsInstall(terminal: Console, path: string, force: boolean): Promise<ExitCode> {
  const done = await withState(terminal, (client) =>
    client.request("skills.install", { path: resolve(path), force }),
  );
  if (terminal.json) {
    document(terminal.out, done);
    return exitCodes.ok;
  }
  const style = styling(terminal);
  const count = `${done.files} file${done.files === 1 ? "" : "s"}`;
  line(
    terminal.out,
    `${done.replaced ? "Replaced" : "Installed"} ${done.name} in ${done.folder} (${count}, sha256 ${done.sha256.slice(0, 16)}).`,
  );
  for (const note of done.notes) line(terminal.out, `  ${note}`);
  for (const warning of done.warnings) line(terminal.out, style("yellow", `  look at it: ${warning}`));
  line(terminal.out, "Nothing of it was run. It grants no tool and no approval.");
  return exitCodes.ok;
}

function styling(terminal: Console): Styling {
  return (style, text) => styled(terminal.out, terminal.env, style, text);
}

function list(terminal: Console, agent: string | undefined): Promise<List> {
  return withState(terminal, (client) => client.request("skills.list", agent === undefined ? {} : { agent }));
}

function listLines({ skills, shadowed, rejected, cut }: List, style: Styling): string[] {
  if (skills.length === 0 && rejected.length === 0) return ["There are no skills."];
  const width = Math.max(0, ...skills.map(({ name }) => name.length));
  return [
    ...skills.map(
      (skill) =>
        `${mark(skill, style)}  ${skill.name.padEnd(width)}  ${skill.source.padEnd(9)}  ${ending(skill, style)}`,
    ),
    ...shadowed.map(({ name, source, by }) => style("dim", `shadowed  ${name}  ${source}  by ${by}`)),
    ...refusals(rejected, style),
    ...cut.map((path) => style("yellow", `${path} has more folders than are looked into`)),
  ];
}

function checkLines({ skills, rejected, shadowed, cut }: List, style: Styling): string[] {
  const ready = skills.filter(({ status }) => status === "ready");
  const waiting = skills.filter(({ status }) => status !== "ready");
  return [
    `${ready.length} ready${ready.length === 0 ? "" : `: ${ready.map(({ name }) => name).join(", ")}`}`,
    ...waiting.map((skill) => `${mark(skill, style)}  ${skill.name}  ${skill.reason ?? ""}`),
    ...skills.flatMap(({ name, notes }) =>
      notes.map((note) => `${style("yellow", "note")}      ${name}  ${note}`),
    ),
    ...shadowed.map(
      ({ name, source, file, by }) =>
        `shadowed  ${name}  the ${source} one in ${file} is not used, but ${by}`,
    ),
    ...refusals(rejected, style),
    ...cut.map((path) => style("yellow", `${path} has more folders than are looked into (skills.limits)`)),
  ];
}

function refusals(rejected: List["rejected"], style: Styling): string[] {
  return rejected.map(({ file, reason }) => `${style("red", "refused")}   ${file}  ${reason}`);
}

function mark({ status }: Shown, style: Styling, width = 8): string {
  const word = { ready: "ready", disabled: "off", unmet: "lacking", "not allowed": "not here" }[status];
  return style(status === "ready" ? "green" : status === "unmet" ? "yellow" : "dim", word.padEnd(width));
}

function ending({ status, reason, description }: Shown, style: Styling): string {
  if (status !== "ready") return style("dim", reason ?? "");
  return description.length <= descriptionChars
    ? description
    : `${description.slice(0, descriptionChars - 1).toWellFormed()}…`;
}

function infoLines(found: Info, style: Styling): string[] {
  const ways = [
    ...(found.modelInvocable ? ["the agent chooses it"] : []),
    ...(found.command === null
      ? found.userInvocable
        ? ["people call it by /skill"]
        : []
      : [`people call it by /${found.command}`]),
    ...(found.tool === null ? [] : [`its command runs the tool ${found.tool}`]),
  ];
  return [
    `${style("bold", found.name)}  ${mark(found, style, 0)}${found.reason === null ? "" : `  ${found.reason}`}`,
    found.description,
    `File      ${found.file}  (${found.source})`,
    ...found.shadows.map((file) => `Hides     ${file}`),
    `Use       ${ways.length === 0 ? "nobody can call it" : ways.join("; ")}`,
    ...(found.homepage === null ? [] : [`Home      ${found.homepage}`]),
    ...(found.primaryEnv === null
      ? []
      : [`Key       skills.entries.${found.key}.apiKey is handed over as ${found.primaryEnv}`]),
    ...requirementLines(found, style),
    ...found.notes.map((note) => `Note      ${note}`),
    ...found.warnings.map((warning) => style("yellow", `Look at   ${warning}`)),
  ];
}
