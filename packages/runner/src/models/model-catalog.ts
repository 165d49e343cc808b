// Lists the models that people may choose, resolves their names, and returns a session's model. A choice that
// the config no longer allows is ignored, so that editing the config never leaves a session without an
// answer.
import { nearestWord, type AgentConfig, type Config } from "@parley/config";
import type { ModelCard } from "@parley/models";
import { Fault, isFault } from "@parley/protocol";
import type { Session } from "@parley/store";

export interface ModelChoice {
  /** `<provider>/<model>`. */
  readonly ref: string;
  readonly alias?: string;
}

interface SessionModel {
  readonly primary: string;
  /** Empty for a model that somebody chose, because its failures are told and not covered up. */
  readonly fallbacks: readonly string[];
  /** True when it was chosen in this session. */
  readonly own: boolean;
}

/** `nearest`: names that the person may have meant. */
type FoundModel = { readonly ref: string } | { readonly nearest: readonly string[] };

export interface ModelCatalog {
  readonly choices: (agent: AgentConfig) => readonly ModelChoice[];
  /** Returns the reference that the word names by alias or in full, also when that model cannot be called. */
  named(agent: AgentConfig, word: string): string | null;
  /** Finds a model by alias, reference, bare id or number in the list. */
  find(agent: AgentConfig, word: string): Promise<FoundModel>;
  of(agent: AgentConfig, session: Session): SessionModel;
}

export const modelField = "model";
const mostNearest = 3;
const mostNamed = 12;

/** `find` never returns a model that cannot be called. */
export function modelCatalog(
  config: Config,
  models: {
    readonly list: () => readonly Pick<ModelCard, "id">[];
    readonly get: (ref: string) => Promise<unknown>;
  },
): ModelCatalog {
  const book = Object.entries(config.agents.defaults.models);
  const { providers } = config.models;

  function choices(agent: AgentConfig): readonly ModelChoice[] {
    const refs = [
      agent.model.primary,
      ...agent.model.fallbacks,
      ...(book.length > 0 ? book.map(([ref]) => ref) : models.list().map(({ id }) => id)),
    ];
    return [...new Set(refs)].map((ref) => {
      const alias = book.find(([known]) => known === ref)?.[1].alias;
      return { ref, ...(alias === undefined ? {} : { alias }) };
    });
  }

  /** Without model cards, a provider that declares no models takes any id. */
  const isOpen = (ref: string): boolean => {
    const [, name = ""] = /^([^/]+)\/./.exec(ref) ?? [];
    // A person typed the name, and every object inherits names that are no providers.
    return book.length === 0 && Object.hasOwn(providers, name) && providers[name]?.models.length === 0;
  };

  function named(agent: AgentConfig, word: string): ModelChoice | undefined {
    const known = choices(agent);
    const wanted = word.toLowerCase();
    const bare = known.filter(({ ref }) => ref.slice(ref.indexOf("/") + 1).toLowerCase() === wanted);
    return (
      known.find(({ alias }) => alias?.toLowerCase() === wanted) ??
      known.find(({ ref }) => ref.toLowerCase() === wanted) ??
      (bare.length === 1 ? bare[0] : undefined) ??
      (/^[1-9]\d{0,2}$/.test(wanted) ? known[Number(wanted) - 1] : undefined)
    );
  }

  function nearest(agent: AgentConfig, word: string): readonly string[] {
    const known = choices(agent);
    const names = known.flatMap(({ ref, alias }) => [
      ...(alias === undefined ? [] : [alias]),
      ref,
      ref.slice(ref.indexOf("/") + 1),
    ]);
    const typed = word.toLowerCase();
    const close = nearestWord(typed, names);
    const holding =
      typed.length < 3
        ? []
        : known.flatMap(({ ref, alias }) => (ref.toLowerCase().includes(typed) ? [alias ?? ref] : []));
    // A bare id that several providers have is what was typed: their references tell them apart.
    const meant = close === null || close.toLowerCase() === typed ? [] : [close];
    return [...new Set([...meant, ...holding])].slice(0, mostNearest);
  }

  return {
    choices,
    named(agent, word) {
      const wanted = word.toLowerCase();
      const known = choices(agent).find(
        ({ ref, alias }) => alias?.toLowerCase() === wanted || ref.toLowerCase() === wanted,
      );
      return known?.ref ?? (isOpen(word) ? word : null);
    },
    async find(agent, word) {
      const found = named(agent, word)?.ref ?? (isOpen(word) ? word : undefined);
      if (found === undefined) return { nearest: nearest(agent, word) };
      try {
        await models.get(found);
        return { ref: found };
      } catch (error) {
        if (isFault(error, "invalid")) return { nearest: nearest(agent, word) };
        throw error;
      }
    },
    of(agent, session) {
      const own = session.fields[modelField];
      const allowed =
        typeof own === "string" && (choices(agent).some(({ ref }) => ref === own) || isOpen(own));
      return allowed ? { primary: own, fallbacks: [], own: true } : { ...agent.model, own: false };
    },
  };
}

/** The reference of the model that the word names. Throws Fault("invalid") with the names that there are. */
export async function modelNamed(
  catalog: Pick<ModelCatalog, "find" | "choices">,
  agent: AgentConfig,
  word: string,
): Promise<string> {
  const found = await catalog.find(agent, word);
  if ("ref" in found) return found.ref;
  const known = catalog
    .choices(agent)
    .map(({ ref, alias }) => (alias === undefined ? ref : `${alias} (${ref})`));
  const shown = known.slice(0, mostNamed).join(", ");
  const more = known.length > mostNamed ? ` and ${known.length - mostNamed} more` : "";
  const near = found.nearest.length === 0 ? "" : `; near it: ${found.nearest.join(", ")}`;
  throw new Fault(
    "invalid",
    `there is no model ${JSON.stringify(word.slice(0, 80))}${near}. Fix: take one of ${shown}${more}`,
  );
}
