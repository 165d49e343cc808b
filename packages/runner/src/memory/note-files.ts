// Guards the agent's notes as files: what a search of this conversation would not show, no file tool reads
// for it either.
import type { NoteFiles } from "@parley/tools";
import { answersToMany, scopesOf, type AgentMemoryOptions } from "./recall.ts";

export function noteFiles(options: Pick<AgentMemoryOptions, "memory" | "owners">): NoteFiles {
  const { memory } = options;
  return {
    async refusal(scope, path) {
      const place = memory.scopeOfPlace(path);
      if (place === null || (await scopesOf(scope, options)).includes(place)) return null;
      const where = answersToMany(scope) ? "a group or channel, whoever asks" : "this conversation";
      return `${path} is private memory, which is not read in ${where}; memory/shared/ is for everybody`;
    },
  };
}
