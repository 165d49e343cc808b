// Guards a workspace around a command that may not change guarded paths. Before the command, it finds all
// that lies there, to mount it read-only, and records it. After the command, it puts aside what could not be
// mounted because it was not there; and on the host it records the changes of a stranger's command to files
// that enter prompts as the stranger's.
import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { Fault, isFault } from "@parley/protocol";
import { guardOf, ownFolder } from "../files/guarded-paths.ts";
import { isOlder, type Begun, type Origin, type Origins, type Watch } from "../files/origins.ts";
import { filesBelow, promptFiles } from "../files/prompt-files.ts";
import { contentHash, rooted, type Rooted } from "../files/rooted.ts";
import { openUp } from "../files/open-up.ts";
import { entryPath, ignoring, walk, type Folder } from "../files/walk.ts";
import { isMounted, scanGuarded } from "./guard-scan.ts";
import type { GuardedView } from "./sandbox.ts";

export interface WatchRequest {
  readonly root: string;
  readonly origin: Origin;
  readonly alsoPrompt: readonly string[];
  /** Folders that no command sees, absolute. */
  readonly hidden: readonly string[];
  readonly origins: Origins | undefined;
}

export interface Watched {
  readonly view: GuardedView;
  /** Why the command may write less than it else might. */
  readonly note: string | null;
  /** Call it when nothing of the command runs any more. Says what was put aside. */
  end(): Promise<string>;
}

export const nothingGuarded: GuardedView = { readOnly: [], masked: [], all: false };

interface Running {
  /** Null until what was there is known; its command has not started then. */
  begun: (Begun & { readonly id: string | undefined }) | null;
}

/** Commands in sandboxes that may write a workspace, by its root. */
const running = new Map<string, Set<Running>>();

/**
 * A command in a sandbox that may write the workspace. `byName`: its mounts are named on the host, where
 * another command could turn a name into a link before it is mounted. Then only one at a time may write.
 */
export async function watchSandboxed(request: WatchRequest, byName: boolean): Promise<Watched> {
  const { root, origin, alsoPrompt, hidden, origins } = request;
  const here = running.get(root) ?? new Set();
  running.set(root, here);
  const othersBefore = [...here];
  const mine: Running = { begun: null };
  here.add(mine);
  try {
    return await begin();
  } catch (error) {
    leave();
    throw error;
  }

  async function begin(): Promise<Watched> {
    await makeOwnFolder(root);
    const { guarded: found, readOnly, masked, tooMuch } = await scanGuarded({ root, alsoPrompt, hidden });
    const hashed = await hashes(root, await promptFiles(root, alsoPrompt));
    // All that can have made something until now. What none of them found either was there before; the rest
    // is put aside by each of them, as long as Parley did not make it.
    const started = [...new Set([...othersBefore, ...here])].flatMap(({ begun }) =>
      begun === null ? [] : [begun],
    );
    const others = await Promise.all(started.map((begun) => settled(begun, origins)));
    const wasThere = (path: string): boolean => {
      const identity = found.get(path);
      return identity !== undefined && others.every((other) => isKnown(other, path, identity));
    };
    const guarded = Object.fromEntries([...found].filter(([path]) => wasThere(path)));
    const isIn = (path: string): boolean =>
      Object.keys(guarded).some((known) => path === known || path.startsWith(`${known}/`));
    const prompts = Object.fromEntries(Object.entries(hashed).filter(([path]) => isIn(path)));
    const made = Object.assign({}, ...others.map((other) => other.made)) as Watch["made"];
    const begun: Begun = { root, origin, alsoPrompt, guarded, prompts, made };
    const id = await origins?.begin(begun);
    mine.begun = { ...begun, id };
    const shut = tooMuch ? muchNote : byName && othersBefore.length > 0 ? othersNote : null;
    return {
      view: { readOnly, masked, all: shut !== null },
      note: shut,
      async end() {
        try {
          return await endWatch(await settled({ ...begun, id }, origins), hidden, origins);
        } finally {
          leave();
        }
      },
    };
  }

  function leave(): void {
    here.delete(mine);
    if (here.size === 0) running.delete(root);
  }
}

