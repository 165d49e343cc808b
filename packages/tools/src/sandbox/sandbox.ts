// Defines where commands run and which folder file tools see. A sandbox turns a command into another one that
// runs it inside. File tools need no process inside: they work, through the same link-proof walk, in the very
// folder that is mounted, so they reach and write exactly what a command inside can.
export interface SandboxSettings {
  readonly backend: "bubblewrap" | "docker";
  /**
   * Whose scratch folder it is, where the workspace is not mounted. Each command has a sandbox of its own.
   */
  readonly scope: "session" | "agent" | "shared";
  readonly workspaceAccess: "none" | "ro" | "rw";
  /** `egress`: the web alone, through the gateway's proxy. */
  readonly network: boolean | "egress";
  readonly limits: SandboxLimits;
  readonly docker: { readonly image: string };
}

interface SandboxLimits {
  readonly memoryMb: number;
  readonly processes: number;
  /** Processor time of one process, in seconds. */
  readonly cpuSeconds: number;
}

export interface SandboxedCommand {
  readonly argv: readonly string[];
  /** Below the workspace, "" for the workspace itself. */
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
  readonly pty: boolean;
  readonly input: boolean;
  /** Guards the workspace where the command may write it. */
  readonly guarded: GuardedView;
}

/** Paths below the workspace that this command may not change. */
export interface GuardedView {
  readonly readOnly: readonly string[];
  /** Files that it sees nothing of. */
  readonly masked: readonly string[];
  /** Nothing of the workspace may be written. */
  readonly all: boolean;
}

export interface HostCommand {
  readonly argv: readonly string[];
  readonly env: { readonly [name: string]: string };
  /** Ends it where signals do not reach. */
  readonly ends?: readonly string[];
  /** It is ended when it has more: the kernel would let it. */
  readonly mostProcesses?: number;
}

/** For approvals and for people. */
export const networkWord = (network: SandboxSettings["network"]): "on" | "off" | "egress" =>
  network === "egress" ? network : network ? "on" : "off";

export interface Mounts {
  /** On the host. */
  readonly workspace: string;
  readonly readOnly: boolean;
  /** The home folder inside: programs keep settings and caches there, which a workspace must not have. */
  readonly userHome: string;
  /** Readable inside under their own paths: skills. */
  readonly readRoots: readonly string[];
  /**
   * As they would be seen inside, below the workspace or a folder of `readRoots`: an empty folder is shown
   * for each.
   */
  readonly hidden: readonly string[];
}

export interface Sandbox {
  readonly kind: "none" | "bubblewrap" | "docker";
  /** The sandbox's limits, for approvals: "bubblewrap, workspace rw, network off" (or on, or egress). */
  readonly rules: string;
  /** On the host: where file tools are rooted. */
  readonly workspace: string;
  readonly readOnly: boolean;
  /** Its folder is no workspace: nothing in it enters prompts, and nobody works there. */
  readonly scratch: boolean;
  /** The workspace as commands see it. */
  readonly inside: string;
  /** The search path that commands get; null where the sandbox brings its own programs. */
  readonly path: string | null;
  wrap(command: SandboxedCommand): HostCommand;
}

/** The workspace's path inside every sandbox. */
export const insidePath = "/workspace";

/** Converts a path inside to one relative to the workspace; null elsewhere. */
export function belowWorkspace(path: string): string | null {
  return path.startsWith(`${insidePath}/`) ? path.slice(insidePath.length + 1) : null;
}
