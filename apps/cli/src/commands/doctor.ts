// `parley doctor`: everything that is looked at, what is wrong, and what to do. Works with a broken config
// and a stopped daemon. With --fix it mends what it can (modes, missing folders), deletes nothing, and finds
// the same nothing when it runs again.
import {
  clockTrouble,
  ConfigFault,
  describeProblem,
  loadConfig,
  placesIn,
  type ConfigProblem,
  type LoadedConfig,
} from "@parley/config";
import { systemClock } from "@parley/protocol";
import { localConfigEditor, checkConfig } from "../config-editor.ts";
import { document, line, styled, type Console, type Style } from "../console.ts";
import { fileFindings } from "../doctor/files.ts";
import { error, ok, warn, type Finding } from "../doctor/finding.ts";
import { gatewayFindings } from "../doctor/gateway.ts";
import { hookFindings } from "../doctor/hooks.ts";
import { liveFindings } from "../doctor/live.ts";
import { mcpFindings } from "../doctor/mcp.ts";
import { securityFindings } from "../doctor/security/security.ts";
import { exitCodes, type ExitCode } from "../exit.ts";

export interface DoctorFlags {
  readonly fix?: boolean;
  readonly security?: boolean;
  readonly live?: boolean;
}

type Outcome = Finding & { readonly fixed: boolean };

/** 78 when the config is broken, 1 for any other error, 0 when there is none; warnings do not count. */
export async function doctor(terminal: Console, flags: DoctorFlags): Promise<ExitCode> {
  const places = placesIn(terminal.env);
  const loaded = await configHere(terminal);
  const config = loaded instanceof ConfigFault ? null : loaded.config;
  const findings = [
    ...(await configFindings(terminal, loaded)),
    ...(await fileFindings(places, loaded instanceof ConfigFault ? null : loaded)),
    ...clockFindings(),
    ...(await gatewayFindings(terminal, places, config)),
    ...(config === null ? [] : await mcpFindings(config, terminal.env)),
    ...(config === null ? [] : await hookFindings(terminal, places, config)),
    ...(config !== null && flags.security === true
      ? securityFindings(config, places, (await localConfigEditor(terminal).read()).file)
      : []),
    ...(config !== null && flags.live === true ? await liveFindings(config, terminal.env) : []),
  ];
  const outcomes: Outcome[] = [];
  for (const finding of findings)
    outcomes.push(flags.fix === true ? await mended(finding) : { ...finding, fixed: false });
  tell(terminal, outcomes);
  const open = outcomes.filter(({ level, fixed }) => level === "error" && !fixed);
  if (open.some(({ id }) => id === "config")) return exitCodes.config;
  return open.length > 0 ? exitCodes.failed : exitCodes.ok;
}

function clockFindings(): Finding[] {
  const trouble = clockTrouble(systemClock().now());
  return trouble === null
    ? []
    : [error("clock", trouble, "Set the clock; most machines do it by themselves once the network is there")];
}

async function configHere({ env }: Console): Promise<LoadedConfig | ConfigFault> {
  try {
    return await loadConfig({ env, wouldStart: "change" });
  } catch (fault) {
    if (fault instanceof ConfigFault) return fault;
    throw fault;
  }
}

async function configFindings(terminal: Console, loaded: LoadedConfig | ConfigFault): Promise<Finding[]> {
  const { configPath } = placesIn(terminal.env);
  const shown = ({ fix: _said, ...problem }: ConfigProblem): string => describeProblem(configPath, problem);
  if (loaded instanceof ConfigFault) {
    // The running gateway has an environment of its own: what is missing here may be set there.
    const { problems } = await checkConfig(terminal);
    if (problems.length === 0)
      return [
        warn(
          "config.here",
          "The config is right for the running gateway and not in this environment",
          "Set the same variables here to check the rest",
        ),
      ];
    return problems.map((problem) =>
      error("config", shown(problem), problem.fix ?? "Mend this place of the file"),
    );
  }
  const { config, warnings } = loaded;
  const accounts = Object.keys(config.channels.telegram).length + Object.keys(config.channels.discord).length;
  const model = config.agents.defaults.model.primary;
  return [
    ok("config", `${configPath} is valid`),
    ...warnings.map((each) =>
      warn("config.warning", shown(each), each.fix ?? "Look at this place of the file"),
    ),
    ...(model === "rehearsal/rehearsal"
      ? [warn("model.rehearsal", "No language model is set up: the rehearsal answers", "Run `parley setup`")]
      : [ok("model", `The model is ${model}`)]),
    ...(accounts === 0
      ? [
          warn(
            "channel.none",
            "Neither Telegram nor Discord is set up: only the web chat works",
            "Run `parley setup`",
          ),
        ]
      : []),
  ];
}

async function mended(finding: Finding): Promise<Outcome> {
  if (finding.mend === undefined) return { ...finding, fixed: false };
  try {
    await finding.mend();
    return { ...finding, fixed: true };
  } catch (cause) {
    return {
      ...finding,
      message: `${finding.message}; it could not be mended: ${cause instanceof Error ? cause.message : String(cause)}`,
      fixed: false,
    };
  }
}

const colours: { readonly [level in Finding["level"]]: Style } = {
  ok: "green",
  warn: "yellow",
  error: "red",
};

function tell(terminal: Console, outcomes: readonly Outcome[]): void {
  const { out, env } = terminal;
  const left = (level: Finding["level"]): number =>
    outcomes.filter((each) => each.level === level && !each.fixed).length;
  const fixed = outcomes.filter((each) => each.fixed).length;
  if (terminal.json) {
    const findings = outcomes.map(({ id, level, message, fix, fixed: isFixed, mend }) => ({
      id,
      level,
      message,
      fix,
      fixed: isFixed,
      fixable: mend !== undefined,
    }));
    document(out, {
      ok: left("error") === 0,
      errors: left("error"),
      warnings: left("warn"),
      fixed,
      findings,
    });
    return;
  }
  for (const { level, message, fix, fixed: isFixed, mend } of outcomes) {
    line(
      out,
      `${styled(out, env, isFixed ? "green" : colours[level], (isFixed ? "fixed" : level).padEnd(5))}  ${message}`,
    );
    if (fix !== "" && !isFixed) line(out, `       ${fix}${mend === undefined ? "" : " (--fix does it)"}`);
  }
  const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
  const mended = fixed === 0 ? "" : `, ${fixed} fixed`;
  line(out, `${counted(left("error"), "error")}, ${counted(left("warn"), "warning")}${mended}.`);
}
