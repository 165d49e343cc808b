// Listens on the gateway's port. Where another program has it, the error says which, and what to do.
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { listenerAt } from "@parley/config";
import { Fault } from "@parley/protocol";

export function listen(http: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    http.once("error", (cause: NodeJS.ErrnoException) => {
      const taken =
        cause.code === "EADDRINUSE"
          ? listenerAt(host, port).then((who) => `${who} listens there`)
          : cause.message;
      void Promise.resolve(taken).then((why) =>
        reject(
          new Fault(
            "unavailable",
            `cannot listen on ${host} port ${port}: ${why}. Stop it, or set gateway.port`,
            { cause },
          ),
        ),
      );
    });
    http.listen({ host, port }, () => resolve((http.address() as AddressInfo).port));
  });
}

/** Returns the host as a browser on this machine reaches it. */
export function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
