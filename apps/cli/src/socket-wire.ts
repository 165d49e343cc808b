// The wire to a running gateway: one WebSocket. No reconnecting: a command is short.
import { controlPath } from "@parley/protocol";
import { CommandFailure } from "./exit.ts";
import { notRunning, type GatewayAddress } from "./gateway-address.ts";
import type { Wire } from "./wire.ts";

/** Rejects with CommandFailure("unavailable") when nothing answers. */
export async function socketWire(address: GatewayAddress): Promise<Wire> {
  const socket = new WebSocket(`${address.url.replace(/^http/, "ws")}${controlPath}`);
  const closed = new Promise<CommandFailure>((resolve) => {
    socket.addEventListener("close", ({ code, reason }) => {
      resolve(new CommandFailure("unavailable", `The gateway closed the connection: ${reason === "" ? `code ${code}` : reason}.`));
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(notRunning(address.url, address.configTrouble, "nothing answers there")));
  });
  return {
    closed,
    send(text) {
      if (socket.readyState !== WebSocket.OPEN) throw new CommandFailure("unavailable", "The connection to the gateway is closed.");
      socket.send(text);
    },
    listen: (listener) => socket.addEventListener("message", ({ data }) => listener(String(data))),
    close: () => socket.close(),
  };
}
