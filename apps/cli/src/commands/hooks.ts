// `parley hooks list|info|check|enable|disable`: which code of the operator's own hears what happens, whether
// it can run, and what became of its calls.
import type { MethodResult } from "@parley/protocol";
import { document, line, styled, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { requirementLines, type Styling } from "../requirement-lines.ts";
import { withState } from "../with-gateway.ts";

type List = MethodResult<"hooks.list">;
type Info = MethodResult<"hooks.info">;
type Shown = List["hooks"][number];

const descriptionChars = 90;

export async function hooksList(
  terminal: Console,
  { eligible = false, verbose = false }: { readonly eligible?: boolean; readonly verbose?: boolean },
): Promise<ExitCode> {
  const all = await list(terminal);
  const found = eligible ? { ...all, hooks: all.hooks.filter((hook) => hook.eligible) } : all;
  if (terminal.json) document(terminal.out, found);
  else for (const text of listLines(found, verbose, styling(terminal))) line(terminal.out, text);
  return exitCodes.ok;
}

/** Exit 1 when a file is refused, or a hook that is on cannot run. */
export async function hooksCheck(terminal: Console): Promise<ExitCode> {
  const found = await list(terminal);
  const { hooks, rejected, shadowed } = found;
  const stuck = hooks.filter(({ status }) => status === "unmet" || status === "changed");
  const isFine = rejected.length === 0 && stuck.length === 0;
  if (terminal.json) {
    const ready = hooks.filter(({ status }) => status === "ready").map(({ name }) => name);
    const waiting = hooks
      .filter(({ status }) => status !== "ready")
      .map(({ name, status, reason }) => ({ name, status, reason }));
    const failing = hooks.filter(hasFailed).map(({ name, counts }) => ({ name, ...counts }));
    document(terminal.out, {
      ok: isFine,
      total: hooks.length,
      ready,
      waiting,
      failing,
      shadowed,
      rejected,
    });
  } else for (const text of checkLines(found, styling(terminal))) line(terminal.out, text);
  return isFine ? exitCodes.ok : exitCodes.failed;
}

export async function hooksShow(terminal: Console, name: string): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("hooks.info", { name }));
  if (terminal.json) document(terminal.out, found);
  else for (const text of infoLines(found, styling(terminal))) line(terminal.out, text);
  return exitCodes.ok;
}

export async function hooksSwitch(terminal: Console, name: string, on: boolean): Promise<ExitCode> {
  const { done, now } = await withState(terminal, async (client) => {
    const written = await client.request(on ? "hooks.enable" : "hooks.disable", { name });
    return { done: written, now: await client.request("hooks.info", { name }).catch(() => null) };
  });
  if (terminal.json) {
    document(terminal.out, { name: now?.name ?? name, enabled: on, status: now?.status ?? null, ...done });
    return exitCodes.ok;
  }
  const shown = now?.name ?? name;
  line(
    terminal.out,
    done.changed.length === 0
      ? `${shown} is ${on ? "on" : "off"} already.`
      : `${on ? "Enabled" : "Disabled"} ${shown} in ${done.path}.`,
  );
  if (on && now !== null && now.status === "unmet")
    line(terminal.out, styling(terminal)("yellow", `It cannot run yet: ${now.reason ?? ""}`));
  for (const { message, fix } of [...done.warnings, ...(done.problems ?? [])])
    line(terminal.out, styling(terminal)("yellow", fix === undefined ? message : `${message}. ${fix}`));
  return exitCodes.ok;
}

function styling(terminal: Console): Styling {
  return (style, text) => styled(terminal.out, terminal.env, style, text);
}

function list(terminal: Console): Promise<List> {
  return withState(terminal, (client) => client.request("hooks.list", {}));
}

function hasFailed({ counts }: Shown): boolean {
  return counts !== null && counts.failed + counts.timedOut + counts.dropped > 0;
}

