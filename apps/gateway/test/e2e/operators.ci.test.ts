// What an operator meets on a bad day: a clock that cannot be right, an agent that cannot work, a port that
// is taken, a disk that is full. The rest goes on, and what is wrong is said.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { lacks, program } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { cleanUp, freshHome, processEnv, programOf, startDaemon, testToken } from "./daemon.ts";
import { findableGateway, parley } from "./operator.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

interface Told {
  readonly state: string;
  readonly reasons: readonly string[];
}

async function statusOf(home: string): Promise<Told> {
  return JSON.parse((await parley(home, "--json", "status")).out) as Told;
}

test("an agent whose workspace is a file stops nobody else; status says which, and it works again when it can", async () => {
  const home = await freshHome();
  const place = join(home, "in-the-way");
  await writeFile(place, "");
  const agents = { list: [{ id: "main" }, { id: "broken", workspace: place }] };
  const bindings = [{ agentId: "broken", match: { channel: "telegram", peer: { kind: "dm", id: "77" } } }];
  const daemon = await w.start({
    home,
    config: { agents: { ...(w.config["agents"] as object), ...agents }, bindings },
  });
  expect(await statusOf(home)).toEqual(
    expect.objectContaining({
      state: "degraded",
      reasons: [`agent broken cannot work: ${place} is a file, not a folder`],
    }),
  );
  w.telegram.as(4242).says("hello");
  expect(await w.answered(4242, 1)).toEqual(["echo: hello"]);
  w.telegram.as(77).says("and you?");
  expect((await w.answered(77, 1))[0]).not.toContain(place);
  expect(await parley(home, "config", "set", "logging.level", "debug")).toMatchObject({ exitCode: 1 });
  await rm(place);
  await mkdir(place);
  expect((await statusOf(home)).state).toBe("ok");
  w.telegram.as(77).says("again");
  expect((await w.answered(77, 2))[1]).toBe("echo: again");
  expect(await daemon.stop()).toBe(0);
}, 300_000);

test("keys in `env` beside the config are found by a start by hand and by every command; the real environment wins", async () => {
  const home = await freshHome();
  await writeFile(join(home, "env"), `# for the service, too\nOPS_TOKEN="${testToken}"\nOPS_LEVEL=warn\n`, {
    mode: 0o600,
  });
  const gateway = { port: 0, auth: { token: { env: "OPS_TOKEN" } } };
  const daemon = await startDaemon({
    home,
    config: { gateway, logging: { level: "${OPS_LEVEL}" } },
    env: { OPS_LEVEL: "info" },
  });
  expect(daemon.log()).toContain('"msg":"ready"');
  expect((await parley(home, "config", "validate")).exitCode).toBe(0);
  expect((await parley(home, "status")).exitCode).toBe(0);
});

test("a port that is taken: the start says by whom", async () => {
  const { gateway } = await findableGateway();
  const first = await startDaemon({ config: { gateway } });
  expect((await parley(first.home, "config", "set", "logging.file.keep", "3")).out).toContain(
    "brings it into effect: logging.file.keep",
  );
  await expect(startDaemon({ config: { gateway } })).rejects.toThrow(
    new RegExp(`cannot listen on .*another Parley \\(process ${first.pid}: .*\\) listens there`),
  );
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await expect(startDaemon({ config: { gateway: { port, auth: { token: testToken } } } })).rejects.toThrow(
    new RegExp(`another program \\(process ${process.pid}: `),
  );
});

const cli = programOf("cli");

test.each(["config schema", "--help", "--json config get"])(
  "`parley %s > /dev/full` fails",
  async (words) => {
    const home = await freshHome();
    const child = spawn("sh", ["-c", `exec "$0" "$1" ${words} > /dev/full`, process.execPath, cli], {
      env: processEnv(home),
    });
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    expect(await once(child, "close")).toEqual([1, null]);
    expect(err).toContain("Standard output could not be written: ENOSPC");
  },
);

test("a terminal gets one line of a message, its end; at the level debug all of them", async () => {
  const shown = async (level: string): Promise<string> => {
    const script = `import { logger } from ${JSON.stringify(new URL("../../src/log/logger.ts", import.meta.url).href)};
      const { log } = await logger({ level: "${level}", pretty: true, secrets: [] });
      for (const words of ["received", "turn begins", "turn committed", "sent"]) log.info({ rows: ["r"] }, words);
      log.warn({ rows: ["r"] }, "sent");`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    child.stderr.on("data", (chunk: Buffer) => (text += chunk.toString()));
    await once(child, "close");
    return text;
  };
  const said = await shown("info");
  expect(said.trimEnd().split("\n")).toEqual([
    expect.stringMatching(/INFO.*turn committed/),
    expect.stringMatching(/WARN.*sent/),
  ]);
  expect((await shown("debug")).match(/INFO/g)).toHaveLength(4);
});

describe.skipIf(lacks(program("faketime")))("with a clock of 1970", () => {
  test("the log, status and doctor say so", async () => {
    const daemon = await startDaemon({ config: {}, under: ["faketime", "-f", "@1970-01-02 00:00:00"] });
    expect(daemon.log()).toContain("this machine's clock says 1970-01-02");
    expect(await statusOf(daemon.home)).toMatchObject({
      state: "degraded",
      reasons: [expect.stringContaining("this machine's clock says 1970-01-0")],
    });
  });
});
