// Room for connections comes back as they close, for their address and for all.
import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import { expect, test } from "vitest";
import { boundConnections } from "../src/connection-limit.ts";

class Connection extends EventEmitter {
  destroyed = false;
  readonly remoteAddress: string;
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

test("no address takes all the room, all together no more than there is, and what closes makes room", () => {
  const http = new EventEmitter();
  const noted: string[] = [];
  boundConnections(http as Server, {
    isProxy: (address) => address === "proxy",
    refusals: { note: (_reason: string, address: string) => void noted.push(address) } as never,
  });
  const opened = (address: string, count: number): readonly Connection[] =>
    Array.from({ length: count }, () => {
      const connection = new Connection(address);
      http.emit("connection", connection);
      return connection;
    }).filter(({ destroyed }) => !destroyed);

  const behind = opened("proxy", 600);
  expect(behind).toHaveLength(600);
  for (const connection of behind) connection.destroy();
  const a = opened("a", 600);
  expect([a.length, noted.length]).toEqual([512, 88]);
  a[0]?.destroy();
  expect(opened("a", 2)).toHaveLength(1);
  expect(opened("proxy", 2_000)).toHaveLength(512);
  expect(opened("b", 1)).toHaveLength(0);
  // As many as there is room for come and go, again and again.
  for (const connection of a) connection.destroy();
  for (let round = 0; round < 5; round += 1) {
    const b = opened("b", 600);
    expect(b).toHaveLength(511);
    for (const connection of b) connection.destroy();
  }
});
