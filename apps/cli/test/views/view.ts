// One case of views.test.ts: a command, and what a gateway answers to each method that the command calls.

/** Answers by method; an Error is thrown, as a Refusal says or as of what is missing. */
export type Answers = { readonly [method: string]: unknown };

export interface View {
  readonly argv: readonly string[];
  readonly answers: Answers;
}

export function view(command: string, answers: Answers): View {
  return { argv: command.split(" ").map((word) => word.replaceAll("_", " ")), answers };
}

/** 1 January 2026, and so many seconds. */
export const at = (seconds: number): number => Date.UTC(2026, 0, 1) + seconds * 1_000;
