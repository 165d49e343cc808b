// Reads off what Parley vouches for by trying every letter, every long name that any program has, and so
// many operands: one line a program.
import { gitForm } from "../src/exec/git-form.ts";
import { isSafeFilter, knownForm, mayBeNamed } from "../src/exec/known-programs.ts";

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".split("");
/** Each opens a list, starts a program, writes, follows links or waits for ever somewhere. */
const dangers =
  "files0-from follow compress-program output output-file pre hostname-bin set file exec magic-file dereference paginate to-command ext-diff " +
  "textconv no-index open-files-in-pager recurse-submodules contents ignore-revs-file exclude-from stdin batch show-signature remerge-diff " +
  "upload-pack target-directory temporary-directory from-file search-zip reference edit-description set-upstream-to";

const argvOf = (program: string, args: readonly string[]): readonly string[] => {
  const [name = "", ...before] = program.split(" ");
  return [`/usr/bin/${name}`, ...before, ...args];
};
const vouches = (program: string, ...args: readonly string[]): boolean =>
  knownForm(argvOf(program, args)) !== null;

/** As a grammar writes it: `f` alone, `f#` with a number, `f:` with a text, `f?` with an attached text. */
function letterOf(program: string, letter: string): string {
  const hasText = vouches(program, `-${letter}=x`);
  if (vouches(program, `-${letter}`)) return hasText ? `${letter}?` : letter;
  if (hasText) return `${letter}:`;
  return vouches(program, `-${letter}-7`) ? `${letter}#` : "";
}

function nameOf(program: string, name: string): string {
  const hasText = vouches(program, `--${name}=x`);
  if (vouches(program, `--${name}`)) return hasText ? `${name}[=]` : name;
  if (hasText) return `${name}=`;
  return vouches(program, `--${name}=7`) ? `${name}=#` : "";
}

/**
 * What is touched with none to four operands: `2r` reads two, `1w` writes one, `f` only files, `s` is a safe
 * filter, `-` nobody vouches for.
 */
function touched(
  program: string,
  operand: string,
  options: readonly string[] = [],
  counts: readonly number[] = [0, 1, 2, 3, 4],
): string {
  return counts
    .map((count) => {
      const argv = argvOf(program, [
        ...options,
        ...Array.from({ length: count }, (_, nth) => `${operand}${nth}`),
      ]);
      const form = knownForm(argv);
      if (form === null) return "-";
      const { reads, writes, filesOnly = false } = form;
      const marks = `${filesOnly ? "f" : ""}${isSafeFilter(argv) ? "s" : ""}`;
      return `${writes.length > 0 ? `${writes.length}w` : `${reads.length}r`}${marks}`;
    })
    .join(",");
}

/** Options that change what the operands are. */
function changing(program: string, options: readonly string[]): string[] {
  const plain = touched(program, "+", [], [4]);
  return options.flatMap((option) =>
    touched(program, "+", [option], [4]) === plain ? [] : [`${option}>${touched(program, "+", [option])}`],
  );
}

/** `names`: what might be one of its long names. */
export function tableLine(program: string, names: readonly string[]): string {
  if (program.startsWith("find ")) return findLine(program, names);
  if (vouches(program, "--no-such-option", "-?")) return `${program} | every word is text`;
  const short = letters.map((letter) => letterOf(program, letter)).filter((each) => each !== "");
  const all = [...new Set([...names, ...dangers.split(" ")])].toSorted();
  const long = all.map((name) => nameOf(program, name)).filter((each) => each !== "");
  const given = [
    ...short.map((each) => `-${each.charAt(0)}${/[:#]$/.test(each) ? "7" : ""}`),
    ...long.map((each) => `--${each.replace("[=]", "").replace(/=#?$/, "=7")}`),
  ];
  const added = program.startsWith("git ")
    ? (gitForm(program.split(" ").slice(1))?.args ?? []).slice(program.split(" ").length - 1)
    : [];
  return [
    program,
    short.join(" "),
    long.join(" "),
    [
      vouches(program, "-5") && !short.includes("5") ? "digits" : "",
      mayBeNamed(`/usr/bin/${program.split(" ")[0] ?? ""}`) ? "" : "never by name",
      ...added,
    ]
      .filter((each) => each !== "")
      .join(" "),
    `+: ${touched(program, "+")} --: ${touched(program, "-", ["--"])} a: ${touched(program, "a")}`,
    changing(program, given).join(" "),
  ].join(" | ");
}

/** `find alone`, `find text` and `find path`: its words that stand alone, take a text, or a path. */
function findLine(program: string, names: readonly string[]): string {
  const lineOf = (word: string): string => {
    if (vouches("find", ".", word)) return "find alone";
    const form = knownForm(argvOf("find", [".", word, "x"]));
    return form === null ? "" : form.reads.length === 1 ? "find text" : "find path";
  };
  return `${program} | ${names.filter((name) => lineOf(name) === program).join(" ")}`;
}

/** All long names of the lines about the same kind of program: commands of git, words of find, or others. */
export function namesBeside(program: string, lines: readonly string[]): string[] {
  const kind = kindOf(program);
  const beside = lines.filter((line) => kindOf(line) === kind);
  return [
    ...new Set(
      beside.flatMap((line) =>
        (line.split(" | ")[kind === "find" ? 1 : 2] ?? "")
          .split(" ")
          .map((word) => (kind === "find" ? word : word.replace(/(?:=#?|\[=\])$/, "")))
          .filter((word) => word !== ""),
      ),
    ),
  ];
}

function kindOf(program: string): "find" | "git" | "other" {
  const name = program.slice(0, program.indexOf(" "));
  return name === "find" || name === "git" ? name : "other";
}
