// Runs each command in a container of its own, removed when it ends: its root read-only, no capabilities, no
// new privileges, no network unless it is allowed, memory, processes and processors limited by the kernel's
// control groups.
import { Fault } from "@parley/protocol";
import { findProgram } from "../find-program.ts";
import { foldersOf } from "./guard-scan.ts";
import {
  belowWorkspace,
  insidePath,
  type HostCommand,
  type Mounts,
  type SandboxedCommand,
  type SandboxSettings,
} from "./sandbox.ts";

/** Variables by which the client finds its daemon. */
const clientNames = [
  "PATH",
  "HOME",
  "DOCKER_HOST",
  "DOCKER_CONTEXT",
  "DOCKER_CONFIG",
  "DOCKER_CERT_PATH",
  "DOCKER_TLS_VERIFY",
  "XDG_RUNTIME_DIR",
];

export async function docker(
  settings: SandboxSettings,
  mounts: Mounts,
  host: { readonly [name: string]: string },
  mark: () => string,
): Promise<{ readonly path: null; wrap(command: SandboxedCommand): HostCommand }> {
  const program = await findProgram("docker", host["PATH"] ?? "");
  if (program === null)
    throw new Fault(
      "unsupported",
      "the sandbox needs the docker client; install it, or set agents.defaults.sandbox.backend",
    );
  const user = `${process.getuid?.() ?? 1000}:${process.getgid?.() ?? 1000}`;
  return {
    path: null,
    wrap: (command) =>
      dockerCommand(command, { program, user, settings, mounts, host, name: `parley-${mark()}` }),
  };
}

export interface DockerRun {
  readonly program: string;
  /** Files that it writes belong to the gateway's user. */
  readonly user: string;
  readonly settings: SandboxSettings;
  readonly mounts: Mounts;
  readonly host: { readonly [name: string]: string };
  readonly name: string;
}

export function dockerCommand(
  { argv, cwd, env, pty, input, guarded }: SandboxedCommand,
  run: DockerRun,
): HostCommand {
  const { program, user, settings, mounts, host, name } = run;
  const { network, limits } = settings;
  const above = mounts.hidden.flatMap((each) => foldersOf(belowWorkspace(each) ?? ""));
  // The image brings its own programs and its own home.
  const inside = Object.fromEntries(
    Object.entries(env).filter(([key]) => !clientNames.includes(key) && key !== "SHELL" && key !== "TMPDIR"),
  );
  const client = Object.fromEntries(
    clientNames.flatMap((key) => (host[key] === undefined ? [] : [[key, host[key]]])),
  );
  return {
    argv: [
      [program, "run", "--rm", "--init", "--name", name, "--user", user],
      [
        "--network",
        network === true ? "bridge" : "none",
        "--read-only",
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
      ],
      [
        "--memory",
        `${limits.memoryMb}m`,
        "--memory-swap",
        `${limits.memoryMb}m`,
        "--pids-limit",
        String(limits.processes),
      ],
      ["--ulimit", `cpu=${limits.cpuSeconds}`, "--tmpfs", "/tmp:rw,nosuid,nodev"],
      mount(mounts.workspace, insidePath, mounts.readOnly || guarded.all),
      ...(guarded.all ? [] : guarded.readOnly).map((path) =>
        mount(`${mounts.workspace}/${path}`, `${insidePath}/${path}`, true),
      ),
      ...(guarded.all ? [] : guarded.masked).map((path) => mount("/dev/null", `${insidePath}/${path}`, true)),
      // Nobody can rename what is mounted, and what is hidden in it with it.
      ...above.map((path) =>
        mount(`${mounts.workspace}/${path}`, `${insidePath}/${path}`, mounts.readOnly || guarded.all),
      ),
      ...mounts.readRoots.map((root) => mount(root, root, true)),
      ...mounts.hidden.map((each) => ["--tmpfs", `${each}:ro`]),
      ["--workdir", cwd === "" ? insidePath : `${insidePath}/${cwd}`, "--env", `HOME=${mounts.userHome}`],
      // Names alone: docker takes the values from its own environment, which others on the machine cannot
      // read.
      ...Object.keys(inside).map((key) => ["--env", key]),
      pty ? ["--tty"] : [],
      pty || input ? ["--interactive"] : [],
      ["--", settings.docker.image, ...argv],
    ].flat(),
    env: { ...inside, ...client },
    ends: [program, "rm", "--force", name],
  };
}

/** A comma, a quote or the end of a line in a path would end the field: CSV, as docker reads it. */
function mount(source: string, target: string, readOnly: boolean): readonly string[] {
  const field = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [
    "--mount",
    [
      "type=bind",
      field(`source=${source}`),
      field(`target=${target}`),
      ...(readOnly ? ["readonly"] : []),
    ].join(","),
  ];
}
