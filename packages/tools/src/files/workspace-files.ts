// The files that tools may reach: one folder to work in, and folders that may only be read, such as those of skills. Whoever makes tools
// hands all of them the same value for the same folder, because changes wait for each other here.
import { once } from "../once.ts";
import { finishChanges } from "./change-set.ts";
import { rooted, type Rooted } from "./rooted.ts";
import { partsBelow, type ChangeRules } from "./walk.ts";

export interface WorkspaceFilesOptions {
  /** Absolute, on the host. */
  readonly root: string;
  /** What commands in a sandbox call it. */
  readonly inside?: string;
  readonly readOnly?: boolean;
  readonly readRoots?: readonly string[];
  /** Paths below it may begin with "~" in what is only read: so the prompt tells where skills are. */
  readonly userHome?: string;
  /** Folders that may not be entered although they lie below: the state folder. */
  readonly forbidden?: readonly string[];
}

export interface WorkspaceFiles {
  readonly readOnly: boolean;
  /** The folder to read this path from. */
  readable(path: string): Rooted;
  /** The folder to work in, by these rules. What a dead process left half done is finished before it is handed out. */
  writable(rules?: ChangeRules): Promise<Rooted>;
  /** The same, for what changes no file of the agent's: the logs of commands. */
  readonly own: Rooted;
}

export function workspaceFiles(options: WorkspaceFilesOptions): WorkspaceFiles {
  const { root, inside, readOnly = false, forbidden = [] } = options;
  const own = rooted({ root, forbidden, ...(inside === undefined || inside === root ? {} : { alsoKnownAs: [inside] }) });
  // What a model reads and changes; commands and their approvals look at every file that there is.
  const strict = rooted({ ...own, ownNamesOnly: true });
  const others = (options.readRoots ?? []).map((each) => rooted({ root: each, forbidden, alsoKnownAs: underHome(each, options.userHome) }));
  const finished = once(() => own.exclusive(() => finishChanges(own)));
  return {
    readOnly,
    own,
    readable(path) {
      if (path.startsWith("~/"))
        return others.find(({ alsoKnownAs = [] }) => alsoKnownAs.some((root) => path.startsWith(`${root}/`))) ?? strict;
      if (!path.startsWith("/") || partsBelow(own, path) !== null) return strict;
      return others.find((each) => partsBelow(each, path) !== null) ?? strict;
    },
    async writable(rules) {
      await finished();
      // Whatever its rules, changes to the folder wait for each other.
      return rules === undefined ? own : { ...rooted({ ...strict, rules }), exclusive: own.exclusive };
    },
  };
}

function underHome(path: string, userHome: string | undefined): string[] {
  return userHome !== undefined && userHome !== "/" && path.startsWith(`${userHome}/`) ? [`~${path.slice(userHome.length)}`] : [];
}
