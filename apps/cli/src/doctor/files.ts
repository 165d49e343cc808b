// The state folder: is it there, whose is it, who may read it, is there room.
import type { Stats } from "node:fs";
import { chmod, constants, mkdir, readdir, stat, statfs, access } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Config, LoadedConfig, Places } from "@parley/config";
import { error, ok, warn, type Finding } from "./finding.ts";

/** Less than this, and a night of traffic may fill the disk. */
const fewBytes = 512 * 1_048_576;

/**
 * What only the daemon's user should read: files of the state folder that hold secrets, chats, or what the
 * agent remembers.
 */
const privateNames =
  /^(?:gateway-token|gateway-port|parley\.json5.*|env|state\.db.*|.*\.db|.*\.db-(?:wal|shm)|daemon\.pid)$/;
const privateFolders = ["secrets", "media", "logs"];

export async function fileFindings(places: Places, loaded: LoadedConfig | null): Promise<Finding[]> {
  const { home } = places;
  const folder = await stat(home).catch(() => null);
  if (folder === null) {
    const make = (): Promise<void> => mkdir(home, { recursive: true, mode: 0o700 }).then(() => {});
    return [
      warn(
        "home.missing",
        `There is no state folder at ${home}`,
        "Run `parley setup`, or `parley start`",
        make,
      ),
    ];
  }
  if (!folder.isDirectory())
    return [
      error(
        "home.no-folder",
        `${home} is not a folder`,
        "Move it away, or set PARLEY_HOME to another folder",
      ),
    ];
  return [
    ...(await writableFinding(home)),
    ...modeFinding(home, folder, 0o700, "error"),
    ...(await ownerFinding(home, folder.uid)),
    ...(await privateFindings(places, (folder.mode & 0o077) === 0)),
    ...(await keyFindings(places, loaded)),
    ...(await statfs(home).then(({ bavail, bsize }) => roomFindings(home, bavail * bsize))),
    ...(await workspaceFindings(loaded?.config ?? null)),
  ];
}

async function writableFinding(home: string): Promise<Finding[]> {
  const trouble = await access(home, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => null,
    (cause: Error) => cause.message,
  );
  if (trouble === null) return [ok("home", `The state folder is ${home}`)];
  return [
    error(
      "home.not-writable",
      `The state folder ${home} cannot be written: ${trouble}`,
      "Run this as the user of the daemon, or give the folder to it with chown",
    ),
  ];
}

/** Files of another user in between cannot be opened by the daemon. */
async function ownerFinding(home: string, uid: number): Promise<Finding[]> {
  const found = await Promise.all(
    ["state.db", "parley.json5", "gateway-token"].map((name) =>
      stat(join(home, name)).then(
        (each) => ({ name, uid: each.uid }),
        () => null,
      ),
    ),
  );
  const strange = found.filter((each) => each !== null && each.uid !== uid).map((each) => each?.name);
  if (strange.length === 0) return [];
  return [
    error(
      "home.owner",
      `${strange.join(", ")} in ${home} belong to another user than the folder`,
      `Run \`chown -R ${uid} ${home}\` as root`,
    ),
  ];
}

/** `isClosed`: nobody else gets through to them anyway. */
async function privateFindings({ home, configPath }: Places, isClosed: boolean): Promise<Finding[]> {
  const names = (await readdir(home).catch(() => []))
    .filter((name) => privateNames.test(name))
    .map((name) => join(home, name));
  const folders = privateFolders.map((name) => join(home, name));
  const secrets = (await readdir(join(home, "secrets")).catch(() => [])).map((name) =>
    join(home, "secrets", name),
  );
  const paths = [...new Set([...names, ...folders, ...secrets, configPath])];
  const found = await Promise.all(
    paths.map(async (path) => ({ path, file: await stat(path).catch(() => null) })),
  );
  return found.flatMap(({ path, file }) =>
    file === null
      ? []
      : modeFinding(path, file, file.isDirectory() ? 0o700 : 0o600, isClosed ? "warn" : "error"),
  );
}

/**
 * Secrets that the config takes from elsewhere. A file of another user is theirs to close, and a platform
 * that mounts secrets may have its reasons: that is only told.
 */
