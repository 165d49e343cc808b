// Describes a mistake in the config so that a person can mend it: its place, the mistake, and the fix.
import { Fault } from "@parley/protocol";

export type ConfigPath = readonly (string | number)[];

export interface ConfigProblem {
  /** `channels.telegram.allowFrom[0]`; empty for the file as a whole. */
  readonly path: string;
  /** From 1; absent when the trouble is not in the file (an environment variable, a default). */
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
  readonly fix?: string;
}

/** Fault("invalid") that carries every problem found, not only the first. */
export class ConfigFault extends Fault {
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[], cause?: unknown) {
    super(
      "invalid",
      problems.map((problem) => describeProblem(file, problem)).join("\n"),
      cause === undefined ? {} : { cause },
    );
    this.problems = problems;
  }
}

/** The file is there, and what it says cannot be had. */
export function unreadable(file: string, cause: unknown): ConfigFault {
  const { code } = cause as NodeJS.ErrnoException;
  const isClosed = code === "EACCES" || code === "EPERM";
  const problem = {
    path: "",
    message: `cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    fix: isClosed ? "Check that the daemon's user may read it" : "Put a file of text there",
  };
  return new ConfigFault(file, [problem], cause);
}

/** `parley.json5:3:5 gateway.prot: unknown key. Did you mean "port"?` */
export function describeProblem(file: string, problem: ConfigProblem): string {
  const where = problem.line === undefined ? file : `${file}:${problem.line}:${problem.column ?? 1}`;
  const path = problem.path === "" ? "" : ` ${problem.path}:`;
  return `${where}${path} ${problem.message}${problem.fix === undefined ? "" : `. ${problem.fix}`}`;
}

export function formatPath(path: ConfigPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}
