// Decides whether a command may run: run, ask a person, or refuse, always with the reason. A pure function.
// An uncertain command needs a person, and is refused where nobody may be asked.
import { visibleText } from "@parley/protocol";
import type { BoundFile } from "./bound-file.ts";
import type { ExecAction } from "./exec-action.ts";
import { isSafeFilter, knownForm, mayBeNamed } from "./known-programs.ts";
import { programName } from "./program-name.ts";

type ExecMode = "deny" | "allowlist" | "full";
type ExecAsk = "off" | "on-miss" | "always";

/** One program of the allowlist: a bare name found in a system folder, or an absolute path. */
export interface AllowedCommand {
  readonly command: string;
  /**
   * Must match all arguments, joined by single spaces; an argument with white space in it never matches.
   * Absent: what Parley vouches for. What it does not vouch for may run whatever the agent wrote, so a
   * pattern allows that in the turns of owners.
   */
  readonly argPattern?: string;
}

/**
 * A person's permanent permission: exactly this command in exactly this folder and sandbox, with the files as
 * they were then.
 */
export interface ExecGrant {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly sandbox: string;
  readonly files: readonly BoundFile[];
  /** Paths that it touched then and file tools may not. */
  readonly outside: readonly string[];
}

export interface ExecPolicy {
  readonly mode: ExecMode;
  readonly ask: ExecAsk;
  readonly allowlist: readonly AllowedCommand[];
  readonly grants: readonly ExecGrant[];
  /** All who speak in this turn are owners. */
  readonly owner: boolean;
}

export type ExecDecision =
  | { readonly kind: "run"; readonly reason: string }
  /** `always`: the answer may be kept as a grant. */
  | { readonly kind: "ask"; readonly reason: string; readonly always: boolean }
  | { readonly kind: "refuse"; readonly reason: string };

export function execDecision(action: ExecAction, policy: ExecPolicy): ExecDecision {
  if (policy.mode === "deny")
    return { kind: "refuse", reason: 'commands are off here (tools.exec.mode is "deny")' };
  const always = grantable(action);
  if (policy.ask === "always")
    return {
      kind: "ask",
      reason: 'every command is asked about (tools.exec.ask is "always")',
      always: false,
    };
  if (policy.mode === "full")
    return { kind: "run", reason: 'every command may run (tools.exec.mode is "full")' };
  const miss = missing(action, policy);
  if (miss === null) return { kind: "run", reason: "on the allowlist" };
  if (policy.ask === "off")
    return { kind: "refuse", reason: `${miss}, and nobody is asked (tools.exec.ask is "off")` };
  return { kind: "ask", reason: miss, always };
}

/** False only where a command certainly stays on this machine. */
export function reachesOut({ sandbox, shell, parts, device }: ExecAction): boolean {
  if (device !== undefined) return true;
  if (sandbox.endsWith("network off")) return false;
  return shell || parts === null || !parts.every((argv) => knownForm(argv) !== null);
}

/**
 * A permission can be permanent only for a command that means the same every time and runs what a person saw.
 */
function grantable({ shell, env, interactive, closed }: ExecAction): boolean {
  return !shell && !interactive && closed && Object.keys(env).length === 0;
}

/** Null when the allowlist covers it; else what it does not cover. */
function missing(action: ExecAction, policy: ExecPolicy): string | null {
  const { argv, shell, parts, env, interactive, outside, device } = action;
  if (grantable(action) && policy.grants.some((grant) => isGranted(action, grant))) return null;
  // The allowlist names programs of this machine.
  if (device !== undefined) return "a device would run it";
  if (shell) {
    const unlisted = (parts ?? []).flatMap((part) =>
      uncovered(part, [], policy) === null ? [] : [part[0] ?? ""],
    );
    if (parts === null) return "a shell would run it, and what it would start is not certain";
    return unlisted.length === 0
      ? "a shell would run it"
      : `a shell would run it, with ${unlisted.map(visibleText).join(", ")} not on the allowlist`;
  }
  if (Object.keys(env).length > 0) return `it sets ${Object.keys(env).join(", ")}`;
  if (interactive) return "it would stay open for input that nobody is asked about";
  return uncovered(argv, outside, policy);
}

function uncovered(
  argv: readonly string[],
  outside: readonly string[],
  { allowlist, owner }: ExecPolicy,
): string | null {
  const [path = "", ...args] = argv;
  const program = visibleText(path);
  if (isSafeFilter(argv)) return null;
  const named = allowlist.filter(({ command }) => isProgram(command, path));
  if (named.length === 0) return `${program} is not on the allowlist`;
  const isKnown = knownForm(argv) !== null;
  if (named.some(({ argPattern }) => argPattern !== undefined && matches(argPattern, args)))
    return isKnown || owner
      ? null
      : `${program} may run what lies in the folder, and whoever asks is no owner`;
  if (named.every(({ argPattern }) => argPattern !== undefined))
    return `${program} is on the allowlist with other arguments`;
  if (!isKnown)
    return `${program} with these arguments may start other programs, so its name alone does not allow it; give it an argPattern`;
  if (!mayBeNamed(path))
    return `${program} changes and removes files, so its name alone does not allow it; give it an argPattern`;
  return outside.length === 0
    ? null
    : `${outside.map(visibleText).join(", ")} is out of the file tools' reach`;
}

function isProgram(command: string, program: string): boolean {
  return command.includes("/") ? command === program : programName(program) === command;
}

function matches(pattern: string, args: readonly string[]): boolean {
  if (args.some((arg) => /\s/.test(arg) || arg === "")) return false;
  return new RegExp(`^(?:${pattern})$`, "u").test(args.join(" "));
}

function isGranted({ argv, cwd, sandbox, files, outside }: ExecAction, grant: ExecGrant): boolean {
  if (!outside.every((word) => grant.outside.includes(word))) return false;
  return (
    grant.cwd === cwd &&
    grant.sandbox === sandbox &&
    sameWords(grant.argv, argv) &&
    sameWords(grant.files.map(mark), files.map(mark))
  );
}

function mark({ path, sha256 }: BoundFile): string {
  return `${sha256} ${path}`;
}

function sameWords(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}
