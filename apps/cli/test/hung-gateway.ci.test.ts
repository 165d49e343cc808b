// Status and stop against a gateway whose process lives and says nothing: both wait for it, so this takes
// twenty seconds.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parley, stateFolder } from "./fake-gateway.ts";

test(
  "a gateway that hangs is told from one that is not there, and stop ends it for good",
  { timeout: 300_000 },
  async () => {
    const script =
      "process.on('SIGTERM', () => {}); const s = require('node:net').createServer(() => {}).listen(0, '127.0.0.1', () => console.log(s.address().port))";
    const child = spawn(process.execPath, ["-e", `${script} // gateway`], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const port = await new Promise<string>((resolve) =>
      child.stdout.once("data", (text: Buffer) => resolve(text.toString().trim())),
    );
    const home = stateFolder(null);
    writeFileSync(join(home, "gateway-port"), `${port} ${child.pid} loopback ${"t".repeat(43)}\n`);
    writeFileSync(join(home, "daemon.pid"), `${child.pid}\n`);
    const asked = await parley(home, ["status"]);
    expect([asked.exitCode, asked.out]).toEqual([1, ""]);
    expect(asked.err).toMatch(
      new RegExp(`does not answer\\. Its process ${child.pid} said nothing .*\\n\`parley stop\` ends it`),
    );
    const { exitCode, out, err } = await parley(home, ["stop"], { env: { PATH: "/usr/bin:/bin" } });
    expect([exitCode, out]).toEqual([0, `The gateway (process ${child.pid}) hung and was ended.\n`]);
    expect(err).toContain("It is killed");
  },
);
