// The authors of what enters prompts, kept in memory.
import type { Origin, Origins, Watch } from "../src/index.ts";

export interface KeptOrigins extends Origins {
  readonly files: Map<string, { readonly sha256: string; readonly origin: Origin }>;
  readonly watches: Map<string, Watch>;
}

export function memoryOrigins(): KeptOrigins {
  const files: KeptOrigins["files"] = new Map();
  const watches = new Map<string, Watch>();
  let ids = 0;
  const note = (path: string, sha256: string): void => {
    for (const [id, watch] of watches) watches.set(id, { ...watch, made: { ...watch.made, [path]: sha256 } });
  };
  return {
    files,
    watches,
    async writing(_root, path, sha256, origin) {
      note(path, sha256);
      if (origin === null) files.delete(path);
      else files.set(path, { sha256, origin });
    },
    made: async (_root, path) => note(path, ""),
    async begin(watch) {
      const id = `w${(ids += 1)}`;
      watches.set(id, { made: {}, ...watch, id });
      return id;
    },
    watch: async (_root, id) => watches.get(id) ?? null,
    async end(watch, changed) {
      for (const { path, sha256 } of changed) files.set(path, { sha256, origin: watch.origin });
      watches.delete(watch.id);
    },
  };
}
