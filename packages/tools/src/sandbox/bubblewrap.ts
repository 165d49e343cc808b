// Runs commands in namespaces of their own, by bubblewrap: the system's programs read-only, the workspace, an
// empty /tmp, nothing else of the machine; no network unless it is allowed, or only the gateway's proxy; no
// capabilities; ended with the gateway. Linux only. Memory and processor time are limited for each process,
// the number of processes for a whole sandbox (the kernel counts a namespace's users by themselves). The
// kernel does not limit root's processes, so the gateway counts those now and then.
import { execFile } from "node:child_process";
import { lstat, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { Fault } from "@parley/protocol";
import { ignoring } from "../files/walk.ts";
import { findProgram } from "../find-program.ts";
import { foldersOf } from "./guard-scan.ts";
import {
  belowWorkspace,
  insidePath,
  type GuardedView,
  type HostCommand,
  type Mounts,
  type SandboxedCommand,
  type SandboxSettings,
} from "./sandbox.ts";
import { proxyVariables, relayProcesses, relays, wayOutMounts, withRelay, type WayOut } from "./way-out.ts";

const path = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/**
 * What programs need to resolve names, find libraries, check certificates and tell the time. Nothing with
 * accounts' secrets in it.
 */
const systemFiles = [
  "alternatives ca-certificates ca-certificates.conf crypto-policies group hosts host.conf ld.so.cache ld.so.conf ld.so.conf.d localtime",
  "mime.types nsswitch.conf passwd pki profile protocols resolv.conf services ssl terminfo timezone",
]
  .join(" ")
  .split(" ")
  .map((name) => `/etc/${name}`);

/**
 * What the kernel lets a user change whose number is root's, capabilities or not: core_pattern would run a
 * program on the machine itself. bubblewrap covers a part of it; the list is the one of containers (runc's
 * readonlyPaths), with folders of drivers.
 */
const kernelSettings = "sys sysrq-trigger irq bus fs acpi asound scsi driver dynamic_debug"
  .split(" ")
  .map((name) => `/proc/${name}`);

export async function bubblewrap(
  { network, limits }: SandboxSettings,
  { workspace, readOnly, userHome, readRoots, hidden }: Mounts,
  host: { readonly [name: string]: string },
  wayOut: WayOut | null,
): Promise<{ readonly path: string; wrap(command: SandboxedCommand): HostCommand }> {
  const [bwrap, prlimit] = await Promise.all([
    findProgram("bwrap", host["PATH"] ?? path),
    findProgram("prlimit", path),
  ]);
  if (bwrap === null)
    throw new Fault(
      "unsupported",
      "the sandbox needs bubblewrap: apt-get install bubblewrap, or set agents.defaults.sandbox.backend",
    );
  if (prlimit === null)
    throw new Fault("unsupported", "the sandbox needs prlimit: apt-get install util-linux");
  const below = hidden.flatMap((each) => belowWorkspace(each) ?? []);
  const isRoot = process.getuid?.() === 0;
  if (!readOnly) await nests(bwrap);
  const scratch = [
    ...((await knowsSizes(bwrap)) ? ["--size", String(limits.memoryMb * 1024 * 1024)] : []),
    "--tmpfs",
  ];
  const view = [
    ["--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"],
    network === true ? ["--share-net"] : [],
    ...(await Promise.all(systemFolders.map(asOnHost))),
    ...systemFiles.map((file) => ["--ro-bind-try", file, file]),
    ["--proc", "/proc", ...kernelSettings.flatMap((path) => ["--ro-bind-try", path, path])],
    // What lies in memory is bounded, and all else that is not mounted from elsewhere is read-only.
    [
      "--dev",
      "/dev",
      ...scratch,
      "/dev/shm",
      "--remount-ro",
      "/dev",
      ...scratch,
      "/tmp",
      "--dir",
      "/run",
      "--symlink",
      "/tmp",
      "/var/tmp",
    ],
    // The outer ones first: skills may lie in the state folder, and that in a folder that may be read.
    ...[...readRoots, ...hidden.filter((each) => belowWorkspace(each) === null)]
      .toSorted((a, b) => a.length - b.length)
      .map((each) => (hidden.includes(each) ? ["--tmpfs", each] : ["--ro-bind-try", each, each])),
    ["--ro-bind-try", bwrap, bwrap],
    wayOut === null ? [] : wayOutMounts(wayOut),
  ].flat();
  if (wayOut !== null) await relays(bwrap, view, wayOut);
  // Where nothing can be written no name can be turned into a link, so no second bubblewrap is needed.
  const place = ({ all, masked }: GuardedView): readonly string[] =>
    [
      [readOnly || all ? "--ro-bind" : "--bind", workspace, insidePath],
      ...pins(below, workspace),
      ...below.map((each) => ["--tmpfs", `${insidePath}/${each}`]),
      ...hidden.map((each) => ["--remount-ro", each]),
      ...(readOnly ? masked.map(hide) : []),
      ["--remount-ro", "/"],
    ].flat();
  const processes = limits.processes + (wayOut === null ? 0 : relayProcesses);
  const bounds = [
    `--data=${limits.memoryMb * 1024 * 1024}`,
    `--nproc=${processes}`,
    `--cpu=${limits.cpuSeconds}`,
    "--core=0",
  ];
  return {
    path,
    wrap({ argv, cwd, env, guarded }) {
      // Not --new-session: our commands lead sessions of their own already, and whatever is inside must stay
      // in the group that is ended with them. --die-with-parent alone leaves a gap: its inner process asks
      // for it a moment after the command has started.
      const chdir = ["--chdir", cwd === "" ? insidePath : `${insidePath}/${cwd}`];
      const inner = readOnly ? [] : innerView(bwrap, guarded, chdir);
      // Not --setenv: arguments are readable for everybody on the machine, the environment is not.
      return {
        argv: [
          bwrap,
          ...view,
          ...mapsRoot(inner),
          ...place(guarded),
          ...chdir,
          "--",
          ...inner,
          ...(wayOut === null ? [] : withRelay),
          prlimit,
          ...bounds,
          "--",
          ...argv,
        ],
        env: {
          ...env,
          ...(wayOut === null ? {} : proxyVariables),
          PATH: path,
          HOME: userHome,
          TMPDIR: "/tmp",
        },
        ...(isRoot ? { mostProcesses: processes } : {}),
      };
    },
  };
}

/**
 * A second bubblewrap inside the first one mounts the guarded paths. A command in another sandbox can turn
 * any of them into a link meanwhile; followed from in here, such a link leads to nothing that the sandbox
 * does not show anyway.
 */
function innerView(
  bwrap: string,
  { readOnly, masked, all }: GuardedView,
  chdir: readonly string[],
): readonly string[] {
  if (all || readOnly.length + masked.length === 0) return [];
  const inside = (path: string): string => `${insidePath}/${path}`;
  return [
    [bwrap, ...nested],
    ...pins([...readOnly, ...masked], insidePath),
    ...readOnly.map((path) => ["--ro-bind-try", inside(path), inside(path)]),
    ...masked.map(hide),
    [...chdir, "--"],
  ].flat();
}

/**
 * Folders with something below that is mounted are mounted too, as they are: nobody can rename what is
 * mounted. A command in another sandbox could otherwise move them away just before the mount, which would
 * then cover nothing.
 */
function pins(paths: readonly string[], from: string): readonly (readonly string[])[] {
  return [...new Set(paths.flatMap(foldersOf))]
    .toSorted()
    .map((path) => ["--bind-try", `${from}/${path}`, `${insidePath}/${path}`]);
}

/** Behind a device that the mount does not let anybody open. */
function hide(path: string): readonly string[] {
  return ["--ro-bind-try", "/dev/null", `${insidePath}/${path}`];
}

/**
 * With a user namespace of its own, also for root, who would get none. A command may look into processes of
 * its own namespace alone; into the first bubblewrap, by /proc/1/root, it would find what is guarded
 * unguarded.
 */
const nested = ["--unshare-user", "--die-with-parent", "--cap-drop", "ALL", "--dev-bind", "/", "/"];

/**
 * The kernel lets root's number stand in a second user namespace only then; the second one drops this before
 * the command starts.
 */
function mapsRoot(inner: readonly string[]): readonly string[] {
  return process.getuid?.() === 0 && inner.length > 0 ? ["--cap-add", "CAP_SETFCAP"] : [];
}

const nesting = new Map<string, Promise<void>>();

/** Throws Fault("unsupported") where a bubblewrap does not start in another one. */
function nests(bwrap: string): Promise<void> {
  const known = nesting.get(bwrap);
  if (known !== undefined) return known;
  const inner = [bwrap, ...nested, "--", "true"];
  const outer = [
    "--unshare-all",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    ...mapsRoot(inner),
    "--ro-bind",
    "/",
    "/",
  ];
  const tried = promisify(execFile)(bwrap, [
    ...outer,
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--",
    ...inner,
  ]).then(
    () => undefined,
    (cause: unknown) => {
      nesting.delete(bwrap); // The operator may have changed it by the next turn.
      throw new Fault(
        "unsupported",
        "a sandbox that may write the workspace needs bubblewrap inside bubblewrap, and this system does not allow it; " +
          'set agents.defaults.sandbox.workspaceAccess to "ro" or "none", allow unprivileged user namespaces, or use the docker backend',
        { cause },
      );
    },
  );
  nesting.set(bwrap, tried);
  return tried;
}

/**
 * Since 0.7 it can bound the folders that it keeps in memory; before, they have the half of the machine's
 * that the kernel gives.
 */
async function knowsSizes(bwrap: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)(bwrap, ["--version"]).catch((cause: unknown) => {
    throw new Fault("unsupported", `the sandbox needs bubblewrap, and ${bwrap} does not start`, { cause });
  });
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) > 0 || Number(minor) >= 7;
}

/** /bin is a folder on some systems and a link to usr/bin on others. */
async function asOnHost(folder: string): Promise<readonly string[]> {
  const found = await lstat(folder).catch(ignoring("ENOENT"));
  if (found === null) return [];
  return found.isSymbolicLink()
    ? ["--symlink", await readlink(folder), folder]
    : ["--ro-bind", folder, folder];
}
