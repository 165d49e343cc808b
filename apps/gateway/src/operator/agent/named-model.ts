// Finds the model that an operator means by a word, among those that a session's agent may use.
import type { Config } from "@parley/config";
import { Fault, parseSessionKey } from "@parley/protocol";
import type { ModelCatalog } from "@parley/runner";

/** Returns its reference. Throws Fault with the nearest names for a word that names none. */
export async function namedModel(
  { agents }: Pick<Config, "agents">,
  catalog: Pick<ModelCatalog, "find">,
  session: string,
  word: string,
): Promise<string> {
  const id = parseSessionKey(session).agent;
  const agent = agents.list.find((each) => each.id === id);
  if (agent === undefined) throw new Fault("missing", `there is no agent "${id}" in agents.list any more`);
  const found = await catalog.find(agent, word);
  if ("ref" in found) return found.ref;
  const meant =
    found.nearest.length === 0
      ? '"parley models list" shows all'
      : `did you mean ${found.nearest.join(", ")}?`;
  throw new Fault("invalid", `no model is called "${word}": ${meant}`);
}
