// Opens the sandbox that the configuration asks for, with the folder that it works in. It throws where the
// machine cannot provide that sandbox.
import { createHash } from "node:crypto";
import { mkdir, realpath } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { Fault, type SessionKey } from "@parley/protocol";
import { bubblewrap } from "./bubblewrap.ts";
import { docker } from "./docker.ts";
import {
  insidePath,
  networkWord,
  type HostCommand,
  type Mounts,
  type Sandbox,
  type SandboxedCommand,
  type SandboxSettings,
} from "./sandbox.ts";
import type { WayOut } from "./way-out.ts";

export interface SandboxRequest {
  readonly agent: string;
  readonly session: SessionKey;
  readonly workspace: string;
  /** Scratch folders are made in here. */
  readonly folder: string;
  readonly readRoots: readonly string[];
  readonly hidden: readonly string[];
  readonly host: { readonly [name: string]: string };
  /** To the gateway's proxy; asked where the network is `egress`. */
  readonly wayOut?: (() => Promise<WayOut>) | undefined;
  /** Tells containers apart. */
  readonly mark: () => string;
}

/** `off`, every session, or every session but an agent's main one. */
export function isSandboxed(
  mode: "off" | "non-main" | "all",
  session: SessionKey,
  mainSessions: readonly SessionKey[],
): boolean {
  return mode === "all" || (mode === "non-main" && !mainSessions.includes(session));
}

export function noSandbox(workspace: string, path: string): Sandbox {
  const wrap = ({ argv, env }: SandboxedCommand): HostCommand => ({ argv, env });
  return {
    kind: "none",
    rules: "none",
    workspace,
    readOnly: false,
    scratch: false,
    inside: workspace,
    path,
    wrap,
  };
}

/**
 * Throws Fault("unsupported") when this machine cannot: a sandbox that is asked for and not there must not
 * become none.
 */
export async function openSandbox(settings: SandboxSettings, request: SandboxRequest): Promise<Sandbox> {
  const { workspaceAccess: access, network } = settings;
  const workspace = access === "none" ? await scratch(settings, request) : request.workspace;
  // What lies in the workspace is there already; a name in it could be made to lead anywhere before it is
  // mounted.
  const readRoots = request.readRoots.filter((root) => relative(request.workspace, root).startsWith(".."));
  const userHome = access === "rw" ? "/tmp" : insidePath;
  const hidden = await hiddenInside(request.hidden, [
    [workspace, insidePath],
    ...readRoots.map((root): Shown => [root, root]),
  ]);
  const mounts: Mounts = { workspace, userHome, readOnly: access === "ro", readRoots, hidden };
  const wayOut = network === "egress" ? await wayOutOf(settings, request) : null;
  const opened = await (settings.backend === "docker"
    ? docker(settings, mounts, request.host, request.mark)
    : bubblewrap(settings, mounts, request.host, wayOut));
  const rules = `${settings.backend}, workspace ${access}, network ${networkWord(network)}`;
  return {
    kind: settings.backend,
    rules,
    workspace,
    readOnly: mounts.readOnly,
    scratch: access === "none",
    inside: insidePath,
    ...opened,
  };
}

async function wayOutOf({ backend }: SandboxSettings, { wayOut }: SandboxRequest): Promise<WayOut> {
  if (backend === "docker")
    throw new Fault(
      "unsupported",
      'sandbox.network "egress" is there with the backend bubblewrap alone: a container would reach more than its proxy; set it to false or true for docker',
    );
  if (wayOut === undefined)
    throw new Fault("unsupported", 'sandbox.network is "egress", and there is no proxy in this process');
  return wayOut();
}

type Shown = readonly [onHost: string, inside: string];

/** Where hidden folders would be seen. By their real paths: the workspace's own may lead there by a link. */
async function hiddenInside(hidden: readonly string[], shown: readonly Shown[]): Promise<readonly string[]> {
  // Not there: as it is written.
  const real = (path: string): Promise<string> => realpath(path).catch(() => path);
  const found = await Promise.all(
    hidden.flatMap((path) =>
      shown.map(async ([onHost, inside]) => {
        const below = relative(await real(onHost), await real(path));
        return below === "" || below === ".." || below.startsWith("../") ? [] : [`${inside}/${below}`];
      }),
    ),
  );
  return found.flat();
}

async function scratch(
  { scope }: SandboxSettings,
  { agent, session, folder }: SandboxRequest,
): Promise<string> {
  const owner = {
    session: `session-${createHash("sha256").update(session).digest("hex").slice(0, 32)}`,
    agent: `agent-${agent}`,
    shared: "shared",
  };
  const name = owner[scope];
  const path = join(folder, name);
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    // Chats show this text, so it does not name the path of the state folder (I8).
    throw new Fault("unavailable", `the sandbox's folder ${basename(folder)}/${name} cannot be made`, {
      cause,
    });
  });
  return path;
}
