// The memory of agents: Markdown notes that people can read and edit, and an index of them that may be
// deleted at any time.
export type { AlikeLines, NoteLine } from "./changes/alike.ts";
export { memoryEngine } from "./engine.ts";
export type {
  GetAnswer,
  MemoryEngine,
  MemoryHit,
  MemoryStatus,
  MemoryTarget,
  SearchRequest,
  TalkTurn,
} from "./contract.ts";
export { forgetting, type Forgetting } from "./changes/forgetting.ts";
export { memoryProcess } from "./memory-process.ts";
export { holdsPersonName, holdsWords, isIdentifier, isOneToken } from "./changes/stored-words.ts";
export { personFolder, scopeOfPlace, type MemoryScope } from "./scope.ts";