/** With what Parley made since. */
async function settled(
  begun: Begun & { readonly id: string | undefined },
  origins: Origins | undefined,
): Promise<Watch> {
  const { root, id } = begun;
  const now = id === undefined ? null : ((await origins?.watch(root, id)) ?? null);
  return now ?? { made: {}, ...begun, id: id ?? "command" };
}

const muchNote =
  "the workspace was read-only for it: it holds more settings (names with a dot) or more files than can be guarded, or a folder whose name is not UTF-8";
const othersNote = "the workspace was read-only for it, because another command runs in it";

/** So that a command cannot make it: what stands in there is Parley's to act upon. */
async function makeOwnFolder(root: string): Promise<void> {
  const path = join(root, ownFolder);
  await mkdir(path, { recursive: true }).catch(ignoring("EEXIST"));
  if (!(await lstat(path)).isDirectory())
    throw new Fault(
      "invalid",
      `${ownFolder} in the workspace is not a folder; remove it, because Parley keeps its own files there`,
    );
}

/**
 * A command in a sandbox with a folder of its own, which several sessions may share: what Parley keeps there
 * is out of its reach.
 */
export async function watchScratch(root: string): Promise<Watched> {
  await makeOwnFolder(root);
  return { view: { ...nothingGuarded, readOnly: [ownFolder] }, note: null, end: async () => "" };
}

/**
 * A command in a sandbox that may only read the workspace: files that have another name outside are hidden
 * from it.
 */
export async function watchReader({ root, alsoPrompt, hidden }: WatchRequest): Promise<Watched> {
  const { masked } = await scanGuarded({ root, alsoPrompt, hidden });
  return { view: { ...nothingGuarded, masked }, note: null, end: async () => "" };
}

/** A command on the host that an owner did not ask for. */
export async function watchOnHost({
  root,
  origin,
  alsoPrompt,
  hidden,
  origins,
}: WatchRequest): Promise<Watched> {
  const begun: Begun = {
    root,
    origin,
    alsoPrompt,
    prompts: await hashes(root, await promptFiles(root, alsoPrompt)),
  };
  const id = await origins?.begin(begun);
  return {
    view: nothingGuarded,
    note: null,
    async end() {
      const now = id === undefined ? null : await origins?.watch(root, id);
      return now === null || now === undefined ? "" : endWatch(now, hidden, origins);
    },
  };
}

/** Also for a watch whose process died. */
export async function endWatch(
  watch: Watch,
  hidden: readonly string[],
  origins: Origins | undefined,
): Promise<string> {
  const { root, id, prompts, made, alsoPrompt } = watch;
  const aside =
    watch.guarded === undefined
      ? []
      : await putAside(rooted({ root }), id, await newlyGuarded(watch, hidden));
  const looked = [...(await promptFiles(root, alsoPrompt)), ...Object.keys(prompts), ...Object.keys(made)];
  const now = Object.entries(await hashes(root, [...new Set(looked)])).map(([path, sha256]) => ({
    path,
    sha256,
  }));
  const changed = now.filter((file) => !isOlder(watch, file));
  await origins?.end(watch, changed);
  if (aside.length > 0) await keepHeld(root);
  if (aside.length === 0) return "";
  const more = aside.length > mostTold ? `, and ${aside.length - mostTold} more` : "";
  return `put aside, because commands in a sandbox may not make them: ${aside.slice(0, mostTold).join(", ")}${more}`;
}

/** Paths that were not there. A folder in which Parley made something meanwhile is looked into. */
async function newlyGuarded(watch: Watch, hidden: readonly string[]): Promise<readonly string[]> {
  const { root, guarded: before = {}, made, alsoPrompt } = watch;
  const { guarded } = await scanGuarded({ root, alsoPrompt, hidden, before });
  const found: string[] = [];
  for (const [path, identity] of guarded) {
    if (isKnown(watch, path, identity) || path in made || guardOf(path, alsoPrompt) === "own") continue;
    if (!Object.keys(made).some((each) => each.startsWith(`${path}/`))) found.push(path);
    else found.push(...(await filesBelow(root, path)).filter((file) => !(file in made)));
  }
  return found;
}

