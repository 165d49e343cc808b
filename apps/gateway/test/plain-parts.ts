// The parts of a message path with nothing around it: no files, hooks, skills or daemon. A test lays over
// them what it is about.
import { conversationBindings, migratedChats, noRefusals } from "@parley/access";
import { noRedaction } from "@parley/agent";
import { noServers } from "@parley/mcp";
import { Fault } from "@parley/protocol";
import { noProgress, noSkills, turnPreparer } from "@parley/runner";
import type { MessagePathParts } from "../src/message-path/parts.ts";
import { processMemory } from "../src/message-path/process-memory.ts";
import { noDaemon } from "./no-daemon.ts";

type Needed = "config" | "store" | "channels" | "models" | "bootId" | "clock" | "ids" | "log";

export function plainParts(needed: Pick<MessagePathParts, Needed>): MessagePathParts {
  return {
    ...needed,
    onReady: needed.store.onReady,
    // No chat of these tests moves, so there is nothing to load.
    moved: migratedChats(needed.store.cells),
    handOvers: conversationBindings(needed.store.cells),
    tools: [],
    mcp: noServers,
    hooks: [],
    toolHooks: { before: async () => null, watched: (tool) => tool },
    daemon: noDaemon,
    showProgress: () => noProgress,
    readMedia: async () => ({ kind: "described" }),
    mediaFolder: { keep: () => Promise.reject(new Fault("unavailable", "no files are kept here")) },
    redaction: noRedaction,
    installation: {},
    skills: noSkills,
    preparer: turnPreparer,
    refusals: noRefusals,
    kept: processMemory(needed.clock),
  };
}
