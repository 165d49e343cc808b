// The beat of a connection before a server that asks for odd intervals: the times are virtual, the socket is
// real.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type Clock, silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { gatewayConnection } from "../../src/discord/connection.ts";
import { alice } from "./rig.ts";

test.each([
  [undefined, 41_250],
  [null, 41_250],
  ["50", 41_250],
  [45_000, 45_000],
  [1e12, 600_000],
  [-5, 10],
])(
  "asked to beat every %s ms, it beats every %i ms, at first at a moment drawn by chance",
  async (asked, everyMs) => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    let beats = 0;
    server.on("connection", (socket) => {
      socket.on("message", (raw: Buffer) => {
        const { op } = JSON.parse(raw.toString()) as { readonly op: number };
        if (op === 2)
          socket.send(
            JSON.stringify({ op: 0, t: "READY", s: 1, d: { session_id: "s", user: { id: alice.id } } }),
          );
        if (op !== 1) return;
        beats += 1;
        socket.send('{"op":11}');
      });
      socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: asked } }));
    });
    const time = virtualClock();
    const waits: number[] = [];
    const after: Clock["after"] = (afterMs, run) => {
      waits.push(afterMs);
      return time.after(afterMs, run);
    };
    let isLive = false;
    let acknowledged = 0;
    const stop = new AbortController();
    const ending = gatewayConnection({
      open: (url) => new WebSocket(url),
      url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: "t",
      intents: 1,
      session: null,
      onDispatch: () => true,
      onLive: () => void (isLive = true),
      onAlive: () => void (acknowledged += 1),
      clock: { ...time, after },
      ids: { ...seededIds(1), chance: () => 0.5 },
      log: silentLog,
      signal: stop.signal,
    });
    await expect.poll(() => isLive).toBe(true);
    expect(waits).toContain(everyMs / 2);
    await time.advance(everyMs / 2);
    expect(waits.at(-1)).toBe(everyMs);
    await expect.poll(() => acknowledged).toBe(1);
    await time.advance(everyMs);
    await expect.poll(() => acknowledged).toBe(2);
    expect(beats).toBe(2);
    stop.abort();
    await time.advance(1_000);
    expect((await ending).reason).toBe("the channel stops");
    for (const client of server.clients) client.terminate();
    server.close();
  },
);
