// Commands of a sandbox whose network is "egress", over the wire: a daemon, a model that calls exec, real
// curl, a site that the config opens and a canary that nothing may reach.
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { lacks, program } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cleanUp } from "./daemon.ts";
import { world, type World } from "./world.ts";

const bwrap = program("bwrap");
const owner = 4242;
let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

async function site(says: string) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? "");
    response.end(says);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return { seen, host: `127.0.0.1:${port}`, port, close: () => server.close() };
}

const sockets = async (): Promise<readonly string[]> =>
  (await readdir(tmpdir())).filter((name) => name.startsWith("parley-egress-"));

describe.skipIf(lacks(bwrap))("a sandbox whose network is egress", () => {
  test("reaches what the rules open, by its proxy alone", async () => {
    const open = await site("hello from outside");
    const canary = await site("secret");
    const commands = [
      `curl -sS http://${open.host}/a`,
      `curl -sS http://${canary.host}/b`,
      `curl -sS --noproxy "*" http://${canary.host}/c`,
      `exec 3<>/dev/tcp/127.0.0.1/${canary.port}`,
    ];
    const told: string[] = [];
    w.models.reply(({ lastToolResult }) => {
      if (lastToolResult !== null) told.push(lastToolResult);
      const command = commands[told.length];
      return command === undefined
        ? "done"
        : { toolCalls: [{ name: "exec", args: { command: ["bash", "-c", command] } }] };
    });
    const before = await sockets();
    await w.start({
      config: {
        commands: { ownerAllowFrom: [`telegram:${owner}`] },
        agents: { defaults: { sandbox: { mode: "all", network: "egress" } } },
        tools: { exec: { mode: "full" }, web: { egress: { allow: [open.host] } } },
      },
    });
    // Nothing listens before the first command needs it.
    expect(await sockets()).toEqual(before);
    w.telegram.as(owner).says("look outside");
    await w.answered(owner, 1, 60_000);
    expect(told[0]).toContain("hello from outside");
    expect(told[1]).toContain("may not be dialled at port");
    expect(told[2]).toMatch(/Failed to connect|refused/);
    expect(told[3]).toMatch(/refused/);
    expect([open.seen, canary.seen]).toEqual([["/a"], []]);
    expect(w.models.requests()[0]?.system).toContain("Network: http and https by the proxy in HTTPS_PROXY");
    open.close();
    canary.close();
  });
});
