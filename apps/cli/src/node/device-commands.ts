// Carries out what a gateway asks of this device, as far as its person offered it here. What is not offered
// is refused, whatever the gateway granted.
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { homedir, hostname, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import {
  deviceTextChars,
  systemClock,
  type DeviceAbout,
  type DeviceCommand,
  type DeviceRequest,
  type DeviceResult,
} from "@parley/protocol";
import type { Env } from "@parley/config";
import { isAllowed } from "./allowed-commands.ts";
import { deviceFiles } from "./device-files.ts";

export interface Offers {
  /** Patterns of commands that may run; none: nothing runs. */
  readonly allow: readonly string[];
  readonly folder?: string;
  readonly screenshot: boolean;
}

export interface DeviceCommands {
  readonly about: DeviceAbout;
  run(request: DeviceRequest, forMs: number, signal: AbortSignal): Promise<DeviceResult>;
}

interface CommandsOptions {
  readonly env: Env;
  /** Shows a message to the person at this device. */
  readonly show: (title: string, text: string) => void;
}

const pictureBytes = 1_400_000;
/** Programs that write the screen into a PNG file, the first that is there. */
const screenshooters: readonly (readonly string[])[] = [
  ["grim"],
  ["gnome-screenshot", "-f"],
  ["scrot", "-o"],
  ["import", "-window", "root"],
  ["screencapture", "-x"],
];

export async function deviceCommands(
  { allow, folder, screenshot }: Offers,
  { env, show }: CommandsOptions,
): Promise<DeviceCommands> {
  const files = folder === undefined ? null : await deviceFiles(folder);
  const shooter = screenshot ? await firstOf(screenshooters, env) : null;
  const offered: readonly DeviceCommand[] = [
    "notify",
    ...(allow.length > 0 ? (["run"] as const) : []),
    ...(files === null ? [] : (["file_read", "file_list", "file_write"] as const)),
    ...(shooter === null ? [] : (["screenshot"] as const)),
  ];

  async function act(request: DeviceRequest, forMs: number, signal: AbortSignal): Promise<DeviceResult> {
    const { command, text = "", title = "", argv = [], path = "." } = request;
    if (!offered.includes(command)) return no(`this device does not offer ${command}`);
    switch (command) {
      case "notify": {
        show(title, text);
        const program = await firstOf([["notify-send"]], env);
        if (program === null || !hasScreen(env)) return yes("Printed where the device runs.");
        const done = await ran([...program, "--", title === "" ? "Parley" : title, text], {
          env,
          forMs,
          signal,
        });
        return done.code === 0 ? yes("Shown on its screen.") : yes("Printed where the device runs.");
      }
      case "run": {
        if (!isAllowed(argv, allow)) return no(`this device does not let run: ${argv.join(" ")}`);
        const { code, output, end } = await ran(argv, { env, forMs, signal, cwd: folder ?? homedir() });
        return { ok: code === 0, text: `${end}\n${output}`.slice(0, deviceTextChars) };
      }
      case "file_read":
        return files === null ? no("no folder") : yes(await files.read(path));
      case "file_list":
        return files === null ? no("no folder") : yes(await files.list(path));
      case "file_write":
        return files === null ? no("no folder") : yes(await files.write(path, text));
      case "screenshot": {
        const made = await mkdtemp(join(tmpdir(), "parley-screen-"));
        try {
          const file = join(made, "screen.png");
          const { code, output } = await ran([...(shooter ?? []), file], { env, forMs, signal });
          if (code !== 0) return no(`no picture of the screen: ${output.slice(0, 500)}`);
          const bytes = await readFile(file);
          if (bytes.length > pictureBytes)
            return no(`the picture has ${bytes.length} bytes, which is too much`);
          return { ...yes("The screen."), picture: bytes.toString("base64") };
        } finally {
          await rm(made, { recursive: true, force: true });
        }
      }
      default:
        return no(`a computer cannot do ${command}`);
    }
  }

  return {
    about: {
      host: hostname().slice(0, 128),
      platform: `${process.platform} ${process.arch}`,
      commands: [...offered],
      ...(allow.length > 0 ? { allow: allow.slice(0, 50).map((each) => each.slice(0, 200)) } : {}),
    },
    run: (request, forMs, signal) =>
      act(request, forMs, signal).catch((error: unknown) =>
        // What the machine says is the answer: a file that is not there, a program that is missing.
        no(error instanceof Error ? error.message : String(error)),
      ),
  };
}

const yes = (text: string): DeviceResult => ({ ok: true, text });
const no = (text: string): DeviceResult => ({ ok: false, text: text.slice(0, deviceTextChars) });

const hasScreen = (env: Env): boolean =>
  ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"].some((name) => (env[name] ?? "") !== "");

async function firstOf(
  programs: readonly (readonly string[])[],
  env: Env,
): Promise<readonly string[] | null> {
  const folders = (env["PATH"] ?? "/usr/bin:/bin").split(delimiter).filter((each) => each !== "");
  for (const program of programs)
    for (const folder of folders) {
      const isThere = await access(join(folder, program[0] ?? ""), constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isThere) return program;
    }
  return null;
}

interface Ran {
  readonly code: number | null;
  readonly output: string;
  /** How it ended, in words. */
  readonly end: string;
}

const handedOn =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_[A-Z]+|TZ|TMPDIR|DISPLAY|WAYLAND_DISPLAY|XDG_RUNTIME_DIR|DBUS_SESSION_BUS_ADDRESS|XAUTHORITY)$/;

/** Ends the program and all that it began when the time is over or the device stops. */
function ran(
  argv: readonly string[],
  {
    env,
    forMs,
    signal,
    cwd,
  }: { readonly env: Env; readonly forMs: number; readonly signal: AbortSignal; readonly cwd?: string },
): Promise<Ran> {
  const [program = "", ...rest] = argv;
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => handedOn.test(name)));
  return new Promise((done) => {
    const child = spawn(program, rest, {
      cwd,
      env: own,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let output = "";
    let all = 0;
    let why = "";
    const take = (text: string): void => {
      all += Buffer.byteLength(text);
      if (output.length < deviceTextChars - 1_000) output += text;
    };
    // A letter may stand on the edge of two chunks.
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", take);
    const kill = (words: string): void => {
      why = words;
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has just ended by itself.
      }
    };
    const stop = (): void => kill("stopped with the device");
    const timer = systemClock().after(forMs, () => kill("ended, its time was over"));
    signal.addEventListener("abort", stop, { once: true });
    const settle = (code: number | null, end: string): void => {
      timer.cancel();
      signal.removeEventListener("abort", stop);
      const cut = output.slice(0, deviceTextChars - 1_000);
      const more = all > Buffer.byteLength(cut) ? `\n… (${all} bytes in all)` : "";
      done({ code, output: `${cut}${more}`, end });
    };
    child.once("error", (error) => settle(null, error.message));
    child.once("close", (code, by) =>
      settle(why === "" ? code : null, why !== "" ? why : code === null ? `ended by ${by}` : `exit ${code}`),
    );
  });
}
