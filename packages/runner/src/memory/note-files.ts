// Guards the agent's notes as files. What a search of this conversation would not show, no file tool reads
// for it; what a tool writes there is stamped beside the file, and what a turn wrote after it had read text
// of strangers stays marked as such, wherever its lines are moved.
import { hideSecrets } from "@parley/agent";
import { Fault } from "@parley/protocol";
import type { NoteFiles } from "@parley/tools";
import { isResultOf } from "../result-files.ts";
import type { Services } from "../turn-scope.ts";
import { noteHistory } from "./note-history.ts";
import { stampLines } from "./provenance.ts";
import { answersToMany } from "./recall-places.ts";
import { scopesOf, type AgentMemoryOptions } from "./recall.ts";
import { markLines, untrustedIn } from "./untrusted-lines.ts";

type NoteFilesOptions = Pick<AgentMemoryOptions, "memory" | "owners"> &
  Pick<Services, "cells" | "redaction" | "clock">;

/** Prompts show it in groups too, so a refusal to open it there would guard nothing. */
const inEveryPrompt = "USER.md";

export function noteFiles(options: NoteFilesOptions): NoteFiles {
  const { memory, cells, redaction, clock } = options;
  const history = noteHistory({ cells, clock });
  return {
    async refusal(scope, path) {
      if (path === inEveryPrompt) return null;
      // A search of private memory that was too long for the transcript lies there too.
      if (isResultOf(scope.session, path) === false && (answersToMany(scope) || !scope.by.owner))
        return `${path} holds results of another conversation, which are not read in this one`;
      const place = memory.scopeOfPlace(path);
      if (place === null || (await scopesOf(scope, options)).includes(place)) return null;
      const where = answersToMany(scope) ? "a group or channel, whoever asks" : "this conversation";
      return `${path} is private memory, which is not read in ${where}; memory/shared/ is for everybody`;
    },
    async writing(scope, { path, before, after, tool }) {
      if (memory.scopeOfPlace(path) === null) return;
      const old = new Set((before ?? "").split(/\r?\n/));
      const lines = (after ?? "").split(/\r?\n/);
      const added = lines.filter((line) => !old.has(line));
      const text = added.join("\n");
      if (hideSecrets(text, redaction.secrets) !== text)
        throw new Fault("denied", `${path} would hold a key or password that Parley knows; note it without`);
      const sourceOf = await markLines(cells, scope, path, lines, added);
      const { session, turn, by } = scope;
      const from = { session, turn, by: by.senders, atMs: clock.now(), tool };
      await stampLines(cells, scope.agent, text, from, sourceOf);
      await history.record(scope.agent, { path, session, turn, by: by.senders, tool }, before, after);
    },
    untrusted: ({ workspace }, path, text) => untrustedIn(cells, workspace, path, text),
  };
}
