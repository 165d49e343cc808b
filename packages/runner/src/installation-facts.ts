// Names the facts of this installation that prompts and tools share.
import type { DocumentationFacts } from "@parley/agent";

/** Facts that every turn of this installation shares. */
export interface InstallationFacts {
  readonly docs?: DocumentationFacts | undefined;
  /** The program by which a command on this machine reaches the daemon. */
  readonly cli?: string | undefined;
  /** The folder of the default workspace files. */
  readonly templates?: string;
  /** The key that hashes owner ids under `commands.ownerDisplay: "hash"`. */
  readonly ownerKey?: string;
  /** The user's login shell. */
  readonly shell?: string | undefined;
}

/** The prompt names the docs, so the read tool must open them. */
export function docsRoots({ docs }: InstallationFacts): readonly string[] {
  return docs === undefined ? [] : [docs.path];
}
