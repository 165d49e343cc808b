// Builds the environment of a command: a short list of harmless names from the host, the variables of the
// turn's skills, and the model's additions. It is an allowlist, because nobody can list everything that
// changes the meaning of a command (loaders, start files, pagers).
import { Fault } from "@parley/protocol";
import { withSettings } from "./git-settings.ts";

export interface CommandEnv {
  readonly [name: string]: string;
}

const fromHost = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TMPDIR",
  "XDG_RUNTIME_DIR",
];

/**
 * Names that make a program load or run something else, or lead it to another place. A model may not set
 * them, approved or not.
 */
const refused =
  /^(?:PATH|HOME|SHELL|IFS|ENV|BASH_ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|CDPATH|TMPDIR|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NODE_.*|NPM_CONFIG_.*|PYTHON.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_.*|CLASSPATH|GIT_.*|SSH_.*|DOCKER_.*|.*PAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|MANPAGER|XDG_.*|.*_PROXY|PARLEY_.*)$/i;

const nameForm = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const longestValue = 32_768;

/**
 * git starts what settings name, in the agent's folder too: these never (git-config(1)). A folder that merely
 * looks like a repository counts as none (safe.bareRepository; git 2.38). `guardGit` does the rest for git
 * itself; this reaches what a script calls.
 */
const plainGit: readonly (readonly [string, string])[] = [
  ["safe.bareRepository", "explicit"],
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["core.alternateRefsCommand", ""],
  ["protocol.ext.allow", "never"],
];

/** Throws Fault("denied") or Fault("invalid") for a name or value that a model may not set. */
export function checkedEnv(asked: CommandEnv): CommandEnv {
  for (const [name, value] of Object.entries(asked)) {
    if (!nameForm.test(name)) throw new Fault("invalid", `"${name}" is no name of a variable`);
    if (value.includes("\0") || value.length > longestValue)
      throw new Fault("invalid", `the value of ${name} has a NUL or is too long`);
    if (refused.test(name))
      throw new Fault("denied", `${name} may not be set: it decides what programs load or where they look`);
  }
  return asked;
}

/**
 * `turn`: what the operator's configuration gives this turn (skills); it wins over the host, the model's wins
 * over neither.
 */
export function commandEnv(host: CommandEnv, turn: CommandEnv, asked: CommandEnv): CommandEnv {
  const kept = Object.entries(host).filter(([name]) => fromHost.includes(name) || name.startsWith("LC_"));
  const own = {
    ...checkedEnv(asked),
    ...Object.fromEntries(kept),
    ...turn,
    TERM: "dumb",
    PARLEY_SHELL: "exec",
    GIT_CONFIG_COUNT: "0",
  };
  return withSettings(own, plainGit);
}
