// The agent's browser over the wire: a real Chromium behind the daemon, which ends with it.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { lacks, program, programPath } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, eventually } from "./daemon.ts";
import { world, type World } from "./world.ts";

const chromium = program("chromium");
let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

/** Processes whose command line names this folder. */
async function processesOf(folder: string): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "args"]);
  return stdout.split("\n").filter((line) => line.includes(`user-data-dir=${folder}`)).length;
}

describe.skipIf(lacks(chromium))("the agent's browser", () => {
  test("opens pages by the rules of egress, keeps pictures, and dies with a daemon that is killed", async () => {
    const server = createServer((_request, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<title>Shop</title><h1>Engines</h1>"),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const host = `127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    const steps = [
      { action: "open", url: `http://${host}/` },
      { action: "snapshot" },
      { action: "screenshot" },
      { action: "navigate", url: "http://127.0.0.1:8123/" },
    ];
    w.models.reply(() => {
      const args = steps.shift();
      return args === undefined ? "done" : { toolCalls: [{ name: "browser", args }] };
    });
    const daemon = await w.start({
      config: {
        browser: { executablePath: programPath(chromium), noSandbox: true },
        tools: { web: { egress: { allow: [host] } } },
      },
    });
    const profile = join(daemon.home, "browser");
    expect(await processesOf(profile)).toBe(0);
    w.telegram.as(4242).says("look at the shop");
    await w.answered(4242, 1, 60_000);
    const told = w.models
      .requests()
      .flatMap(({ lastToolResult: result }) => (result === null ? [] : [result]));
    expect(told[0]).toContain(`Tab t1: http://${host}/ "Shop"`);
    expect(told[1]).toContain('heading "Engines"');
    expect(told[2]).toMatch(/screenshot\.jpg is in downloads\//);
    expect(told[3]).toContain("may not be dialled");
    expect(await readdir(join(daemon.home, "workspace", "downloads"))).toHaveLength(1);
    expect(await processesOf(profile)).toBeGreaterThan(0);
    daemon.kill("SIGKILL");
    await daemon.exited;
    await eventually(async () => (await processesOf(profile)) === 0, 20_000, "the end of Chromium");
    server.closeAllConnections();
    server.close();
  });
});
