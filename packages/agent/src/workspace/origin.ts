// Content of the workspace that no owner wrote outside a sandbox: the gateway keeps those records and tells
// what a prompt may make of it.
export interface ForeignOrigin {
  /** Marked: an owner's turn wrote it, in a sandbox, where a page or a file may have talked it into that. */
  readonly use: "mark" | "leave out";
  /** Plain words without names of people: they stand in prompts. */
  readonly reason: string;
  /** For operators. */
  readonly who: string;
}

/** `path` is absolute, `sha256` that of the file's bytes. Null: the owner's, as far as is known. */
export type OriginOf = (path: string, sha256: string) => ForeignOrigin | null;

export const ownersAlone: OriginOf = () => null;
