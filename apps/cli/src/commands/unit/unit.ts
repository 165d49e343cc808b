// `parley service install|uninstall|status`: the gateway under systemd or launchd. Only files that Parley
// wrote are replaced or removed; the state folder is never touched.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { document, line, result, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { said } from "../../gateway-process.ts";
import { supervisorOf } from "../../unit/supervisor.ts";
import { isSameUnit, marker, unitPlan, type UnitFlags, type UnitPlan } from "../../unit/plan.ts";
import { launchdList } from "../../unit/plist.ts";
import { systemdUnit } from "../../unit/systemd.ts";
import { verified } from "../../unit/verify.ts";

export function unitFile(plan: UnitPlan): string {
  return plan.manager === "systemd" ? systemdUnit(plan) : launchdList(plan);
}

export async function unitInstall(terminal: Console, flags: UnitFlags): Promise<ExitCode> {
  const plan = unitPlan(terminal.env, flags);
  const text = unitFile(plan);
  if (flags.print === true) {
    if (terminal.json) document(terminal.out, { file: plan.file, text });
    else words(terminal.out, text.trimEnd());
    return exitCodes.ok;
  }
  const before = await textOf(plan.file);
  if (before !== null && !before.includes(marker)) throw foreign(plan.file, "replaced");
  const trouble = await verified(terminal, plan, text);
  if (trouble !== null)
    throw new CommandFailure("invalid", `The unit was not written; systemd-analyze says:\n${trouble}`);
  if (before !== text) await write(plan.file, text);
  if (plan.manager === "launchd") await mkdir(join(plan.home, "logs"), { recursive: true, mode: 0o700 });
  const supervisor = supervisorOf(terminal, plan);
  const start = flags.start !== false;
  try {
    await supervisor.load(start);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const why = `${error.message}\nIn a container, or after su, no ${plan.manager} may run for this user: ${plan.manager === "systemd" ? "log in as the user, or " : ""}run \`parley start\` itself.`;
    if (start)
      throw new CommandFailure(
        "unavailable",
        `${plan.file} is written, but could not be started.\n${why}`,
        exitCodes.failed,
        {
          cause: error,
        },
      );
    // Only the file was asked for; it is read when the manager starts.
    words(terminal.err, why);
  }
  const lingers = await lingerHint(terminal, plan);
  if (terminal.json)
    document(terminal.out, { file: plan.file, changed: before !== text, started: start, hint: lingers });
  else {
    line(terminal.out, `${before === text ? "Unchanged" : "Wrote"} ${plan.file}.`);
    if (start) line(terminal.out, `${supervisor.words} runs the gateway now and after each boot.`);
    if (lingers !== null) line(terminal.out, lingers);
  }
  return exitCodes.ok;
}

export async function unitUninstall(terminal: Console, flags: UnitFlags): Promise<ExitCode> {
  const plan = unitPlan(terminal.env, flags);
  const before = await textOf(plan.file);
  if (before !== null && !before.includes(marker)) throw foreign(plan.file, "removed");
  if (before !== null) {
    const supervisor = supervisorOf(terminal, plan);
    // A manager that cannot be reached has nothing running; the file goes all the same.
    const trouble = await supervisor.unload().then(() => null, told);
    await rm(plan.file);
    await supervisor.forgotten().catch(told);
    if (trouble !== null) line(terminal.err, trouble);
  }
  const words =
    before === null
      ? `${plan.file} is not there: nothing to remove.`
      : `Removed ${plan.file}. ${plan.home} was not touched.`;
  result(terminal, { file: plan.file, removed: before !== null }, words);
  return exitCodes.ok;
}

/** 0 while it runs, 1 otherwise. */
export async function unitStatus(terminal: Console, flags: UnitFlags): Promise<ExitCode> {
  const plan = unitPlan(terminal.env, flags);
  const before = await textOf(plan.file);
  const state = await supervisorOf(terminal, plan).state();
  const stale = before !== null && before.includes(marker) && !isSameUnit(before, unitFile(plan));
  if (terminal.json)
    document(terminal.out, {
      manager: plan.manager,
      file: plan.file,
      installed: before !== null,
      stale,
      ...state,
    });
  else {
    line(
      terminal.out,
      `File      ${plan.file}${before === null ? "  not installed: parley service install" : stale ? "  of another version or place: parley service install renews it" : ""}`,
    );
    line(terminal.out, `Enabled   ${state.enabled ? "yes" : "no"}`);
    line(
      terminal.out,
      `State     ${state.told ?? `${plan.manager} cannot be asked`}${state.pid === null ? "" : `  (process ${state.pid})`}`,
    );
  }
  return state.running ? exitCodes.ok : exitCodes.failed;
}

async function write(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { mode: 0o644 });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const advice = code === "EACCES" || code === "EPERM" ? " Run this with sudo, or without --system." : "";
    throw new CommandFailure("denied", `${file} cannot be written: ${message}.${advice}`, exitCodes.failed, {
      cause,
    });
  }
}

async function textOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function foreign(file: string, what: string): CommandFailure {
  return new CommandFailure(
    "conflict",
    `${file} was not written by Parley, so it is not ${what}. Move it away, or choose another --name.`,
  );
}

function told(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Services of a user end with the last session unless the user lingers. */
async function lingerHint(terminal: Console, { manager, scope }: UnitPlan): Promise<string | null> {
  if (manager !== "systemd" || scope !== "user") return null;
  const { username } = userInfo();
  const lingers = await said(
    "loginctl",
    ["show-user", username, "--property=Linger", "--value"],
    terminal.env,
  );
  return lingers === "no"
    ? `It ends when you log out, unless you let it run on: loginctl enable-linger ${username}`
    : null;
}
