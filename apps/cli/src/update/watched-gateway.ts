// The gateway of this state folder as an update needs it: how it is, restarted, stopped, started by whatever
// runs it.
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { placesIn } from "@parley/config";
import { deadline, sleep, systemClock, type Clock, type MethodResult } from "@parley/protocol";
import type { GatewayNow, WatchedGateway } from "@parley/update";
import { stop } from "../commands/stop.ts";
import type { Console } from "../console.ts";
import { CommandFailure } from "../exit.ts";
import { gatewayAddress } from "../gateway-address.ts";
import { argumentsOf, gatewayProcess, look, pidInHome } from "../gateway-process.ts";
import { supervising, supervisorOf } from "../unit/supervisor.ts";
import { quietly, withGateway } from "../with-gateway.ts";

const pageWithinMs = 10_000;
/** Service managers that nobody can ask begin the next start within a second or two. */
const startedByOthersWithinMs = 3_000;
const lookEveryMs = 200;

/** `launcher` is the program that starts whatever version is in force. */
export function watchedGateway(
  terminal: Console,
  launcher: string,
  clock: Clock = systemClock(),
): WatchedGateway {
  const { home } = placesIn(terminal.env);
  const silent = { ...quietly(terminal), out: new Writable({ write: (_chunk, _encoding, done) => done() }) };

  async function answered(): Promise<Awaited<ReturnType<typeof look>>> {
    try {
      return await look(terminal);
    } catch (error) {
      // As it closes its port it may refuse in other words.
      if (error instanceof CommandFailure) return null;
      throw error;
    }
  }

  /** Of the one that answers, also where several nodes of this machine share the folder. */
  async function pidNow(): Promise<number | null> {
    const found = await answered();
    return found === null || found === "silent" ? pidInHome(terminal) : found.pid;
  }

  return {
    async now() {
      const found = await answered();
      return found === null || found === "silent" ? found : shown(found);
    },
    isThere: async () => (await pidInHome(terminal)) !== null,
    async ranAs() {
      const pid = await pidNow();
      if (pid === null) return null;
      const args = await argumentsOf(pid, terminal.env);
      return { args: [...args], service: (await supervising(terminal, pid))?.service ?? null };
    },
    async restart() {
      await withGateway(quietly(terminal), (client) =>
        client.request("restart", { reason: "parley update" }),
      );
    },
    async stop() {
      if ((await gatewayProcess(terminal)) !== null) await stop(silent, {});
    },
    async start(ran) {
      const service = ran?.service ?? null;
      if (service !== null) return supervisorOf(terminal, service).start();
      for (let waitedMs = 0; waitedMs < startedByOthersWithinMs; waitedMs += lookEveryMs) {
        if ((await pidInHome(terminal)) !== null) return;
        await sleep(clock, lookEveryMs);
      }
      mkdirSync(join(home, "logs"), { recursive: true, mode: 0o700 });
      const log = openSync(join(home, "logs/start.log"), "a", 0o600);
      spawn(launcher, ["start", ...(ran?.args ?? [])], {
        env: { ...terminal.env },
        cwd: home,
        detached: true,
        stdio: ["ignore", log, log],
      }).unref();
      closeSync(log);
    },
    async pageTrouble() {
      const { url } = await gatewayAddress(terminal.env);
      const { signal, cancel } = deadline(clock, pageWithinMs, "the page");
      try {
        const answer = await fetch(`${url}/`, { signal });
        await answer.body?.cancel();
        return answer.status < 500 ? null : `it answers ${answer.status}`;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      } finally {
        cancel();
      }
    },
  };
}

/** One that another node leads is heard there; it may have taken the lead while this node restarted. */
function isHeard({ state, reason = "" }: MethodResult<"status">["channels"][number]): boolean {
  return state === "ok" || (state === "elsewhere" && reason.startsWith("node "));
}

function shown({ bootId, version, state, reasons, channels }: MethodResult<"status">): GatewayNow {
  return {
    bootId,
    version,
    state,
    reasons,
    up: channels.filter(isHeard).map(({ channel, account }) => `${channel}:${account}`),
  };
}
