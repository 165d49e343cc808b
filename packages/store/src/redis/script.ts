// Builds the driver's verbs: each is one Lua script, joined from the parts it uses. Redis knows a script by
// the hash of its text.
import { createHash } from "node:crypto";
import { epilogue, prelude } from "./lua/prelude.ts";

export interface Script {
  readonly lua: string;
  readonly sha: string;
  /** False for the few verbs that must not be repeated blindly when their answer was lost. */
  readonly repeatable: boolean;
}

/**
 * `body` is the body of a Lua function without parameters. `arg` holds the arguments; the return value is the
 * answer.
 */
export function script(
  parts: readonly string[],
  body: string,
  how: { readonly repeatable: boolean } = { repeatable: true },
): Script {
  const lua = [prelude, ...parts, `local function verb()\n${body}\nend`, epilogue].join("\n");
  return { lua, sha: createHash("sha1").update(lua).digest("hex"), ...how };
}
