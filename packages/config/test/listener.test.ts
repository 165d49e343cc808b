// Who listens at a port that is taken, told to a person: by name and process, with a command that is cut at
// its end.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { listenerAt } from "../src/listener.ts";

const open: Server[] = [];
afterEach(() => open.splice(0).forEach((server) => server.close()));

async function listens(body: string, port = 0): Promise<number> {
  const server = createServer((_, response) => response.end(body)).listen(port, "127.0.0.1");
  open.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test.each([
  ['{"ok":true}', "another Parley"],
  ['{"ok":false}', "another Parley"],
  ['{"ok":true} ', "another program"],
  ['{"ok":null}', "another program"],
  ["x".repeat(1_000), "another program"],
])("one that answers %j is %s", async (body, who) => {
  const port = await listens(body);
  for (const host of ["127.0.0.1", "0.0.0.0"])
    expect(await listenerAt(host, port)).toMatch(new RegExp(`^${who}`));
});

test.skipIf(!existsSync("/proc/net/tcp"))(
  "its process is named by the beginning of its command, and no other's",
  async () => {
    const port = await listens("");
    const told = await listenerAt("127.0.0.1", port);
    const [, pid, command = ""] = /^another program \(process (\d+): (.*)\)$/.exec(told) ?? [];
    expect(Number(pid)).toBe(process.pid);
    expect(command).toMatch(/^\S*(?:node|vitest)/);
    expect(command.length).toBeLessThanOrEqual(63);
    open.splice(0).forEach((server) => server.close());
    expect(await listenerAt("127.0.0.1", port)).toBe("another program");
  },
);