function listLines({ enabled, hooks, shadowed, rejected }: List, verbose: boolean, style: Styling): string[] {
  if (hooks.length === 0 && rejected.length === 0) return ["There are no hooks."];
  const width = Math.max(0, ...hooks.map(({ name }) => name.length));
  return [
    ...(enabled ? [] : [style("yellow", "No hook runs: hooks.internal.enabled is false")]),
    ...hooks.flatMap((hook) => [
      `${mark(hook, style)}  ${hook.name.padEnd(width)}  ${hook.source.padEnd(9)}  ${ending(hook, style)}`,
      ...(verbose
        ? [
            style("dim", `${" ".repeat(10)}hears ${hook.events.join(", ")}`),
            ...countsLine(hook).map((text) => style("dim", `${" ".repeat(10)}${text}`)),
          ]
        : []),
    ]),
    ...shadowed.map(({ name, source, by }) => style("dim", `shadowed  ${name}  ${source}  by ${by}`)),
    ...refusals(rejected, style),
  ];
}

function checkLines({ enabled, hooks, shadowed, rejected }: List, style: Styling): string[] {
  const ready = hooks.filter(({ status }) => status === "ready");
  return [
    ...(enabled ? [] : [style("yellow", "No hook runs: hooks.internal.enabled is false")]),
    `${ready.length} of ${hooks.length} ready${ready.length === 0 ? "" : `: ${ready.map(({ name }) => name).join(", ")}`}`,
    ...hooks
      .filter(({ status }) => status !== "ready")
      .map((hook) => `${mark(hook, style)}  ${hook.name}  ${hook.reason ?? ""}`),
    ...hooks
      .filter(hasFailed)
      .flatMap((hook) =>
        countsLine(hook).map((text) => `${style("red", "trouble")}   ${hook.name}  ${text}`),
      ),
    ...hooks.flatMap(({ name, notes }) =>
      notes.map((note) => `${style("yellow", "note")}      ${name}  ${note}`),
    ),
    ...shadowed.map(
      ({ name, source, file, by }) =>
        `shadowed  ${name}  the ${source} one in ${file} is not used, but ${by}`,
    ),
    ...refusals(rejected, style),
  ];
}

function infoLines(found: Info, style: Styling): string[] {
  const { emoji, name, reason, description, file, source, handler, agent, events, homepage } = found;
  return [
    `${emoji === null ? "" : `${emoji} `}${style("bold", name)}  ${mark(found, style, 0)}${reason === null ? "" : `  ${reason}`}`,
    ...(description === "" ? [] : [description]),
    `File      ${file}  (${source})`,
    ...(handler === null || handler === file ? [] : [`Module    ${handler}  ${found.export}`]),
    ...(agent === null ? [] : [`Agent     ${agent}, whose events alone it hears`]),
    `Hears     ${events.join(", ")}`,
    ...(homepage === null ? [] : [`Home      ${homepage}`]),
    ...requirementLines(found, style),
    ...countsLine(found).map((text) => `Calls     ${text}`),
    ...found.notes.map((note) => `Note      ${note}`),
  ];
}

function countsLine({ counts }: Shown): string[] {
  if (counts === null || counts.lastAtMs === null) return [];
  const { runs, failed, timedOut, dropped, lastAtMs, lastError } = counts;
  const parts = [
    `${runs} since the start`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(timedOut === 0 ? [] : [`${timedOut} took too long`]),
    ...(dropped === 0 ? [] : [`${dropped} not begun`]),
    `last ${new Date(lastAtMs).toISOString()}`,
    ...(lastError === null ? [] : [`last trouble: ${lastError}`]),
  ];
  return [parts.join(", ")];
}

function refusals(rejected: List["rejected"], style: Styling): string[] {
  return rejected.map(({ file, reason }) => `${style("red", "refused")}   ${file}  ${reason}`);
}

function mark({ status }: Shown, style: Styling, width = 8): string {
  const word = { ready: "ready", disabled: "off", unmet: "lacking", changed: "changed" }[status];
  return style(status === "ready" ? "green" : status === "disabled" ? "dim" : "yellow", word.padEnd(width));
}

function ending({ status, reason, description }: Shown, style: Styling): string {
  if (status !== "ready") return style("dim", reason ?? "");
  return description.length <= descriptionChars
    ? description
    : `${description.slice(0, descriptionChars - 1).toWellFormed()}…`;
}
