// Reads the API keys that an OpenClaw home keeps beside its agents. A login by browser is bound to the
// program that made it, so that only keys are carried.
import { join } from "node:path";
import { formatPath } from "@parley/config";
import type { Json } from "@parley/protocol";
import type { Met } from "./report.ts";
import { agentDatabase, jsonOf, gatewayDatabase } from "./source-databases.ts";
import { secretFileName } from "./secret-file-name.ts";
import type { Source } from "./source.ts";
import type { Translated } from "./translate.ts";
import { at, isBlock, withValue } from "./tree.ts";

/** The same config, with a key for each provider that has none. */
export function withKeys(source: Source, translated: Translated): Translated {
  let file: Json = translated.file;
  const met: Met[] = [...translated.met];
  const secrets = new Map(translated.secrets);
  const changed = new Map(translated.changed);
  const { folder, files, databases, isHome } = source;
  const agents = join(folder, "agents");
  // Older homes kept those of their one agent beside the config.
  const folders = [
    ...files.names(agents).map((agent) => ({ agent, keys: join(agents, agent, "agent") })),
    { agent: "main", keys: join(folder, "agent") },
  ];
  const stores = [
    ...folders.map(({ agent, keys }) => ({ agent, store: files.value(join(keys, "auth-profiles.json")) })),
    ...[
      ...files.names(agents).map((agent) => ({ agent, path: agentDatabase(folder, agent) })),
      { agent: "shared", path: gatewayDatabase(folder) },
    ].flatMap(({ agent, path }) =>
      !isHome || !databases.hasTable(path, "auth_profile_store")
        ? []
        : databases
            .rows(path, "select store_json from auth_profile_store order by store_key")
            .map(({ store_json: text }) => ({ agent, store: jsonOf(text) })),
    ),
  ];
  for (const { agent, store } of isHome ? stores : []) {
    const profiles = at(store, ["profiles"]);
    for (const [name, profile] of Object.entries(isBlock(profiles) ? profiles : {})) {
      const { type, provider, key } = isBlock(profile) ? profile : {};
      const named = { what: "key", name: `auth-profiles ${agent}: ${name}` } as const;
      if (type !== "api_key" || typeof key !== "string" || typeof provider !== "string" || key === "") {
        met.push({
          ...named,
          fate: "refused",
          why: "only API keys are carried: give this provider a key, parley setup",
        });
        continue;
      }
      const place = ["models", "providers", provider, "apiKey"];
      if (at(file, place) !== undefined) {
        met.push({ ...named, fate: "refused", why: `models.providers.${provider} has a key already` });
        continue;
      }
      const secret = secretFileName(formatPath(place), key, secrets);
      secrets.set(secret, key);
      file = withValue(file, place, { file: secret });
      changed.set(formatPath([...place, "file"]), {
        from: named.name,
        why: `the key is in ${secret} of the state folder`,
      });
    }
  }
  return { ...translated, file: file as Translated["file"], met, secrets, changed };
}
