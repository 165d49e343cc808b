// Keeps git on this machine from starting what a repository names. A repository is a folder that an agent may
// have made, and its configuration can name a program for nearly everything. Known harmless settings are
// kept; every other one is overridden with an empty value.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Fault, isFault } from "@parley/protocol";
import type { CommandEnv } from "./environment.ts";
import { gitForm } from "./git-form.ts";
import { withSettings } from "./git-settings.ts";
import { programName } from "./program-name.ts";

/**
 * Settings of git-config(1) whose values are no programs and lead to none, in lower case as git lists them.
 */
const harmless = [
  /^(?:advice|author|branch|color|column|committer|feature|index|pack|pull|push|rerere|safe|tag|url|user)\./,
  /^extensions\./,
  /^gc\.(?:auto|autodetach|autopacklimit|bigpackthreshold|packrefs|pruneexpire|worktreepruneexpire|writecommitgraph|aggressive(?:depth|window))$/,
  /^(?:lfs\.(?:repositoryformatversion|.*\.(?:access|locksverify))|maintenance\.(?:auto|autodetach|strategy))$/,
  /^(?:include|includeif\..*)\.path$/,
  /^remote\..*\.(?:url|pushurl|fetch|push|prune|prunetags|tagopt|mirror|skipdefaultupdate|skipfetchall|gh-resolved)$/,
  /^submodule\..*\.(?:url|path|active|branch|ignore|shallow)$/,
  /^core\.(?:abbrev|autocrlf|bare|bigfilethreshold|checkstat|commentchar|compression|deltabasecachelimit|eol|filemode|filesreflocktimeout)$/,
  /^core\.(?:ignorecase|ignorestat|logallrefupdates|loosecompression|multipackindex|packedgitlimit|packedgitwindowsize|precomposeunicode)$/,
  /^core\.(?:preloadindex|protecthfs|protectntfs|quotepath|repositoryformatversion|safecrlf|sparsecheckout|sparsecheckoutcone|splitindex)$/,
  /^core\.(?:symlinks|trustctime|untrackedcache|warnambiguousrefs|whitespace|commitgraph|longpaths|fscache|worktree)$/,
  /^init\.defaultbranch$/,
  /^(?:commit\.gpgsign|commit\.verbose|commit\.status|fetch\.(?:prune|prunetags|parallel)|http\.postbuffer|http\.sslverify|blame\.date)$/,
  /^(?:diff\.(?:algorithm|colormoved|context|mnemonicprefix|noprefix|renames|renamelimit|interhunkcontext|indentheuristic)|grep\.linenumber)$/,
  /^(?:log\.(?:date|decorate|abbrevcommit|follow)|merge\.(?:ff|conflictstyle|renames|stat|log|autostash)|rebase\.(?:autosquash|autostash|stat))$/,
  /^(?:status\.(?:short|branch|showuntrackedfiles|relativepaths|showstash)|stash\.showpatch)$/,
];
/** Harmless values for settings that must not be empty. */
const neutral: { readonly [name: string]: string } = {
  "log.diffmerges": "separate",
  "core.sshcommand": "ssh",
};

const mostBytes = 1024 * 1024;
/** No repository needs more settings than these, and all of them must fit into the environment. */
const mostOverridden = 1_000;

export interface Guarded {
  readonly argv: readonly string[];
  readonly env: CommandEnv;
}

/**
 * `env`: the command's environment so far. Throws Fault when the settings cannot be read. Leaves commands
 * other than git unchanged.
 */
export async function guardGit(argv: readonly string[], cwd: string, env: CommandEnv): Promise<Guarded> {
  const [program = "", ...args] = argv;
  if (programName(program) !== "git") return { argv, env };
  const known = gitForm(args);
  const set = await settingsOf(program, known?.global ?? folderOf(args), cwd, env);
  // What only looks needs nobody's settings; what was approved or runs in full mode keeps those of the
  // machine and its user.
  const overridden = set.filter(
    ({ scope, name }) => (known !== null || scope === "local" || scope === "worktree") && !isHarmless(name),
  );
  if (overridden.length > mostOverridden)
    throw new Fault(
      "invalid",
      `git's configuration here has ${overridden.length} settings that may name programs; it is not run`,
    );
  const guarded = withSettings(
    env,
    overridden.map(({ name }) => [name, neutral[name] ?? ""]),
  );
  return known === null
    ? { argv, env: guarded }
    : { argv: [program, ...known.args], env: { ...guarded, ...onlyLooks } };
}

/** Nothing is fetched that a partial clone lacks, and the index is not written. */
const onlyLooks = {
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_TERMINAL_PROMPT: "0",
};

function isHarmless(name: string): boolean {
  return harmless.some((form) => form.test(name));
}

/** Returns the folder that unknown arguments send git to first, as people write it. */
function folderOf([first, folder]: readonly string[]): readonly string[] {
  return first === "-C" && folder !== undefined ? [first, folder] : [];
}

interface Setting {
  readonly scope: string;
  readonly name: string;
}

async function settingsOf(
  program: string,
  global: readonly string[],
  cwd: string,
  env: CommandEnv,
): Promise<readonly Setting[]> {
  const args = [...global, "config", "--list", "--show-scope", "--name-only", "-z"];
  try {
    const { stdout } = await promisify(execFile)(program, args, {
      cwd,
      env,
      maxBuffer: mostBytes,
      encoding: "utf8",
    });
    const words = stdout.split("\0");
    return words.flatMap((name, index) => (index % 2 === 1 ? [{ scope: words[index - 1] ?? "", name }] : []));
  } catch (cause) {
    if (isFault(cause)) throw cause;
    const told =
      cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim().split("\n")[0] : "";
    throw new Fault(
      "unavailable",
      `git cannot tell its settings here, so it is not run${told === "" ? "" : `: ${told}`}`,
      { cause },
    );
  }
}
