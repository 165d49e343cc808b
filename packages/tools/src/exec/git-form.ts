// Describes git's commands that only look, each with its known options: none starts a hook, a filter, a
// viewer or another git, or writes a file. A command or an option that is not listed here is unknown, also
// one that git would expand from a shortened form.
import { readForm, type Grammar, type KnownForm } from "./known-form.ts";

const any = Number.POSITIVE_INFINITY;

const revisions =
  "all branches[=] tags[=] remotes[=] glob= exclude= not since= after= until= before= author= committer= grep= all-match invert-grep " +
  "regexp-ignore-case extended-regexp fixed-strings perl-regexp basic-regexp max-count= skip= merges no-merges min-parents= max-parents= " +
  "first-parent ancestry-path[=] simplify-by-decoration full-history sparse dense topo-order date-order author-date-order reverse boundary " +
  "left-right left-only right-only cherry-pick cherry-mark cherry reflog walk-reflogs no-walk[=] merge";
const shown =
  "oneline pretty[=] format= abbrev-commit no-abbrev-commit abbrev[=] no-abbrev decorate[=] no-decorate decorate-refs= decorate-refs-exclude= " +
  "graph no-graph date= relative-date parents children source notes[=] no-notes mailmap no-mailmap use-mailmap encoding= clear-decorations " +
  "log-size";
const differences =
  "patch no-patch unified= raw patch-with-raw indent-heuristic no-indent-heuristic minimal patience histogram diff-algorithm= stat[=] " +
  "compact-summary numstat shortstat dirstat[=] cumulative summary patch-with-stat name-only name-status color[=] no-color color-moved[=] " +
  "no-color-moved color-words[=] word-diff[=] word-diff-regex= no-renames rename-empty no-rename-empty check full-index binary find-renames[=] " +
  "find-copies[=] find-copies-harder break-rewrites[=] irreversible-delete diff-filter= pickaxe-all pickaxe-regex relative[=] no-relative text " +
  "ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= inter-hunk-context= " +
  "function-context exit-code quiet no-prefix src-prefix= dst-prefix= line-prefix= default-prefix ita-invisible-in-index no-ext-diff " +
  "no-textconv root follow no-diff-merges cc combined-all-paths skip-to= rotate-to=";
/** Not -O: it opens an order file. */
const differenceLetters = "puszbwaRDWU#M?C?B?X?l#S:G:I:";

/** Options that keep a comparing command from starting programs that a repository names. */
const noPrograms = ["--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--submodule=short"];

interface GitCommand extends Grammar {
  /** Put right after the command. */
  readonly with?: readonly string[];
  /** Words that stand first and name another command. */
  readonly verbs?: { readonly [verb: string]: GitCommand };
}

const log: GitCommand = {
  short: `${differenceLetters}ivEFPmcgn#L:`,
  long: `${revisions} ${shown} ${differences}`,
  digits: true,
  paths: any,
  with: noPrograms,
};
const compare: GitCommand = {
  short: `${differenceLetters}123m0`,
  long: `${differences} cached staged merge-base base ours theirs`,
  paths: any,
  with: noPrograms,
};
const blame: GitCommand = {
  short: "bltfnepswckM?C?L:",
  long:
    "root show-stats show-name show-number show-email porcelain line-porcelain incremental date= abbrev= first-parent since= ignore-rev= " +
    "reverse score-debug color-lines color-by-age minimal progress no-progress",
  paths: any,
  with: ["--no-textconv"],
};
const refs =
  "sort= format= color[=] no-color contains= no-contains= merged[=] no-merged[=] points-at= ignore-case column[=] no-column omit-empty";

