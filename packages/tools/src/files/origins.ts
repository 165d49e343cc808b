// Records the authors of files that enter prompts, where the author was not an owner outside a sandbox. The
// records lie outside the workspace, so that no writer of the files can write them too. Content counts, by
// its hash: once an owner changed the file, it is the owner's.
import { guardOf } from "./guarded-paths.ts";

export interface Origin {
  /** `telegram:42`, or several of them. */
  readonly who: string;
  readonly session: string;
  readonly owner: boolean;
  readonly sandboxed: boolean;
}

/** The state that a running command found, to tell what it left from it, also after a crash. */
export interface Watch {
  readonly id: string;
  readonly root: string;
  readonly origin: Origin;
  /** More paths that enter prompts. */
  readonly alsoPrompt: readonly string[];
  /**
   * In a sandbox: the guarded paths that were there, each with the file's identity. They are mounted
   * read-only.
   */
  readonly guarded?: { readonly [path: string]: string };
  /** The content of files that enter prompts. */
  readonly prompts: { readonly [path: string]: string };
  /** Content that Parley itself wrote meanwhile; "" where only the name counts. */
  readonly made: { readonly [path: string]: string };
}

export interface PathHash {
  readonly path: string;
  readonly sha256: string;
}

/** `made`: meanwhile, for commands that ran already when this one began. */
export type Begun = Omit<Watch, "id" | "made"> & Partial<Pick<Watch, "made">>;

/**
 * Whether this content was there before the command began, or is Parley's own. Whatever replaces a mounted
 * file undoes its mount.
 */
export function isOlder({ prompts, made, alsoPrompt }: Watch, { path, sha256 }: PathHash): boolean {
  if (guardOf(path, alsoPrompt) !== "prompt") return true; // None of its business.
  return sha256 === prompts[path] || sha256 === made[path];
}

export interface Origins {
  /** Before these bytes are written. `origin` null: by an owner, outside a sandbox. */
  writing(root: string, path: string, sha256: string, origin: Origin | null): Promise<void>;
  /** Before Parley makes another guarded path: no command that runs is blamed for it. */
  made(root: string, path: string): Promise<void>;
  /** Durable before the command starts. Returns its id. */
  begin(watch: Begun): Promise<string>;
  /** As it is now. */
  watch(root: string, id: string): Promise<Watch | null>;
  /** Ends the watch: its origin becomes the author of the files at these paths. */
  end(watch: Watch, changed: readonly PathHash[]): Promise<void>;
}
