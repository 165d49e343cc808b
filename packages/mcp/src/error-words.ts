// Words a failure of a server as one short line: a stranger's text, in which a list of what a schema refused says nothing to people.
import { label } from "@parley/protocol";

const wordsChars = 300;
/** How a validator's list of issues begins. */
const issues = /\[\s*\{\s*"(?:code|expected|origin|values|keys|errors|path|message)":/;

export function errorWords(error: unknown): string {
  const said = (error as { readonly message?: string }).message ?? String(error);
  const at = said.search(issues);
  return label(at < 0 ? said : `${said.slice(0, at)}what it sent is not of the protocol`, wordsChars);
}
