// Reads lines of one memory file for whoever may see it.
import { Fault } from "@parley/protocol";
import type { GetAnswer, GetRequest, MemoryTarget } from "./contract.ts";
import { readMemoryFile } from "./read-file.ts";
import { scopeOfFile } from "./scope.ts";

/** Throws Fault("denied") for what is no memory file or lies in another scope, Fault("missing"). */
export function linesOf({ workspace }: MemoryTarget, request: GetRequest): GetAnswer {
  const path = memoryPath(workspace, request.path);
  const scope = scopeOfFile(path);
  if (path.startsWith("agent:"))
    throw new Fault("denied", "what was said in a session is read with sessions_history");
  if (scope === null)
    throw new Fault("denied", "only MEMORY.md, USER.md and Markdown files below memory/ are memory");
  // Whoever may not see a file does not learn whether it is there.
  const missing = new Fault("missing", `there is no ${path}, or it is not for this conversation`);
  if (request.scopes !== "all" && !request.scopes.includes(scope)) throw missing;
  const read = readMemoryFile(workspace, path);
  if (read.state === "missing") throw missing;
  if (read.state === "refused") throw new Fault("invalid", `${path}: ${read.reason}`);
  const lines = read.text.replace(/^\ufeff/, "").split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const from = Math.max(1, request.from);
  if (from > lines.length && lines.length > 0)
    throw new Fault("invalid", `${path} has ${lines.length} lines; there is no line ${from}`);
  const shown: string[] = [];
  let chars = 0;
  for (const line of lines.slice(from - 1, from - 1 + Math.max(1, request.lines))) {
    const room = request.maxChars - chars;
    if (shown.length > 0 && line.length + 1 > room) break;
    shown.push(line.length <= room ? line : `${line.slice(0, room).toWellFormed()} …`);
    chars += line.length + 1;
  }
  return {
    path,
    startLine: from,
    endLine: Math.max(from, from + shown.length - 1),
    totalLines: lines.length,
    text: shown.join("\n"),
  };
}

/** As models write it: with the workspace before it, "./", or the lines of a citation behind it. */
function memoryPath(workspace: string, asked: string): string {
  let path = asked.trim().replace(/#L?\d+(?:-L?\d+)?$/, "");
  if (path.startsWith(`${workspace}/`)) path = path.slice(workspace.length + 1);
  path = path.replace(/^(?:\.\/)+/, "");
  return path.split("/").includes("..") ? "" : path;
}
