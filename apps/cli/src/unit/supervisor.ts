// Service managers as Parley needs them: systemd (of the user, of the machine) and launchd. Each is spoken to
// by its own program.
import { userInfo } from "node:os";
import type { Console } from "../console.ts";
import { said } from "../gateway-process.ts";
import { launchdLabel, type UnitPlan } from "./plan.ts";
import { ran } from "./ran.ts";

interface UnitState {
  /** Starts with the machine or the user. */
  readonly enabled: boolean;
  readonly running: boolean;
  readonly pid: number | null;
  /** Null when the manager cannot be asked. */
  readonly told: string | null;
}

export interface Supervisor {
  /** "systemd (user service parley)". */
  readonly words: string;
  readonly service: Service;
  /** Reads the file; with `start` enables and starts it, or starts it again. */
  load(start: boolean): Promise<void>;
  stop(): Promise<void>;
  /** After a stop. */
  start(): Promise<void>;
  /** Stops and forgets it; the file is still there. */
  unload(): Promise<void>;
  /** After the file is gone. */
  forgotten(): Promise<void>;
  state(): Promise<UnitState>;
}

type Service = Pick<UnitPlan, "manager" | "scope" | "name">;
type Plan = Service & Pick<UnitPlan, "file">;

/** `file` is what a load reads. */
export function supervisorOf(terminal: Console, plan: Service & Partial<Plan>): Supervisor {
  return plan.manager === "systemd" ? systemd(terminal, plan) : launchd(terminal, { file: "", ...plan });
}

/** Who would start this process again if it ended; null when nobody would. */
export async function supervising(
  terminal: Console,
  pid: number,
  name = "parley",
): Promise<Supervisor | null> {
  for (const scope of ["user", "system"] as const) {
    const supervisor = systemd(terminal, { scope, name });
    if ((await supervisor.state()).pid === pid) return supervisor;
  }
  const supervisor = launchd(terminal, { scope: "user", name, file: "" });
  return (await supervisor.state()).pid === pid ? supervisor : null;
}

function systemd(terminal: Console, { scope, name }: Pick<Plan, "scope" | "name">): Supervisor {
  const unit = `${name}.service`;
  const own = scope === "user" ? ["--user"] : [];
  const ctl = (...args: readonly string[]): Promise<void> => ran(terminal, "systemctl", [...own, ...args]);
  return {
    words: `systemd (${scope} service ${name})`,
    service: { manager: "systemd", scope, name },
    async load(start) {
      await ctl("daemon-reload");
      if (!start) return;
      await ctl("enable", unit);
      await ctl("restart", unit);
    },
    stop: () => ctl("stop", unit),
    start: () => ctl("start", unit),
    unload: () => ctl("disable", "--now", unit),
    forgotten: () => ctl("daemon-reload"),
    async state() {
      const told = await said(
        "systemctl",
        [...own, "show", "--property=MainPID,ActiveState,SubState,UnitFileState", unit],
        terminal.env,
      );
      const facts = new Map(
        (told ?? "")
          .split("\n")
          .map((each) => [each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)]),
      );
      const pid = Number(facts.get("MainPID") ?? 0);
      const active = facts.get("ActiveState");
      return {
        enabled: facts.get("UnitFileState")?.startsWith("enabled") ?? false,
        running: active === "active" || active === "reloading",
        pid: pid > 0 ? pid : null,
        told: active === undefined ? null : `${active} (${facts.get("SubState") ?? ""})`,
      };
    },
  };
}

function launchd(
  terminal: Console,
  { scope, name, file }: Pick<Plan, "scope" | "name" | "file">,
): Supervisor {
  const domain = scope === "system" ? "system" : `gui/${userInfo().uid}`;
  const target = `${domain}/${launchdLabel(name)}`;
  const ctl = (...args: readonly string[]): Promise<void> => ran(terminal, "launchctl", args);
  const isLoaded = async (): Promise<boolean> =>
    (await said("launchctl", ["print", target], terminal.env)) !== null;
  const unload = async (): Promise<void> => {
    if (await isLoaded()) await ctl("bootout", target);
  };
  return {
    words: `launchd (${launchdLabel(name)})`,
    service: { manager: "launchd", scope, name },
    async load(start) {
      if (!start) return;
      await unload();
      await ctl("enable", target);
      await ctl("bootstrap", domain, file);
    },
    // An end with exit code 0 is not followed by a start (KeepAlive).
    stop: () => ctl("kill", "SIGTERM", target),
    start: () => ctl("kickstart", target),
    unload,
    forgotten: async () => {},
    async state() {
      const told = await said("launchctl", ["print", target], terminal.env);
      const pid = Number(/^\s*pid = (\d+)$/m.exec(told ?? "")?.[1] ?? 0);
      const running = /^\s*state = running$/m.test(told ?? "");
      return {
        enabled: told !== null,
        running,
        pid: pid > 0 ? pid : null,
        told: told === null ? null : running ? "running" : "loaded",
      };
    },
  };
}
