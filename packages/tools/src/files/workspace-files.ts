// Defines the files that tools may reach: one folder to work in, and read-only folders such as those of
// skills. All tools of the same folder must share one value, because it runs their changes one after the
// other.
import { posix } from "node:path";
import { isFault } from "@parley/protocol";
import { once } from "../once.ts";
import { finishChanges } from "./change-set.ts";
import { rooted, type Rooted } from "./rooted.ts";
import { partsBelow, type ChangeRules } from "./walk.ts";

export interface WorkspaceFilesOptions {
  /** Absolute, on the host. */
  readonly root: string;
  /** Its path for commands in a sandbox. */
  readonly inside?: string;
  readonly readOnly?: boolean;
  readonly readRoots?: readonly string[];
  /**
   * Folders of another root that are read as if they lay here: skills of a workspace that a sandbox does not
   * show.
   */
  readonly lent?: { readonly root: string; readonly folders: readonly string[] };
  /** Paths below it may begin with "~" in what is only read: so the prompt tells where skills are. */
  readonly userHome?: string;
  /** Folders that may not be entered although they lie below: the state folder. */
  readonly forbidden?: readonly string[];
}

export interface WorkspaceFiles {
  readonly readOnly: boolean;
  /** The folder to read this path from. */
  readable(path: string): Rooted;
  /**
   * Returns the folder to work in, under these rules, once it has finished what a dead process left half
   * done.
   */
  writable(rules?: ChangeRules): Promise<Rooted>;
  /** The same, for what changes no file of the agent's: the logs of commands. */
  readonly own: Rooted;
}

export function workspaceFiles(options: WorkspaceFilesOptions): WorkspaceFiles {
  const { root, inside, readOnly = false, forbidden = [] } = options;
  const own = rooted({
    root,
    forbidden,
    ...(inside === undefined || inside === root ? {} : { alsoKnownAs: [inside] }),
  });
  // What a model reads and changes; commands and their approvals look at every file that there is.
  const strict = rooted({ ...own, ownNamesOnly: true });
  const others = (options.readRoots ?? []).map((each) =>
    // What lies in the workspace may be written by its agent.
    rooted({
      root: each,
      forbidden,
      alsoKnownAs: underHome(each, options.userHome),
      ownNamesOnly: partsBelow(own, each) !== null,
    }),
  );
  const inWork = options.lent === undefined ? () => strict : lending(strict, options.lent);
  const finished = once(() => own.exclusive(() => finishChanges(own)));
  return {
    readOnly,
    own,
    readable(path) {
      if (path.startsWith("~/"))
        return (
          others.find(({ alsoKnownAs = [] }) => alsoKnownAs.some((root) => path.startsWith(`${root}/`))) ??
          strict
        );
      if (!path.startsWith("/")) return inWork(path);
      // First: a read root may lie in a folder of the workspace that is forbidden, as the managed skills do
      // in the state folder.
      return others.find((each) => partsBelow(each, path) !== null) ?? inWork(path);
    },
    async writable(rules) {
      await finished();
      // Whatever its rules, changes to the folder wait for each other.
      return rules === undefined ? own : { ...rooted({ ...strict, rules }), exclusive: own.exclusive };
    },
  };
}

/**
 * What is lent comes first, so that nothing written here can pose as it; what it does not have is looked for
 * here.
 */
function lending(
  work: Rooted,
  { root, folders }: NonNullable<WorkspaceFilesOptions["lent"]>,
): (path: string) => Rooted {
  const { alsoKnownAs = [], forbidden = [] } = work;
  const lent = rooted({
    root,
    alsoKnownAs: [work.root, ...alsoKnownAs],
    forbidden,
    ownNamesOnly: true,
    only: folders,
  });
  return (path) => {
    const at = posix.normalize(partsBelow(work, path)?.join("/") ?? "");
    if (!folders.some((folder) => at.startsWith(`${folder}/`))) return work;
    return {
      ...work,
      withFile: (asked, use) =>
        lent.withFile(asked, use).catch((error: unknown) => {
          if (isFault(error, "missing")) return work.withFile(asked, use);
          throw error;
        }),
    };
  };
}

function underHome(path: string, userHome: string | undefined): string[] {
  return userHome !== undefined && userHome !== "/" && path.startsWith(`${userHome}/`)
    ? [`~${path.slice(userHome.length)}`]
    : [];
}
