// Defines the rules by which one turn's tools change a workspace. Only owners write files that enter prompts;
// anybody else writes a proposal, which carries who made it, where and when, and never enters a prompt.
import { lstat, readdir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import type { ToolContext } from "../context.ts";
import type { ToolScope } from "../tool.ts";
import { bareRepositoryAt } from "./bare-repository.ts";
import { guardedRoot, guardOf, isHook, promptFolders, promptNames, proposalFolder } from "./guarded-paths.ts";
import type { Origin } from "./origins.ts";
import { inWorkspace } from "./private-notes.ts";
import { contentHash } from "./rooted.ts";
import { gitRefusal, ignoring, type ChangeRules } from "./walk.ts";

/** Returns the rules of a turn with these tools, for one call. */
export async function turnRules(context: ToolContext, scope: ToolScope, tool: string): Promise<ChangeRules> {
  const { owner, sandbox, origins, clock, exec, files } = context;
  const root = sandbox.workspace;
  const sandboxed = sandbox.kind !== "none";
  const origin = originOf(context, scope);
  if (sandbox.scratch)
    return { refusal: async (path) => refusalInScratch(path), written: async (_, bytes) => bytes };
  const prompt = [...(context.promptPaths ?? []), ...(owner ? [] : await linkedPrompts(root))];
  return {
    async refusal(path) {
      const guard = guardOf(path, prompt);
      if (guard === "prompt" && !owner) return promptRefusal(path);
      if (guard === "setting" && !(owner && !sandboxed)) return settingRefusal(path, sandboxed);
      const repository = owner && !sandboxed ? null : await bareRepositoryAt(root, path);
      if (repository !== null) return repositoryRefusal(path, repository);
      const runner = owner ? null : (exec?.commands.boundTo(root, path) ?? null);
      if (runner !== null)
        return `${path} is run by the command ${runner}, which was let run with it as it is; change it when that is over`;
      return refusalInScratch(path);
    },
    removed: (path) => noteLines(context, scope, tool, path, null, () => files.own.readWhole(path)),
    async written(path, bytes) {
      await noteLines(context, scope, tool, path, bytes, () => files.own.readWhole(path));
      const guard = guardOf(path, prompt);
      const isOwners = owner && !sandboxed;
      if (guard === "prompt")
        await origins?.writing(root, path, contentHash(bytes), isOwners ? null : origin);
      else if (guardedRoot(path, prompt) !== null) await origins?.made(root, path);
      return guard === "proposal" && !isOwners ? withOrigin(bytes, origin, clock.now()) : bytes;
    },
  };
}

/** Tells the agent's notes of a write to one of them. */
async function noteLines(
  { notes, sandbox }: Pick<ToolContext, "notes" | "sandbox">,
  scope: ToolScope,
  tool: string,
  path: string,
  bytes: Uint8Array | null,
  there: () => Promise<{ readonly bytes: Buffer } | null>,
): Promise<void> {
  const note = inWorkspace(scope, sandbox.workspace, path);
  if (notes === undefined || note === null || !note.endsWith(".md")) return;
  const text = (of: Uint8Array): string => Buffer.from(of).toString("utf8");
  const before = await there().catch(() => null); // Too large to be read whole: all of it counts as new.
  await notes.writing(scope, {
    path: note,
    before: before === null ? null : text(before.bytes),
    after: bytes === null ? null : text(bytes),
    tool,
  });
}

export function originOf(
  { owner, speakers = [], sandbox }: ToolContext,
  { session }: Pick<ToolScope, "session">,
): Origin {
  return { who: speakers.join(", ") || "somebody", session, owner, sandboxed: sandbox.kind !== "none" };
}

function refusalInScratch(path: string): string | null {
  const guard = guardOf(path);
  if (guard === "git") return gitRefusal(path);
  return guard === "own" ? `${path} is Parley's own; tools do not write there` : null;
}

function promptRefusal(path: string): string {
  return (
    `${path} enters prompts, so only an owner's turn writes it (commands.ownerAllowFrom names owners). ` +
    `Write a proposal instead: ${proposalFolder}/${path}. It enters no prompt; an owner may take it up`
  );
}

function settingRefusal(path: string, sandboxed: boolean): string {
  const who = sandboxed ? "it is not written from a sandbox" : "only an owner's turn writes it";
  return isHook(path)
    ? `${path} is a part of a hook, which Parley itself may run, so ${who}. Leave it to the owner`
    : `${path} begins with a dot: programs may run such settings unasked, so ${who}. Use a name without a dot, or leave it to the owner`;
}

function repositoryRefusal(path: string, folder: string): string {
  return (
    `${path} would make ${folder} a git repository or change one: git runs what stands there, ` +
    "so only an owner's turn outside a sandbox writes it"
  );
}

/** Resolves links in a prompt file's place: a write to their target changes the prompt. */
async function linkedPrompts(root: string): Promise<readonly string[]> {
  const notes = await readdir(join(root, "memory")).catch((): string[] => []); // No folder, no notes.
  const names = [...promptNames, ...promptFolders, ".agents", ...notes.map((name) => `memory/${name}`)];
  const [realRoot, ...targets] = await Promise.all([
    realpath(root),
    ...names.map(async (name) => {
      const found = await lstat(join(root, name)).catch(ignoring("ENOENT", "ENOTDIR"));
      return found?.isSymbolicLink() === true
        ? realpath(join(root, name)).catch(ignoring("ENOENT", "ENOTDIR", "ELOOP"))
        : null;
    }),
  ]);
  return targets
    .flatMap((target) => (target === null ? [] : [relative(realRoot, target)]))
    .filter((path) => path !== "" && !path.startsWith(".."));
}

const firstLine = /^\[Proposal by [^\r\n]*; this line is Parley's\]\r?\n/;

/** Whoever edits a proposal is its author from then on. */
function withOrigin(bytes: Uint8Array, { who, session }: Origin, atMs: number): Uint8Array {
  let text = Buffer.from(bytes).toString("latin1");
  while (firstLine.test(text)) text = text.replace(firstLine, "");
  const line = `[Proposal by ${plain(who)}, in ${plain(session)}, ${new Date(atMs).toISOString()}; this line is Parley's]\n`;
  return Buffer.concat([Buffer.from(line), Buffer.from(text, "latin1")]);
}

function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}[\];]/gu, "?").slice(0, 200);
}
