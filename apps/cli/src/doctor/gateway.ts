// The daemon and what it runs on: does it run, is it well, can it start, does a service bring it back.
import { constants, access, readFile, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { listenAddress, listenerAt, type Config, type Places } from "@parley/config";
import type { Console } from "../console.ts";
import { CommandFailure } from "../exit.ts";
import { gatewayProcess, said, type GatewayProcess } from "../gateway-process.ts";
import { supervisorOf } from "../unit/supervisor.ts";
import { isSameUnit, marker, unitPlan } from "../unit/plan.ts";
import { systemdUnit } from "../unit/systemd.ts";
import { launchdList } from "../unit/plist.ts";
import { withStoppedGateway } from "../with-gateway.ts";
import { error, ok, warn, type Finding } from "./finding.ts";

export async function gatewayFindings(
  terminal: Console,
  places: Places,
  config: Config | null,
): Promise<Finding[]> {
  const running = await found(terminal);
  if (running instanceof CommandFailure)
    return [error("gateway.refused", running.message, "Stop what listens there, or set gateway.port")];
  const now = running === null ? await stoppedFindings(terminal, places, config) : runningFindings(running);
  return [
    ...now,
    ...(await unitFindings(terminal, running?.pid ?? null)),
    ...(await programFindings(terminal, config)),
  ];
}

async function found(terminal: Console): Promise<GatewayProcess | CommandFailure | null> {
  try {
    return await gatewayProcess(terminal);
  } catch (failure) {
    if (failure instanceof CommandFailure) return failure;
    throw failure;
  }
}

function runningFindings({ pid, status }: GatewayProcess): Finding[] {
  if (status === null) {
    return [
      error(
        "gateway.silent",
        `The gateway (process ${pid}) runs and does not answer where the config says`,
        "Restart it; if it still does not answer, look at `parley logs`",
      ),
    ];
  }
  const { state, reasons, deadRows, deliveriesTroubled, channels, version } = status;
  return [
    state === "ok"
      ? ok("gateway", `Parley ${version} runs (process ${pid}) and is well`)
      : warn(
          "gateway.state",
          `The gateway is ${state}: ${reasons.join("; ") || "no reason given"}`,
          "docs/operations.md says what each reason means and what to do",
        ),
    ...channels
      .filter((each) => each.state === "down")
      .map((each) =>
        error(
          "channel.down",
          `${each.channel}:${each.account} is down${each.reason === undefined ? "" : `: ${each.reason}`}`,
          "Mend what the reason names, then `parley restart`",
        ),
      ),
    ...(deadRows > 0
      ? [
          warn(
            "gateway.dead",
            `${deadRows} messages failed for good`,
            "Look at `parley dead list`, then retry or drop them",
          ),
        ]
      : []),
    ...(deliveriesTroubled > 0
      ? [
          warn(
            "gateway.troubled",
            `${deliveriesTroubled} answers did not arrive`,
            "Look at `parley outbox list --troubled`, then retry or drop them",
          ),
        ]
      : []),
  ];
}

async function stoppedFindings(terminal: Console, places: Places, config: Config | null): Promise<Finding[]> {
  const result: Finding[] = [
    warn("gateway.stopped", "The gateway is not running", "Run `parley start`, or `parley service install`"),
  ];
  const address = config === null ? "" : listenAddress(config.gateway.bind);
  if (config !== null && (await listens(address, config.gateway.port))) {
    const who = await listenerAt(address, config.gateway.port);
    result.push(
      error(
        "gateway.port",
        `${who.replace(/^a/, "A")} listens on port ${config.gateway.port}`,
        "Stop it, or run `parley config set gateway.port <n>`",
      ),
    );
  }
  if (config === null || config.store.driver !== "sqlite") return result;
  const database = join(places.home, "state.db");
  if ((await stat(database).catch(() => null)) === null) return result;
  // Opened by the gateway's own code, which checks it and knows its schema; nothing is delivered meanwhile.
  const trouble = await withStoppedGateway(terminal, (client) =>
    client.request("lanes.list", { limit: 1 }),
  ).then(() => null, told);
  return [
    ...result,
    trouble === null
      ? ok("database", `${database} opens`)
      : error(
          "database",
          `${database}: ${trouble}`,
          "Restore a backup with `parley restore <file>`, or start the Parley that wrote it",
        ),
  ];
}

function told(failure: unknown): string {
  if (failure instanceof CommandFailure) return failure.message;
  throw failure;
}

function listens(address: string, port: number): Promise<boolean> {
  const host = address === "0.0.0.0" ? "127.0.0.1" : address;
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1000 });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", end(true)).once("error", end(false)).once("timeout", end(false));
  });
}

