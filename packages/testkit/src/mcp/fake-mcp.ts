// Writes what the MCP server of main.ts does, and reads what it was asked.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface FakeMcp {
  /** Its program and arguments, as a config names them. */
  readonly server: { readonly command: string; readonly args: readonly string[] };
  /** What it does from now on; see main.ts. */
  behaves(behaviour: object): void;
  /** Process ids of its starts, in order. */
  starts(): readonly number[];
  calls(): readonly string[];
}

const program = fileURLToPath(new URL("main.ts", import.meta.url));

/** `file`: a path that nobody else uses. */
export function fakeMcp(file: string, behaviour: object = {}): FakeMcp {
  // The server reads it at any moment: half a text would end it.
  const behaves = (next: object): void => {
    writeFileSync(`${file}.next`, JSON.stringify(next));
    renameSync(`${file}.next`, file);
  };
  behaves(behaviour);
  const lines = (word: string): readonly string[] =>
    (existsSync(`${file}.log`) ? readFileSync(`${file}.log`, "utf8") : "")
      .split("\n")
      .filter((line) => line.startsWith(`${word} `))
      .map((line) => line.slice(word.length + 1));
  return {
    server: { command: process.execPath, args: [program, file] },
    behaves,
    starts: () => lines("start").map(Number),
    calls: () => lines("call"),
  };
}