const commands: { readonly [command: string]: GitCommand } = {
  annotate: blame,
  blame,
  // A name without --list would be made.
  branch: {
    short: "arvi",
    long: `list all remotes verbose show-current abbrev= no-abbrev ${refs}`,
    text: any,
    textOnlyWith: ["list"],
  },
  "cat-file": { short: "ptse", text: 2 },
  "check-ignore": { short: "qvn", long: "quiet verbose non-matching", paths: any },
  "count-objects": { short: "vH", long: "verbose human-readable" },
  describe: {
    long: "all tags contains abbrev= long always match= exclude= candidates= first-parent exact-match",
    text: any,
  },
  diff: { ...compare, digits: true },
  "diff-files": compare,
  "diff-index": compare,
  "diff-tree": {
    ...log,
    short: `${log.short ?? ""}rt`,
    long: `${log.long ?? ""} no-commit-id merge-base always`,
  },
  "for-each-ref": { long: `count= ${refs}`, text: any },
  // Not -O, --no-index, -f, --recurse-submodules.
  grep: {
    short: "iIawvhHEGFPnlLzcopqWe:A#B#C#m#",
    long:
      "cached untracked exclude-standard no-exclude-standard text ignore-case word-regexp invert-match full-name extended-regexp basic-regexp " +
      "perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match null only-matching count color[=] " +
      "no-color break heading show-function function-context context=# after-context=# before-context=# max-count=# max-depth=# recursive " +
      "no-recursive and or not all-match quiet threads=#",
    text: 1,
    textBy: ["e"],
    paths: any,
    with: ["--no-textconv"],
  },
  log,
  "ls-files": {
    short: "cdmoikstuvfz",
    long:
      "cached deleted modified others ignored stage killed directory no-empty-directory unmerged exclude= exclude-standard error-unmatch " +
      "full-name abbrev[=] eol deduplicate debug",
    paths: any,
  },
  "ls-tree": {
    short: "drtlz",
    long: "name-only name-status object-only long full-name full-tree abbrev[=] format=",
    text: 1,
    paths: any,
  },
  "merge-base": { short: "a", long: "all octopus independent is-ancestor fork-point", text: any },
  "name-rev": { long: "name-only tags refs= exclude= always all", text: any },
  reflog: {
    ...log,
    text: 0,
    paths: 0,
    verbs: { show: log, exists: { text: 1 } },
  },
  // No name: that of another verb would change, or ask the network.
  remote: { short: "v", long: "verbose", verbs: { "get-url": { long: "push all", text: 1 } } },
  "rev-list": { ...log, long: `${log.long ?? ""} count timestamp objects header no-object-names`, with: [] },
  "rev-parse": {
    short: "q",
    long:
      "abbrev-ref[=] all branches[=] tags[=] remotes[=] git-dir absolute-git-dir git-common-dir is-bare-repository is-inside-git-dir " +
      "is-inside-work-tree is-shallow-repository quiet short[=] show-cdup show-prefix show-superproject-working-tree show-toplevel symbolic " +
      "symbolic-full-name verify show-object-format",
    paths: any,
  },
  shortlog: {
    short: "nsecw?",
    long: `${revisions} numbered summary email committer group= format= date=`,
    digits: true,
    paths: any,
  },
  show: log,
  "show-ref": {
    short: "dsq",
    long: "head heads branches tags dereference hash[=] verify quiet abbrev[=]",
    text: any,
  },
  stash: {
    short: "!",
    verbs: {
      list: { ...log, paths: 0 },
      show: { ...compare, text: 1, paths: 0, long: `${differences} include-untracked only-untracked` },
    },
  },
  status: {
    short: "sbzu?",
    long:
      "short branch no-branch show-stash porcelain[=] long untracked-files[=] ignored[=] column[=] no-column ahead-behind " +
      "no-ahead-behind renames no-renames find-renames[=]",
    paths: any,
    with: ["--ignore-submodules=dirty"],
  },
  // Two operands would set it.
  "symbolic-ref": { short: "q", long: "short quiet", text: 1 },
  tag: { short: "ln?i", long: `list ${refs}`, text: any, textOnlyWith: ["list", "l"] },
  version: { long: "build-options" },
  worktree: { short: "!", verbs: { list: { short: "vz", long: "verbose porcelain" } } },
};

export interface GitForm {
  readonly form: KnownForm;
  /** Returns the same command, with options that keep git from starting what the repository names. */
  readonly args: readonly string[];
  /** Those before the command. */
  readonly global: readonly string[];
  /** The folder that git is sent to. */
  readonly folder: string;
}

const globals = new Set([
  "--no-pager",
  "-P",
  "--no-optional-locks",
  "--no-replace-objects",
  "--literal-pathspecs",
  "--glob-pathspecs",
]);

/** Fields of a format, or of an order, that have signatures checked, which starts gpg. */
const signatures = /%[-+ ]?G|%\(\*?signature|^--sort=-?\*?signature/;

/** `args`: without the program. Null for unknown arguments. */
export function gitForm(args: readonly string[]): GitForm | null {
  if (args.some((arg) => signatures.test(arg))) return null;
  const folders: string[] = [];
  let at = 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    const folder = args[at + 1];
    if (arg === "-C" && folder !== undefined && !folder.startsWith("-")) {
      folders.push(folder);
      at += 1;
    } else if (!globals.has(arg)) break;
  }
  const name = args[at] === "--version" ? "version" : (args[at] ?? "");
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) return null;
  const read = readCommand(command, args.slice(at + 1));
  if (read === null) return null;
  // Each is taken from the one before: what they and the paths come to is known of one folder only.
  if (folders.length > 1) return null;
  const within = (path: string): string => (path.startsWith("/") ? path : [...folders, path].join("/"));
  return {
    form: { reads: [...folders, ...read.form.reads.map(within)], writes: [] },
    args: [...args.slice(0, at), name, ...read.args],
    global: args.slice(0, at),
    folder: folders[0] ?? ".",
  };
}

function readCommand(command: GitCommand, args: readonly string[]): Pick<GitForm, "form" | "args"> | null {
  const [verb = "", ...rest] = args;
  const own =
    command.verbs !== undefined && Object.hasOwn(command.verbs, verb) ? command.verbs[verb] : undefined;
  if (own !== undefined) {
    const read = readCommand(own, rest);
    return read === null ? null : { form: read.form, args: [verb, ...read.args] };
  }
  // Of some only a verb is known.
  const form = command.short === "!" ? null : readForm(command, args);
  return form === null ? null : { form, args: [...(command.with ?? []), ...args] };
}