async function unitFindings(terminal: Console, pid: number | null): Promise<Finding[]> {
  for (const system of [false, true]) {
    const plan = unitPlan(terminal.env, { system });
    const text = await readFile(plan.file, "utf8").catch(() => null);
    if (text === null) continue;
    const state = await supervisorOf(terminal, plan).state();
    const flag = system ? " --system" : "";
    const wanted = plan.manager === "systemd" ? systemdUnit(plan) : launchdList(plan);
    return [
      state.running
        ? ok("service", `${plan.file} is installed and runs`)
        : warn(
            "service.stopped",
            `${plan.file} is installed and does not run`,
            `Run \`parley service install${flag}\`, or \`parley service uninstall${flag}\``,
          ),
      ...(state.told !== null && !state.enabled
        ? [
            warn(
              "service.disabled",
              "The service does not start with the machine",
              `Run \`parley service install${flag}\``,
            ),
          ]
        : []),
      ...(text.includes(marker) && !isSameUnit(text, wanted) && !system
        ? [
            warn(
              "service.stale",
              `${plan.file} was written for another version or place`,
              `Run \`parley service install${flag}\``,
            ),
          ]
        : []),
      ...(pid !== null && state.running && state.pid !== pid
        ? [
            error(
              "service.two",
              `The gateway that answers (process ${pid}) is not the service's`,
              "Stop it with `parley stop`, then `parley service install`",
            ),
          ]
        : []),
      ...(await lingerFindings(terminal, system)),
    ];
  }
  return [];
}

async function lingerFindings(terminal: Console, system: boolean): Promise<Finding[]> {
  const user = terminal.env["USER"];
  if (system || user === undefined) return [];
  if ((await said("loginctl", ["show-user", user, "--property=Linger", "--value"], terminal.env)) !== "no")
    return [];
  return [
    warn("service.linger", "The service ends when you log out", `Run \`loginctl enable-linger ${user}\``),
  ];
}

/** Programs that the config needs. */
async function programFindings({ env }: Console, config: Config | null): Promise<Finding[]> {
  const backends = new Set(
    (config?.agents.list ?? [])
      .filter(({ sandbox }) => sandbox.mode !== "off")
      .map(({ sandbox }) => sandbox.backend),
  );
  const wanted = [...backends].map((backend) => (backend === "docker" ? "docker" : "bwrap"));
  const shut = (config?.agents.list ?? [])
    .filter(
      ({ sandbox: { mode, backend, network } }) =>
        mode !== "off" && backend === "docker" && network === "egress",
    )
    .map(({ id }) =>
      error(
        "sandbox.egress",
        `The sandbox of ${id} is docker's, which has no network "egress": its commands are refused`,
        'Set sandbox.backend to "bubblewrap", or sandbox.network to false or true',
      ),
    );
  const missing: Finding[] = [...shut];
  for (const name of wanted) {
    if (await isOnPath(name, env["PATH"] ?? "")) continue;
    const fix =
      name === "bwrap"
        ? 'Install bubblewrap (apt install bubblewrap), or set sandbox.mode to "off"'
        : 'Install Docker, or set sandbox.backend to "bubblewrap"';
    missing.push(
      error(
        "sandbox.program",
        `The sandbox needs the program ${name}, which is not there: sandboxed commands are refused`,
        fix,
      ),
    );
  }
  return missing;
}

async function isOnPath(name: string, path: string): Promise<boolean> {
  const found = await Promise.all(
    path
      .split(":")
      .filter((folder) => folder !== "")
      .map((folder) =>
        access(join(folder, name), constants.X_OK).then(
          () => true,
          () => false,
        ),
      ),
  );
  return found.includes(true);
}
