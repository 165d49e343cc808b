// Commands and file tools in a real sandbox: what is there, what is not, and what stays of it.
import { createServer } from "node:http";
import { link, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer as connections, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { SessionKey } from "@parley/protocol";
import { lacks, program } from "@parley/testkit";
import {
  catalogue,
  isSandboxed,
  makeTools,
  openSandbox,
  type SandboxSettings,
  type WayOut,
} from "../src/index.ts";
import { nothingGuarded } from "../src/sandbox/guard-watch.ts";
import { dockerCommand } from "../src/sandbox/docker.ts";
import { exec } from "../src/tools/exec.ts";
import { read } from "../src/tools/read.ts";
import { write } from "../src/tools/write.ts";
import { call, hostPath, isAlive, refusedWith, said, session, stage, type Stage } from "./stage.ts";

const settings: SandboxSettings = {
  backend: "bubblewrap",
  scope: "agent",
  workspaceAccess: "rw",
  network: false,
  limits: { memoryMb: 256, processes: 64, cpuSeconds: 20 },
  docker: { image: "debian:stable-slim" },
};

const needsFolder = catalogue
  .filter(({ section }) => section === "fs" || section === "runtime")
  .map(({ id }) => id);

const bwrap = program("bwrap");
describe.skipIf(lacks(bwrap))("bubblewrap", () => {
  let it: Stage;
  afterEach(() => it.close());
  const open = async (
    change: Partial<SandboxSettings> = {},
    who: SessionKey = session,
    host = hostPath,
    wayOut?: () => Promise<WayOut>,
  ): Promise<Stage> =>
    (it = await stage({
      sandbox: async (workspace, outside) => {
        await mkdir(join(workspace, "hidden"));
        await writeFile(join(workspace, "hidden/state.db"), "the state");
        await mkdir(join(outside, "skills"));
        await writeFile(join(outside, "skills/SKILL.md"), "a skill");
        await writeFile(join(outside, "secret"), "the secret");
        return openSandbox(
          { ...settings, ...change },
          {
            agent: "main",
            session: who,
            workspace,
            folder: join(outside, "sandboxes"),
            readRoots: [join(outside, "skills")],
            hidden: [join(workspace, "hidden")],
            host: { PATH: host },
            mark: () => "mark",
            wayOut,
          },
        );
      },
    }));
  const run = (command: string | string[], more: object = {}): Promise<string> =>
    said(exec(it.context), { command, ...more });

  test("works in the workspace, and nothing else of the machine is there", async () => {
    await open();
    expect(await run("pwd; echo hi > made; ls; id -u > /dev/null; echo $HOME")).toMatch(
      /^\/workspace\nhidden\nmade\n\/tmp\n\[exit code 0/,
    );
    expect(await readFile(join(it.workspace, "made"), "utf8")).toBe("hi\n");
    const text = await run(
      `cat ${it.outside}/secret; ls ${it.outside} /root /home /work; cat /etc/shadow; cat hidden/state.db; ls -a hidden`,
    );
    expect(text).not.toContain("the secret");
    expect(text).not.toContain("the state");
    expect(text).not.toContain("root:");
    expect(await run(`cat ${it.outside}/skills/SKILL.md`)).toContain("a skill");
    expect(await run(`echo x > ${it.outside}/skills/SKILL.md`)).toContain("Read-only");
    expect(await run("touch /usr/x /etc/ssl/x 2>&1; echo t > /tmp/x && cat /tmp/x")).toMatch(
      /Read-only[^]*t\n\[exit code 0/,
    );
    expect(await readFile(join(it.outside, "skills/SKILL.md"), "utf8")).toBe("a skill");
  });

  test("shows nothing of a hidden folder by another way to it, and keeps nothing there", async () => {
    it = await stage({
      sandbox: async (workspace, outside) => {
        await mkdir(join(outside, "home/state/skills"), { recursive: true });
        await writeFile(join(outside, "home/state/state.db"), "the state");
        await writeFile(join(outside, "home/state/skills/SKILL.md"), "a skill");
        await writeFile(join(outside, "home/note"), "a note");
        await symlink(join(outside, "home"), join(outside, "link"));
        await rm(workspace, { recursive: true });
        await symlink(join(outside, "home"), workspace);
        const readRoots = [join(outside, "home"), join(outside, "link"), join(outside, "home/state/skills")];
        const request = {
          agent: "main",
          session,
          workspace,
          folder: outside,
          readRoots,
          host: { PATH: hostPath },
          mark: () => "mark",
        };
        return openSandbox(settings, { ...request, hidden: [join(outside, "home/state")] });
      },
    });
    const { outside } = it;
    expect(await run(`cat ${outside}/home/note ${outside}/home/state/skills/SKILL.md`)).toContain(
      "a notea skill",
    );
    for (const path of ["/workspace/state", `${outside}/home/state`, `${outside}/link/state`])
      expect(await run(`(cat ${path}/state.db; echo ==; touch ${path}/x) 2>&1`), path).toMatch(
        /^[^=]*No such file[^=]*==\n[^=]*Read-only/,
      );
  });

  test("sees no process of the machine and has no rights over it", async () => {
    await open();
    expect(
      await run(
        "ls -d /proc/[0-9]* | wc -l; mount -t tmpfs x /workspace 2>/dev/null || echo no; kill -9 1; hostname; grep CapEff /proc/self/status",
      ),
    ).toMatch(/^[1-9]\nno\nsandbox\nCapEff:\s+0000000000000000\n\[exit code 0/);
    expect(await run(["env"], { env: { COLOR: "1" } })).not.toContain("hunter2");
  });

  test("reaches no network unless it is allowed to", async () => {
    const server = createServer((_request, response) => response.end("reached")).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const ask = [
      "bash",
      "-c",
      `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`,
    ];
    await open();
    expect(await run(ask)).toMatch(/refused|unreachable/i);
    await it.close();
    await open({ network: true });
    expect(await run(ask)).toContain("reached");
    server.close();
  });

  describe("whose network is egress", () => {
    const access = ["rw", "ro"] as const;
    /** What stands in for the proxy says the first line that it hears. */
    const withProxy = async (workspaceAccess: "rw" | "ro" = "rw", host = hostPath) => {
      const folder = await mkdtemp(join(tmpdir(), "parley-proxy-"));
      const socket = join(folder, "sock");
      const proxy = connections((near) => near.once("data", (said) => near.end(`heard ${String(said)}`)));
      proxy.listen(socket);
      await new Promise((resolve) => proxy.once("listening", resolve));
      const wayOut = async () => ({ socket, node: process.execPath });
      await open({ network: "egress", workspaceAccess }, session, host, wayOut);
      return async () => {
        proxy.close();
        await rm(folder, { recursive: true });
      };
    };
    const dial = (to: string, then = ""): string => `(exec 3<>/dev/${to}; ${then}) 2>&1`;

    test.each(access)(
      "reaches the gateway's proxy where its variables say, and nothing else (%s)",
      async (how) => {
        const canary = createServer((_request, response) => response.end("reached")).listen(0, "127.0.0.1");
        await new Promise((resolve) => canary.once("listening", resolve));
        const { port } = canary.address() as AddressInfo;
        const end = await withProxy(how);
        const asked = [
          "echo $HTTP_PROXY $https_proxy [$NO_PROXY]",
          dial("tcp/127.0.0.1/3128", "echo a request >&3; cat <&3"),
          dial(`tcp/127.0.0.1/${port}`),
          dial("tcp/192.0.2.1/80"),
          dial("udp/192.0.2.1/53"),
          "getent ahosts example.org; echo $?",
          // Devices of the network: its own loopback.
          "tail -n +3 /proc/net/dev | cut -d: -f1",
        ];
        const told = await run(["bash", "-c", asked.join("\necho ==\n")]);
        expect(told.replace(/\[exit code 0[^]*/, "").split("==\n")).toEqual([
          "http://127.0.0.1:3128 http://127.0.0.1:3128 []\n",
          expect.stringContaining("heard a request"),
          expect.stringMatching(/refused/),
          expect.stringMatching(/unreachable/),
          expect.stringMatching(/unreachable/),
          "2\n",
          expect.stringMatching(/^ *lo\n$/),
        ]);
        canary.close();
        await end();
      },
    );

    test("leaves the command its input, its exit code, its terminal and its end", async () => {
      const end = await withProxy();
      expect(await run(["sh", "-c", "exit 7"])).toContain("[exit code 7");
      expect(await run(["sh", "-c", "kill -9 $$"])).toMatch(/\[(ended by a signal|exit code 137)/);
      expect(await run("stty size; tty > /dev/null && echo here", { pty: true })).toMatch(
        /^30 120\nhere\n\[exit code 0/,
      );
      await end();
    });

    test("is refused where a Node does not start in it, and for containers", async () => {
      const wayOut = async () => ({ socket: "/dev/null", node: "/dev/null" });
      await expect(open({ network: "egress" }, session, hostPath, wayOut)).rejects.toMatchObject({
        code: "unsupported",
        message: expect.stringContaining("network namespaces and a Node"),
      });
      await expect(
        open({ network: "egress", backend: "docker" }, session, hostPath, wayOut),
      ).rejects.toMatchObject({ code: "unsupported", message: expect.stringContaining("bubblewrap alone") });
      it = await stage();
    });
  });

  test("bounds memory and processor time of a process", async () => {
    await open({ limits: { memoryMb: 64, processes: 32, cpuSeconds: 1 } });
    expect(await run(["bash", "-c", "ulimit -d; ulimit -u; ulimit -t; ulimit -c"])).toMatch(
      /^65536\n32\n1\n0\n/,
    );
    expect(await run("head -c 200000000 /dev/zero | tail -c 200000000 | wc -c")).not.toContain("200000000\n");
    expect(await run("while :; do :; done", { yieldMs: 60_000 })).toMatch(
      /\[(ended by a signal|exit code 137|exit code 152)/,
    );
  });

  test("bounds how many processes there are, also where its user is root", async () => {
    await open({ limits: { memoryMb: 64, processes: 32, cpuSeconds: 20 } });
    const said = await run("i=0; while [ $i -lt 300 ]; do sleep 40 & i=$((i+1)); done; wait", {
      yieldMs: 60_000,
    });
    expect(said).toMatch(
      /Cannot fork|Resource temporarily unavailable|processes; ended, because more than 32 may not run\]\n\[killed/,
    );
  });

  test("bounds what it keeps in memory, and lets nothing else of itself be written", async () => {
    await open({ limits: { memoryMb: 8, processes: 32, cpuSeconds: 20 } });
    const each = async (commands: readonly string[]): Promise<readonly string[]> =>
      (await run(commands.map((command) => `(${command}) 2>&1; echo ==`).join("\n")))
        .split("==\n")
        .slice(0, -1);
    const folders = ["/tmp", "/var/tmp", "/dev/shm"];
    expect(
      await each(folders.map((folder) => `head -c 20000000 /dev/zero > ${folder}/x; rm ${folder}/x`)),
    ).toEqual(folders.map(() => expect.stringContaining("No space")));
    const paths = ["/x", "/dev/x", "/etc/x", "/run/x"];
    expect(await each(paths.map((path) => `echo x > ${path}`))).toEqual(
      paths.map(() => expect.stringMatching(/Read-only|Permission denied/)),
    );
  });

  test("cannot change the kernel's settings, also where its user is root", async () => {
    await open();
    expect(
      await run(
        "for file in $(find /proc/sys /proc/acpi /proc/driver -type f 2>/dev/null); do test -w $file && echo $file; done; true",
      ),
    ).toMatch(/^\[exit code 0/);
    expect(await run("cat /proc/sys/kernel/hostname")).toMatch(/^sandbox\n/);
  });

  test("without access to the workspace has a folder of its own, for commands and file tools alike", async () => {
    await open({ workspaceAccess: "none" });
    await writeFile(join(it.workspace, "private"), "x");
    const { workspace: folder } = it.context.sandbox;
    expect(await run("rm -rf .parley; mv .parley p; echo {} > .parley/changes")).toMatch(/busy[^]*Read-only/);
    expect(await readdir(folder)).toEqual([".parley"]);
    await said(write(it.context), { path: "note.txt", content: "shared with commands" });
    expect(await run("ls; cat note.txt")).toMatch(/^note.txt\nshared with commands/);
    expect(await said(read(it.context), { path: "/workspace/note.txt" })).toContain("shared with commands");
    expect(await refusedWith(read(it.context), { path: "private" })).toContain("no file");
    expect(await refusedWith(read(it.context), { path: join(it.workspace, "private") })).toContain("outside");
    expect(await readdir(join(it.outside, "sandboxes"))).toEqual(["agent-main"]);
  });

  test("with read access reads the workspace and changes nothing", async () => {
    await open({ workspaceAccess: "ro" });
    await writeFile(join(it.workspace, "a.txt"), "text");
    await link(join(it.outside, "secret"), join(it.workspace, "linked"));
    expect(await run("cat linked")).not.toContain("the secret");
    expect(await run("cat a.txt; touch b 2>&1")).toMatch(/^text.*Read-only/s);
    expect(await said(read(it.context), { path: "a.txt" })).toBe("1\ttext");
    const { tools, unavailable } = makeTools(it.context);
    expect(tools.map(({ name }) => name).filter((name) => needsFolder.includes(name))).toEqual([
      "read",
      "exec",
      "process",
    ]);
    for (const tool of ["write", "edit", "apply_patch"])
      expect(unavailable).toContainEqual({ tool, reason: expect.stringContaining("read-only") });
  });

  test("ends with the call, with all that it started", async () => {
    await open();
    const seconds = `31${process.pid}`;
    const alive = (): boolean => isAlive(`sleep ${seconds}`);
    const stop = new AbortController();
    const running = call(
      exec(it.context),
      { command: `setsid sleep ${seconds} & sleep ${seconds}` },
      it.workspace,
      stop.signal,
    );
    while (!alive()) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "aborted" });
    while (alive()) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  test("gives a terminal too", async () => {
    await open();
    expect(await run("stty size; pwd", { pty: true })).toMatch(/^30 120\n\/workspace\n\[exit code 0/);
  });

  test("works from a folder below, and tells the truth in the action", async () => {
    await open();
    await mkdir(join(it.workspace, "sub"));
    expect(await run(["pwd"], { workdir: "sub" })).toContain("/workspace/sub\n");
    const tool = exec(it.context);
    if ("unavailable" in tool) return expect.unreachable(tool.unavailable);
    const parsed = tool.parse({ command: "ls x", workdir: "sub" });
    const action = parsed.ok ? await tool.action?.(parsed.args, {} as never) : null;
    expect(action).toMatchObject({
      cwd: "/workspace/sub",
      sandbox: "bubblewrap, workspace rw, network off",
      argv: ["/usr/bin/ls", "x"],
    });
  });

  test("that is not there is an error, never no sandbox", async () => {
    await expect(open({}, session, "/nowhere")).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("apt-get install bubblewrap"),
    });
    it = await stage();
  });
});

describe("docker", () => {
  const mounts = {
    workspace: "/home/me/a,b",
    readOnly: true,
    userHome: "/workspace",
    readRoots: ["/skills"],
    hidden: ["/workspace/state"],
  };
  const of = (command: object, change: Partial<SandboxSettings> = {}) =>
    dockerCommand(
      {
        argv: ["ls", "-l"],
        cwd: "sub",
        env: { KEY: "secret value", PATH: "/usr/bin", LC_ALL: "C" },
        pty: false,
        input: false,
        guarded: nothingGuarded,
        ...command,
      },
      {
        program: "/usr/bin/docker",
        user: "1000:1000",
        settings: { ...settings, backend: "docker", ...change },
        mounts,
        host: { PATH: "/usr/bin", HOME: "/home/me", TOKEN: "x" },
        name: "parley-1",
      },
    );

  test("runs each command in a container that can do nothing else, and that is removed", () => {
    const { argv, env, ends } = of({});
    expect(argv).toMatchInlineSnapshot(`
      [
        "/usr/bin/docker",
        "run",
        "--rm",
        "--init",
        "--name",
        "parley-1",
        "--user",
        "1000:1000",
        "--network",
        "none",
        "--read-only",
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
        "--memory",
        "256m",
        "--memory-swap",
        "256m",
        "--pids-limit",
        "64",
        "--ulimit",
        "cpu=20",
        "--tmpfs",
        "/tmp:rw,nosuid,nodev",
        "--mount",
        "type=bind,"source=/home/me/a,b",target=/workspace,readonly",
        "--mount",
        "type=bind,source=/skills,target=/skills,readonly",
        "--tmpfs",
        "/workspace/state:ro",
        "--workdir",
        "/workspace/sub",
        "--env",
        "HOME=/workspace",
        "--env",
        "KEY",
        "--env",
        "LC_ALL",
        "--",
        "debian:stable-slim",
        "ls",
        "-l",
      ]
    `);
    expect(argv.join(" ")).not.toContain("secret value");
    expect(env).toEqual({ KEY: "secret value", LC_ALL: "C", PATH: "/usr/bin", HOME: "/home/me" });
    expect(ends).toEqual(["/usr/bin/docker", "rm", "--force", "parley-1"]);
  });

  test("covers what is guarded, whatever its name, and mounts nothing to be written where all is", () => {
    const guarded = { readOnly: ["a\nb/.git"], masked: ['a"b/.env'], all: false };
    const mountsOf = (view: object): readonly string[] =>
      of({ guarded: { ...guarded, ...view } }).argv.filter((arg) => arg.startsWith("type=bind"));
    const some = mountsOf({});
    expect(some).toContain(
      'type=bind,"source=/home/me/a,b/a\nb/.git","target=/workspace/a\nb/.git",readonly',
    );
    expect(some).toContain('type=bind,source=/dev/null,"target=/workspace/a""b/.env",readonly');
    const all = mountsOf({ all: true });
    expect(all.every((each) => each.endsWith(",readonly"))).toBe(true);
    expect(all.join()).not.toMatch(/\.git|\.env/);
  });

  test("keeps each folder above a hidden one in its place, to be written only where the workspace is", () => {
    const run = (readOnly: boolean, all: boolean, cwd = "") =>
      dockerCommand(
        {
          argv: ["ls"],
          cwd,
          env: { SHELL: "/bin/zsh", TMPDIR: "/t", HOME: "/h", DOCKER_HOST: "of the command", COLOR: "1" },
          pty: false,
          input: false,
          guarded: { readOnly: [".git"], masked: [], all },
        },
        {
          program: "docker",
          user: "1:2",
          settings: { ...settings, backend: "docker" },
          mounts: {
            ...mounts,
            workspace: "/w",
            readOnly,
            readRoots: ["/s", "/t"],
            hidden: ["/workspace/a/b/c", "/s/x"],
          },
          host: { DOCKER_HOST: "h", XDG_RUNTIME_DIR: "/run", LANG: "C" },
          name: "n",
        },
      );
    const mountsOf = (readOnly: boolean, all: boolean): readonly string[] =>
      run(readOnly, all).argv.filter((arg) => arg.startsWith("type=bind") || arg.endsWith(":ro"));
    const rest = [
      "type=bind,source=/s,target=/s,readonly",
      "type=bind,source=/t,target=/t,readonly",
      "/workspace/a/b/c:ro",
      "/s/x:ro",
    ];
    expect(mountsOf(false, false)).toEqual([
      "type=bind,source=/w,target=/workspace",
      "type=bind,source=/w/.git,target=/workspace/.git,readonly",
      "type=bind,source=/w/a,target=/workspace/a",
      "type=bind,source=/w/a/b,target=/workspace/a/b",
      ...rest,
    ]);
    for (const [readOnly, all] of [
      [true, true],
      [false, true],
    ] as const)
      expect(mountsOf(readOnly, all)).toEqual([
        "type=bind,source=/w,target=/workspace,readonly",
        "type=bind,source=/w/a,target=/workspace/a,readonly",
        "type=bind,source=/w/a/b,target=/workspace/a/b,readonly",
        ...rest,
      ]);
    const { argv, env } = run(false, false);
    expect(argv.slice(argv.indexOf("--workdir"))).toEqual(
      "--workdir /workspace --env HOME=/workspace --env COLOR -- debian:stable-slim ls".split(" "),
    );
    expect(env).toEqual({ COLOR: "1", DOCKER_HOST: "h", XDG_RUNTIME_DIR: "/run" });
  });

  test("opens the network, input and a terminal only when told to", () => {
    expect(of({}, { network: true }).argv.join(" ")).toContain("--network bridge");
    expect(of({}, { network: "egress" }).argv.join(" ")).toContain("--network none");
    const given = (command: object): readonly string[] =>
      of(command).argv.filter((word) => word === "--tty" || word === "--interactive");
    expect([
      given({}),
      given({ input: true }),
      given({ pty: true }),
      given({ pty: true, input: true }),
    ]).toEqual([[], ["--interactive"], ["--tty", "--interactive"], ["--tty", "--interactive"]]);
  });
});

test("which sessions are sandboxed follows the mode", () => {
  const other = "agent:main:telegram:dm:1" as SessionKey;
  expect([isSandboxed("off", other, [session]), isSandboxed("all", session, [session])]).toEqual([
    false,
    true,
  ]);
  expect([isSandboxed("non-main", session, [session]), isSandboxed("non-main", other, [session])]).toEqual([
    false,
    true,
  ]);
});
