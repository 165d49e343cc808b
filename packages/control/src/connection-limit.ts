// Limits open connections of the port, also those that never send a byte: each holds a file handle, and the
// store needs some too (I9). Excess connections are cut at once, and no single address can take all the room.
import type { Server } from "node:http";
import type { Refusals } from "@parley/access";

const mostConnections = 1_024;
/** Clients behind an unknown proxy share one address: 256 WebSockets, and as many requests besides. */
const mostPerAddress = 512;

export interface BoundOptions {
  /** Clients of a known proxy share its address, so only the total is limited. */
  readonly isProxy: (address: string) => boolean;
  readonly refusals: Refusals;
}

export function boundConnections(http: Server, { isProxy, refusals }: BoundOptions): void {
  const open = new Map<string, number>();
  let all = 0;
  http.on("connection", (socket) => {
    const address = socket.remoteAddress ?? "unknown";
    const before = open.get(address) ?? 0;
    if (all >= mostConnections || (before >= mostPerAddress && !isProxy(address))) {
      refusals.note("too_many_connections", address, { address, all, fromAddress: before });
      socket.destroy();
      return;
    }
    all += 1;
    open.set(address, before + 1);
    socket.once("close", () => {
      all -= 1;
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}
