// Reads a memory file's scope from its path. The scope of every chunk is fixed by the file that it stands in,
// and a search names the scopes it may see before anything is ranked.
import { createHash } from "node:crypto";

/**
 * - `curated`: MEMORY.md and USER.md, which the prompt of every private conversation shows.
 * - `daily`: the owners' notes below memory/.
 * - `shared`: memory/shared/, for everybody who talks to the agent.
 * - `session:<mark>`: memory/sessions/<mark>/, for one session.
 * - `person:<id>`: memory/people/<channel>-<id>/, for one person.
 * - `talk:<hash>`: what was said in one session, where sessions are searched.
 */
export type MemoryScope =
  | "curated"
  | "daily"
  | "shared"
  | `session:${string}`
  | `person:${string}`
  | `talk:${string}`;

/** Of what was said in one session. */
export function talkScope(session: string): MemoryScope {
  return `talk:${createHash("sha256").update(session).digest("hex").slice(0, 32)}`;
}

export const curatedFiles = ["MEMORY.md", "memory.md", "USER.md"] as const;
export const memoryFolder = "memory";

/** `path` is relative to the workspace. Null: it is no memory file. */
export function scopeOfFile(path: string): MemoryScope | null {
  if ((curatedFiles as readonly string[]).includes(path)) return "curated";
  const [root, folder = "", owner = "", ...rest] = path.split("/");
  if (root !== memoryFolder || !path.endsWith(".md")) return null;
  if (path.split("/").some((part) => part === "" || part.startsWith("."))) return null;
  return scopeOfFolder(folder, owner, rest);
}

function scopeOfFolder(folder: string, owner: string, rest: readonly string[]): MemoryScope {
  if (folder === "shared" && owner !== "") return "shared";
  if ((folder === "sessions" || folder === "people") && owner !== "")
    return rest.length === 0 ? "daily" : `${folder === "sessions" ? "session" : "person"}:${owner}`;
  return "daily";
}

/** The same for whatever lies below memory/, which is as private as a note there. Null: it is elsewhere. */
export function scopeOfPlace(path: string): MemoryScope | null {
  const [root, folder = "", owner = "", ...rest] = path.split("/");
  return root === memoryFolder ? scopeOfFolder(folder, owner, rest) : scopeOfFile(path);
}

/** The folder of a person's own notes: `<channel>:<id>` becomes one name of a file system. */
export function personFolder(person: string): string {
  return person.replace(/[^\p{L}\p{N}_.-]/gu, "-").replace(/^\.+/, "-");
}

const dated = /^memory\/(?:.*\/)?(\d{4}-\d{2}-\d{2})(?:[-_ ][^/]*)?\.md$/;

/** The day of a daily note, for recency. Null: the file is evergreen. */
export function dayOfFile(path: string): string | null {
  const day = dated.exec(path)?.[1];
  if (day === undefined) return null;
  const at = new Date(`${day}T00:00:00Z`);
  // Of the 31st of February a Date makes a day in March.
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day) ? day : null;
}
