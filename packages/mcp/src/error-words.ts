// Words a server's failure as one short line: a stranger's text, and never a schema's list of what it
// refused, which says nothing to people.
import { label } from "@parley/protocol";

const wordsChars = 300;
/** How a validator's list of issues begins. */
const issues = /\[\s*\{\s*"(?:code|expected|origin|values|keys|errors|path|message)":/;

/** The cause of a Fault that repeats words of the server. */
export class SaidByServer extends Error {
  override readonly name = "SaidByServer";

  constructor(cause: unknown) {
    super("the server said so", { cause });
  }
}

export function errorWords(error: unknown): string {
  const said = (error as { readonly message?: string }).message ?? String(error);
  const at = said.search(issues);
  return label(at < 0 ? said : `${said.slice(0, at)}what it sent is not of the protocol`, wordsChars);
}