/**
 * A folder that was renamed takes along what lies in it. An editor replaces a prompt file: its content tells
 * then.
 */
function isKnown({ guarded = {}, alsoPrompt }: Watch, path: string, identity: string): boolean {
  if (guarded[path] === identity || (guardOf(path, alsoPrompt) === "prompt" && path in guarded)) return true;
  return isMounted(identity) && Object.values(guarded).includes(identity);
}

const mostTold = 20;

/** Files that were put aside stay for this many commands; the oldest go first (I9). */
const mostHeld = 100;

async function keepHeld(root: string): Promise<void> {
  const held = join(root, ownFolder, "held");
  await chmod(held, 0o700); // Programs inside may run with their owner's rights.
  // Another command may prune at the same time.
  const folders = await Promise.all(
    (await readdir(held)).map(async (name) => {
      const found = await lstat(join(held, name)).catch(ignoring("ENOENT"));
      return { path: join(held, name), atMs: found?.mtimeMs ?? 0 };
    }),
  );
  const oldest = folders.toSorted((a, b) => b.atMs - a.atMs).slice(mostHeld);
  for (const { path } of oldest)
    await rm(path, { recursive: true, force: true }).catch(() => removeHard(path));
}

/** Deeper than a path is long, or closed: these programs can. What even they cannot remove stays. */
async function removeHard(path: string): Promise<void> {
  await run("chmod", ["-R", "u+rwX", "--", path]).catch(() => undefined);
  await run("rm", ["-rf", "--", path]).catch(() => undefined);
}

const run = promisify(execFile);

/** By way of `walk`, because what still runs in another sandbox may turn a folder into a link. */
async function putAside(files: Rooted, id: string, paths: readonly string[]): Promise<readonly string[]> {
  const told: string[] = [];
  for (const [index, path] of paths.entries()) {
    const name = basename(path);
    const target = `${ownFolder}/held/${id}/${index + 1}-${name.replace(/^\.+/, "").slice(0, 60)}`;
    const move = (): Promise<void> =>
      walk(files, `${dirname(path)}/.`, false, async ({ folder }) =>
        walk(files, target, true, async (place) => {
          for (const [nth, each] of (await bytesOf(folder, name)).entries())
            await rename(each, entryPath(place.folder, nth === 0 ? place.name : `${place.name}-${nth}`));
        }),
      );
    try {
      await move().catch(async (error: unknown) => {
        if (!isFault(error, "denied") || !(await openUp(files.root, path))) throw error;
        await move();
      });
      told.push(`${path} (now ${target})`);
    } catch (error) {
      if (!isFault(error, "missing")) told.push(`${path} (it could not be moved)`);
      if (!isFault(error)) throw error;
    }
  }
  return told;
}

/** The paths of an entry, of several where they read alike because they are not UTF-8. */
async function bytesOf(folder: Folder, name: string): Promise<readonly (string | Buffer)[]> {
  const plain = entryPath(folder, name);
  if (!name.includes("\ufffd")) return [plain];
  const found = (await readdir(entryPath(folder, "."), { encoding: "buffer" })).filter(
    (each) => each.toString() === name,
  );
  return found.map((each) => Buffer.concat([Buffer.from(entryPath(folder, "")), each]));
}

async function hashes(root: string, paths: readonly string[]): Promise<{ readonly [path: string]: string }> {
  const workspace = rooted({ root });
  const found: { [path: string]: string } = {};
  for (const path of paths) {
    const file = await workspace.readWhole(path).catch(onlyFaults);
    if (file !== null) found[path] = contentHash(file.bytes);
  }
  return found;
}

/** Ignores faults, because an unreadable file enters no prompt. */
function onlyFaults(error: unknown): null {
  if (isFault(error)) return null;
  throw error;
}
