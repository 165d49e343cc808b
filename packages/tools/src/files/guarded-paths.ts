// Lists what is guarded in a workspace, for file tools, commands in a sandbox and the check after them.
// Settings that programs read by themselves are all names that begin with a dot, but for a few that only
// contain data: next year's tools bring names that no list of bad ones has. Files that enter prompts are
// listed by name, because Parley itself decides which those are (docs/decisions/0009).
export type Guard =
  /** Git runs what stands there, whoever calls it. */
  | "git"
  /** Parley's own bookkeeping. */
  | "own"
  /** It enters prompts. */
  | "prompt"
  /** A proposed change to a prompt, which never enters one itself. */
  | "proposal"
  /** A setting that a program may run, unasked. */
  | "setting";

/** Names in the workspace's root, the agent's `bootstrapNames` among them. */
export const promptNames = [
  "AGENTS.md",
  "SOUL.md",
  "TOOLS.md",
  "IDENTITY.md",
  "USER.md",
  "HEARTBEAT.md",
  "BOOT.md",
  "BOOTSTRAP.md",
  "MEMORY.md",
] as const;
export const promptFolders = ["memory", "skills", ".agents/skills"] as const;
export const proposalFolder = "proposals";
export const ownFolder = ".parley";

const promptPaths: readonly string[] = [...promptNames, ...promptFolders];

/** Data that nothing runs: marks, lists of what to leave out, caches of results. */
const harmless = new Set(
  [
    ".gitignore .gitkeep .keep .dockerignore .npmignore .eslintignore .prettierignore .ignore .rgignore .nojekyll",
    ".env.example .env.sample .ds_store .cache .coverage .nyc_output .pytest_cache",
  ]
    .join(" ")
    .split(" "),
);

/** `path` is relative to the workspace, without links. `alsoPrompt`: more paths that enter prompts. */
export function guardOf(path: string, alsoPrompt: readonly string[] = []): Guard | null {
  const parts = foldedParts(path);
  if (parts.includes(".git")) return "git";
  if (parts[0] === ownFolder) return "own";
  if ([...promptPaths, ...alsoPrompt].some((each) => isWithin(parts, foldedParts(each)))) return "prompt";
  const inProposals = parts[0] === proposalFolder;
  // The packages there bring thousands of such names, and no program looks for its settings in them.
  const packages = parts.indexOf("node_modules");
  const own = packages === -1 ? parts : parts.slice(0, packages);
  if (isHookCode(parts)) return "setting";
  if (own.some((name) => isSetting(name) && !(inProposals && name === ".agents"))) return "setting";
  return inProposals ? "proposal" : null;
}

/** The shortest beginning of the path that is guarded: what a mount has to cover. */
export function guardedRoot(path: string, alsoPrompt: readonly string[] = []): string | null {
  const parts = path.split("/");
  const length = parts.findIndex(
    (_, index) => guardOf(parts.slice(0, index + 1).join("/"), alsoPrompt) !== null,
  );
  return length === -1 ? null : parts.slice(0, length + 1).join("/");
}

/** Code of a hook in any spelling. */
export function isHook(path: string): boolean {
  return isHookCode(foldedParts(path));
}

/** The gateway itself runs the hooks of a workspace, once its operator lets it. */
function isHookCode([root, hook, file, ...below]: readonly string[]): boolean {
  return (
    root === "hooks" &&
    hook !== undefined &&
    below.length === 0 &&
    /^(?:hook\.md|handler\..*)$/.test(file ?? "")
  );
}

function isSetting(name: string): boolean {
  return name.startsWith(".") && name !== "." && !harmless.has(name) && !name.startsWith(".parley-draft-");
}

function isWithin(parts: readonly string[], root: readonly string[]): boolean {
  return root.every((name, index) => parts[index] === name);
}

function foldedParts(path: string): readonly string[] {
  return path.split("/").map(folded);
}

/**
 * As the most forgiving file system reads a name: any case, composed or not, without the characters that HFS+
 * leaves out, without what NTFS drops at the end and takes for a stream, and by its short name.
 */
function folded(name: string): string {
  const plain = name
    .normalize("NFKC")
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase();
  const [file = ""] = plain.split(":");
  const bare = file.replace(/[. ]+$/, "");
  return /^git~\d+$/.test(bare) ? ".git" : bare;
}
