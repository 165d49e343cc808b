// What the doctor says of the daemon and of the service that is to bring it back, word by word.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { placesIn } from "@parley/config";
import { expect, onTestFinished, test } from "vitest";
import { gatewayFindings } from "../src/doctor/gateway.ts";
import { unitPlan } from "../src/unit/plan.ts";
import { systemdUnit } from "../src/unit/systemd.ts";
import { fakeGateway, stateFolder } from "./fake-gateway.ts";

const env = (home: string, more: { readonly [name: string]: string } = {}) => ({
  PARLEY_HOME: home,
  HOME: home,
  PATH: `${home}/bin`,
  ...more,
});

async function findings(
  home: string,
  more: { readonly [name: string]: string } = {},
): Promise<readonly string[]> {
  const [input, out, err] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const terminal = { env: env(home, more), input, out, err, json: true };
  const found = await gatewayFindings(terminal, placesIn(terminal.env), null);
  return found.map(
    ({ id, level, message, fix }) => `${level} ${id}: ${message}${fix === "" ? "" : ` -> ${fix}`}`,
  );
}

const status = {
  version: "1.2.3",
  pid: 77,
  bootId: "b",
  state: "ok",
  reasons: [],
  channels: [{ channel: "telegram", account: "a", state: "ok" }],
  deadRows: 0,
  deliveriesTroubled: 0,
};
const wellWords = "ok gateway: Parley 1.2.3 runs (process 77) and is well";
const channel = (account: string, state: string, reason?: string) => ({
  channel: "discord",
  account,
  state,
  ...(reason === undefined ? {} : { reason }),
});

test.each<[string, object, readonly string[]]>([
  ["is well", {}, [wellWords]],
  [
    "has troubles",
    { state: "degraded", reasons: ["the disk is full", "a model is down"] },
    [
      "warn gateway.state: The gateway is degraded: the disk is full; a model is down -> docs/operations.md says what each reason means and what to do",
    ],
  ],
  [
    "names no reason",
    { state: "draining" },
    [
      "warn gateway.state: The gateway is draining: no reason given -> docs/operations.md says what each reason means and what to do",
    ],
  ],
  [
    "has channels that are down",
    {
      channels: [
        channel("a", "down", "wrong token"),
        channel("b", "degraded", "slow"),
        channel("c", "down"),
        channel("d", "ok"),
      ],
    },
    [
      wellWords,
      "error channel.down: discord:a is down: wrong token -> Mend what the reason names, then `parley restart`",
      "error channel.down: discord:c is down -> Mend what the reason names, then `parley restart`",
    ],
  ],
  [
    "gave messages and answers up",
    { deadRows: 1, deliveriesTroubled: 2 },
    [
      wellWords,
      "warn gateway.dead: 1 messages failed for good -> Look at `parley dead list`, then retry or drop them",
      "warn gateway.troubled: 2 answers did not arrive -> Look at `parley outbox list --troubled`, then retry or drop them",
    ],
  ],
  [
    "gave messages up alone",
    { deadRows: 3 },
    [
      wellWords,
      "warn gateway.dead: 3 messages failed for good -> Look at `parley dead list`, then retry or drop them",
    ],
  ],
])("of a gateway that %s", async (_what, more, told) => {
  const gateway = await fakeGateway(() => ({ ...status, ...more }));
  expect(await findings(gateway.home)).toEqual(told);
});

test("one that lets nobody in is told with its words; one that runs and does not listen with its process", async () => {
  const gateway = await fakeGateway(() => ({}), "the token is wrong");
  expect(await findings(gateway.home)).toEqual([
    expect.stringMatching(
      /^error gateway\.refused: The gateway at http.*the token is wrong[^]* -> Stop what listens there, or set gateway\.port$/,
    ),
  ]);
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "gateway"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const home = stateFolder("{ gateway: { port: 1 } }");
  writeFileSync(join(home, "daemon.pid"), `${child.pid}\n`);
  expect(await findings(home)).toEqual([
    `error gateway.silent: The gateway (process ${child.pid}) runs and does not answer where the config says -> Restart it; if it still does not answer, look at \`parley logs\``,
  ]);
});

const own = "wanted";
const systemctl = (pid: number, active: string, enabled: string): string =>
  `echo MainPID=${pid}; echo ActiveState=${active}; echo SubState=x; echo UnitFileState=${enabled}`;
const install = "`parley service install`";
const lingers = "warn service.linger: The service ends when you log out -> Run `loginctl enable-linger eve`";

test.each<[string, { unit?: string; ctl: string; linger?: string; user?: string }, readonly string[]]>([
  [
    "runs this gateway and stays",
    { ctl: systemctl(77, "active", "enabled") },
    ["ok service: FILE is installed and runs"],
  ],
  [
    "runs another process, is not enabled and ends with the login",
    { ctl: systemctl(78, "active", "disabled"), linger: "no", user: "eve" },
    [
      "ok service: FILE is installed and runs",
      `warn service.disabled: The service does not start with the machine -> Run ${install}`,
      "error service.two: The gateway that answers (process 77) is not the service's -> Stop it with `parley stop`, then `parley service install`",
      lingers,
    ],
  ],
  [
    "does not run while a gateway does, for a user who may linger",
    { ctl: systemctl(78, "failed", "enabled"), linger: "yes", user: "eve" },
    [
      "warn service.stopped: FILE is installed and does not run -> Run `parley service install`, or `parley service uninstall`",
    ],
  ],
  [
    "cannot be asked about",
    { ctl: "exit 1", linger: "no" },
    [
      "warn service.stopped: FILE is installed and does not run -> Run `parley service install`, or `parley service uninstall`",
    ],
  ],
  [
    "was written for an older version",
    { unit: "marked", ctl: systemctl(77, "active", "enabled-runtime") },
    [
      "ok service: FILE is installed and runs",
      `warn service.stale: FILE was written for another version or place -> Run ${install}`,
    ],
  ],
  [
    "is somebody's own",
    { unit: "[Service]\nExecStart=/bin/true\n", ctl: systemctl(77, "active", "enabled") },
    ["ok service: FILE is installed and runs"],
  ],
])("of a service that %s", async (_what, { unit = own, ctl, linger = "yes", user }, told) => {
  const { home } = await fakeGateway(() => status);
  mkdirSync(join(home, "bin"));
  for (const [name, body] of [
    ["systemctl", ctl],
    ["loginctl", `echo ${linger}`],
  ] as const)
    writeFileSync(join(home, "bin", name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  const more = user === undefined ? {} : { USER: user };
  const plan = unitPlan(env(home, more), { manager: "systemd" });
  const wanted = systemdUnit(plan);
  mkdirSync(join(plan.file, ".."), { recursive: true });
  writeFileSync(plan.file, unit === own ? wanted : unit === "marked" ? `${wanted}# older\n` : unit);
  const found = await findings(home, more);
  expect(found.map((each) => each.replace(plan.file, "FILE"))).toEqual([wellWords, ...told]);
});