async function keyFindings({ home, configPath }: Places, loaded: LoadedConfig | null): Promise<Finding[]> {
  const key = loaded?.config.store.redis?.tls?.keyFile;
  const named = [...(loaded?.reads ?? []), ...(key === undefined ? [] : [key])];
  // Those of the state folder's `secrets` are looked at with all that lies there.
  const elsewhere = [...new Set(named)].filter(
    (path) => path !== configPath && dirname(path) !== join(home, "secrets"),
  );
  const found = await Promise.all(
    elsewhere.map(async (path) => ({ path, file: await stat(path).catch(() => null) })),
  );
  return found.flatMap(({ path, file }) => {
    if (file === null) return [];
    const isOwn = file.uid === process.getuid?.();
    return modeFinding(path, file, 0o600, isOwn ? "error" : "warn").map(({ mend, ...finding }) =>
      isOwn && mend !== undefined ? { ...finding, mend } : finding,
    );
  });
}

/** False for a device that a link leads to, as /dev/null: that is open to everybody by right. */
function isFileOrFolder(file: Stats): boolean {
  return file.isFile() || file.isDirectory();
}

function modeFinding(path: string, file: Stats, most: number, level: "warn" | "error"): Finding[] {
  const now = file.mode & 0o777;
  if ((now & 0o077) === 0 || !isFileOrFolder(file)) return [];
  const mend = (): Promise<void> => chmod(path, now & most);
  const found = level === "error" ? error : warn;
  return [
    found(
      "files.mode",
      `Others on this machine may use ${path} (mode ${now.toString(8)})`,
      `chmod ${(now & most).toString(8)} ${path}`,
      mend,
    ),
  ];
}

export function roomFindings(home: string, free: number): Finding[] {
  if (free >= fewBytes) return [];
  const fix = "Free space: when the disk is full, nothing is acknowledged until there is room again";
  return [
    (free < fewBytes / 8 ? error : warn)(
      "disk.room",
      `Only ${Math.round(free / 1_048_576)} MB are free at ${home}`,
      fix,
    ),
  ];
}

const orders = /\.md$/i;

/** What anybody on this machine may write there, the agent takes for its orders and its memory. */
async function openFindings(workspace: string): Promise<Finding[]> {
  const closed = await isClosedAbove(workspace);
  if (closed) return [];
  const names = (await readdir(workspace).catch(() => [])).filter((name) => orders.test(name));
  const paths = [workspace, ...[...names, "memory", "skills"].map((name) => join(workspace, name))];
  const found = await Promise.all(
    paths.map(async (path) => ({ path, file: await stat(path).catch(() => null) })),
  );
  return found.flatMap(({ path, file }) => {
    if (file === null || (file.mode & 0o002) === 0 || !isFileOrFolder(file)) return [];
    return [
      error(
        "workspace.open",
        `Anybody on this machine may write ${path}, which gives the agent its orders (mode ${(file.mode & 0o777).toString(8)})`,
        `chmod o-w ${path}`,
        () => chmod(path, file.mode & 0o7775),
      ),
    ];
  });
}

/** Nobody else gets through one of the folders above, as that of the state is. */
async function isClosedAbove(path: string): Promise<boolean> {
  for (let above = dirname(path); above !== dirname(above); above = dirname(above)) {
    const folder = await stat(above).catch(() => null);
    if (folder !== null && (folder.mode & 0o001) === 0) return true;
  }
  return false;
}

async function workspaceFindings(config: Config | null): Promise<Finding[]> {
  const folders = [...new Set((config?.agents.list ?? []).map(({ workspace }) => workspace))];
  const found = await Promise.all(
    folders.map(async (folder): Promise<Finding[]> => {
      if ((await stat(folder).catch(() => null)) === null) return []; // The first start makes it.
      const trouble = await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
        () => null,
        (cause: Error) => cause.message,
      );
      return [
        ...(trouble === null
          ? []
          : [
              error(
                "workspace.not-writable",
                `The workspace ${folder} cannot be written: ${trouble}`,
                "Give it to the user of the daemon with chown",
              ),
            ]),
        ...(await openFindings(folder)),
      ];
    }),
  );
  return found.flat();
}
