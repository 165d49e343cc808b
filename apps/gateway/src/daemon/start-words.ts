// Parses the words after `parley start`: the role and name of this process among several, and its port.
import { parseArgs } from "node:util";
import { Fault } from "@parley/protocol";
import { roleOf, type Role } from "@parley/cluster";

export interface StartWords {
  readonly role: Role;
  readonly node?: string;
  readonly port?: number;
}

/** Throws Fault("invalid") that names what cannot be understood. */
export function startWords(words: readonly string[]): StartWords {
  const { role, node, port } = parsed(words);
  return {
    role: roleOf(role),
    ...(node === undefined ? {} : { node }),
    ...(port === undefined ? {} : { port: portOf(port) }),
  };
}

function parsed(words: readonly string[]) {
  const options = { role: { type: "string" }, node: { type: "string" }, port: { type: "string" } } as const;
  try {
    return parseArgs({ args: [...words], options, strict: true }).values;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Fault(
      "invalid",
      `${why}\nparley start takes --role all|edge|worker, --node <name>, --port <port>`,
      { cause },
    );
  }
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new Fault("invalid", `--port ${JSON.stringify(text)}: a number from 0 to 65535`);
}
