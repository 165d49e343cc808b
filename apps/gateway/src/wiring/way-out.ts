// Wires the proxy of sandboxes whose network is "egress": it listens on a socket in a folder of the gateway's
// user alone, from the first such sandbox on. Unused, nothing of it is loaded and nothing listens.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ForwardProxy } from "@parley/egress";
import type { Ids } from "@parley/protocol";
import type { MachinePorts } from "@parley/tools";
import type { WebWiring } from "./web.ts";

interface WiredWayOut {
  readonly wayOut: NonNullable<MachinePorts["wayOut"]>;
  close(): Promise<void>;
}

/** The path of a socket may have 107 characters, and a state folder lies where people want it. */
const prefix = "parley-egress-";

export function wireWayOut({
  configNow,
  clock,
  log,
  refused,
  ids,
  dialling = {},
}: WebWiring & { readonly ids: Ids }): WiredWayOut {
  const { resolve, allowedPorts = [] } = dialling;
  let opened: Promise<{ readonly proxy: ForwardProxy; readonly folder: string }> | null = null;

  async function open() {
    const { forwardProxy, rulesOf } = await import("@parley/egress");
    await sweep();
    const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
    const proxy = await forwardProxy({
      clock,
      ids,
      socketPath: join(folder, "sock"),
      rules: () => ({ ...rulesOf(configNow().tools.web.egress), allowedPorts }),
      ...(resolve === undefined ? {} : { resolve }),
      refused({ host, reason }) {
        refused(reason);
        log.warn(
          { host, reason },
          "an address was not dialled for a sandboxed command: it is closed to agents",
        );
      },
    });
    return { proxy, folder };
  }

  return {
    async wayOut() {
      opened ??= open().catch((error: unknown) => {
        opened = null;
        throw error;
      });
      const { folder } = await opened;
      return { socket: join(folder, "sock"), node: process.execPath };
    },
    async close() {
      const { proxy, folder } = (await opened) ?? {};
      await proxy?.close();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Removes what gateways left that were killed. */
async function sweep(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN;
    if (!(pid > 0) || isAlive(pid)) continue;
    // Another user's stays.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of somebody else may not be asked, and lives.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
