// Completes hooks.*: makes folders absolute and wraps in a Secret whatever looks like a credential, so that
// logs and answers hide it.
import { isCredential } from "./credentials.ts";
import { expandPath } from "./home.ts";
import type { HookEntryConfig, HooksConfig } from "./config.ts";
import type { ConfigFile } from "./schema/root.ts";
import { secret } from "./secret.ts";

export function hooksOf(file: ConfigFile["hooks"], home: string): HooksConfig {
  const { internal } = file;
  return {
    ...file,
    internal: {
      ...internal,
      load: { extraDirs: internal.load.extraDirs.map((path) => expandPath(path, home)) },
      entries: Object.fromEntries(
        Object.entries(internal.entries).map(([key, entry]) => [key, entryOf(entry)]),
      ),
    },
  };
}

function entryOf(entry: ConfigFile["hooks"]["internal"]["entries"][string]): HookEntryConfig {
  const env = Object.entries(entry.env).map(
    ([name, value]) => [name, isCredential(name, value) ? secret(value) : value] as const,
  );
  return { ...entry, env: Object.fromEntries(env) };
}
