// Defines the canonical form of an exec call. The text for people, the approval's hash and the command itself
// all derive from this value, and it contains everything that changes the effect.
import { createHash } from "node:crypto";
import { visibleText, type Json } from "@parley/protocol";
import type { BoundFile } from "./bound-file.ts";

export interface ExecAction {
  readonly kind: "exec";
  /**
   * What is run, the program first: an absolute path where it was found on this machine, the name as given
   * inside a container.
   */
  readonly argv: readonly string[];
  /** A shell reads it: argv is then ["/bin/sh", "-c", text]. */
  readonly shell: boolean;
  /**
   * The commands in it: argv alone, or what stands between a shell's operators; null where that is not
   * certain.
   */
  readonly parts: readonly (readonly string[])[] | null;
  /** Absolute, links resolved. */
  readonly cwd: string;
  /** Variables that the model adds. */
  readonly env: { readonly [name: string]: string };
  /** `none`, or the sandbox with what it allows: the same command in another sandbox is another action. */
  readonly sandbox: string;
  /** It accepts input later, for which nobody asks a person again. */
  readonly interactive: boolean;
  /** The workspace's files that it would run, by path, as they are now. */
  readonly files: readonly BoundFile[];
  /** It runs no file of the workspace but these, as far as its words and those of its scripts tell. */
  readonly closed: boolean;
  /** Words that name something which the file tools would not let it read or write. */
  readonly outside: readonly string[];
  /** The paired device that would run it, by name and id; absent: this machine. */
  readonly device?: string;
}

/** What a device would run: words alone, of which nobody here knows what they start there. */
export function deviceAction(device: string, argv: readonly string[]): ExecAction {
  const place = `device ${device}`;
  const there = { cwd: place, sandbox: place, device };
  const nothing = { env: {}, files: [], outside: [] };
  return {
    kind: "exec",
    argv,
    shell: false,
    parts: [argv],
    interactive: false,
    closed: true,
    ...there,
    ...nothing,
  };
}

/** Hex sha256 over every field that decides what runs, in a fixed order. */
export function actionHash(action: ExecAction): string {
  const { kind, argv, shell, cwd, sandbox, interactive, closed, outside } = action;
  const files = action.files.map(({ path, sha256 }) => [path, sha256]);
  const env = Object.entries(action.env).toSorted(byName);
  const canonical: Json = [kind, argv, shell, cwd, sandbox, interactive, env, files, closed, outside];
  return createHash("sha256").update(JSON.stringify(canonical)).digest("hex");
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}

/** Enough to compare by eye; the whole is hashed. */
const shownDigits = 16;

/**
 * Prints the whole action for a person, never cut: whoever shows it sends more messages, a file, or nothing.
 */
export function describeAction({
  argv,
  shell,
  cwd,
  env,
  sandbox,
  interactive,
  files,
  closed,
  outside,
  device,
}: ExecAction): string {
  if (device !== undefined)
    return [`run: ${argv.map(quoted).join(" ")}`, `on the device: ${visibleText(device)}`].join("\n");
  return [
    shell ? `shell: ${visibleText(argv[2] ?? "")}` : `run: ${argv.map(quoted).join(" ")}`,
    `in: ${visibleText(cwd)}`,
    ...Object.entries(env).map(([name, value]) => `with: ${name}=${quoted(value)}`),
    `sandbox: ${sandbox}`,
    ...(interactive ? ["it stays open for input that nobody is asked about"] : []),
    ...(outside.length === 0 ? [] : [`out of the file tools' reach: ${outside.map(quoted).join(" ")}`]),
    ...files.map(
      ({ path, sha256 }) =>
        `file: ${visibleText(path)} as it is now (sha256 ${sha256.slice(0, shownDigits)})`,
    ),
    ...(closed
      ? []
      : [
          files.length === 0
            ? "files: it may run files that are not named here"
            : "other files: it may run some that are not named here",
        ]),
  ].join("\n");
}

function quoted(word: string): string {
  const shown = visibleText(word);
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
