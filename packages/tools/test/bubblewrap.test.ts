// With which arguments bubblewrap is started: what is mounted over what, in which order, and what a command
// may use. A script stands in for the program, so that this is seen where no namespace can be made.
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lacks, program } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bubblewrap } from "../src/sandbox/bubblewrap.ts";
import { nothingGuarded } from "../src/sandbox/guard-watch.ts";
import type { GuardedView, Mounts, SandboxSettings } from "../src/sandbox/sandbox.ts";

let folder: string;
let bwrap: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-bwrap-"));
  bwrap = join(folder, "bwrap");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const settings: SandboxSettings = {
  backend: "bubblewrap",
  scope: "agent",
  workspaceAccess: "rw",
  network: false,
  limits: { memoryMb: 3, processes: 64, cpuSeconds: 20 },
  docker: { image: "none" },
};
const plain: Mounts = {
  workspace: "/home/me/ws",
  readOnly: false,
  userHome: "/tmp",
  readRoots: [],
  hidden: [],
};

interface Asked {
  readonly settings?: Partial<SandboxSettings>;
  readonly mounts?: Partial<Mounts>;
  readonly guarded?: Partial<GuardedView>;
  readonly cwd?: string;
  readonly version?: string;
}

async function started({ settings: change, mounts, guarded, cwd = "", version = "0.8.0" }: Asked = {}) {
  await writeFile(bwrap, `#!/bin/sh\necho "bubblewrap ${version}"\n`);
  await chmod(bwrap, 0o755);
  const made = await bubblewrap({ ...settings, ...change }, { ...plain, ...mounts }, { PATH: folder }, null);
  const command = made.wrap({
    argv: ["ls", "-l"],
    cwd,
    env: { KEY: "secret value", PATH: "/evil", HOME: "/evil", TMPDIR: "/evil" },
    pty: false,
    input: false,
    guarded: { ...nothingGuarded, ...guarded },
  });
  const { argv } = command;
  const second = argv.indexOf(bwrap, argv.lastIndexOf("--chdir", argv.indexOf("--unshare-user")));
  const hasInner = argv.includes("--unshare-user");
  return {
    ...command,
    path: made.path,
    outer: (hasInner ? argv.slice(1, second) : argv.slice(1, argv.indexOf("--"))).join(" "),
    inner: hasInner ? argv.slice(second).join(" ") : null,
  };
}

describe.skipIf(lacks(program("prlimit")))("bubblewrap", () => {
  test("gives a command the workspace, the system's programs, and bounds; its values stand in no argument", async () => {
    const { argv, outer, env, path, inner } = await started();
    expect(outer).toMatch(
      /^--unshare-all --die-with-parent --cap-drop ALL --hostname sandbox (?!--share-net)/,
    );
    expect(outer).toMatch(/ --bind \/home\/me\/ws \/workspace --remount-ro \/ --chdir \/workspace$/);
    expect(outer).toContain(` --ro-bind-try ${bwrap} ${bwrap} `);
    for (const system of ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"])
      expect([system, outer.includes(` ${system} --`)]).toEqual([system, existsSync(system)]);
    for (const file of ["alternatives", "passwd", "localtime", "timezone", "resolv.conf", "ssl"])
      expect(outer).toContain(` --ro-bind-try /etc/${file} /etc/${file} `);
    for (const file of ["shadow", "sudoers", "gshadow"]) expect(outer).not.toContain(`/etc/${file}`);
    for (const name of ["sys", "sysrq-trigger", "irq", "bus", "scsi", "dynamic_debug"])
      expect(outer).toContain(` --ro-bind-try /proc/${name} /proc/${name} `);
    const size = "--size 3145728 --tmpfs";
    expect(outer).toContain(
      ` --dev /dev ${size} /dev/shm --remount-ro /dev ${size} /tmp --dir /run --symlink /tmp /var/tmp `,
    );
    expect(inner).toBeNull();
    expect(argv.slice(argv.indexOf("--") + 2)).toEqual([
      "--data=3145728",
      "--nproc=64",
      "--cpu=20",
      "--core=0",
      "--",
      "ls",
      "-l",
    ]);
    expect(argv.join(" ")).not.toContain("secret value");
    expect(env).toEqual({ KEY: "secret value", PATH: path, HOME: "/tmp", TMPDIR: "/tmp" });
  });

  test("has the machine's network only where it is allowed", async () => {
    expect((await started({ settings: { network: true } })).outer).toContain(" --share-net ");
    expect((await started({ settings: { network: "egress" } })).outer).not.toContain("--share-net");
  });

  test("sent to the web alone, has the proxy's socket, its relay before the command, and room for that", async () => {
    await started();
    const wayOut = { socket: "/run/proxy.sock", node: "/opt/node" };
    const made = await bubblewrap({ ...settings, network: "egress" }, plain, { PATH: folder }, wayOut);
    const { argv, env } = made.wrap({
      argv: ["ls"],
      cwd: "",
      env: { HTTP_PROXY: "http://elsewhere" },
      pty: false,
      input: false,
      guarded: nothingGuarded,
    });
    const line = argv.join(" ");
    expect(line).toContain(
      " --ro-bind /opt/node /run/parley/node --ro-bind /run/proxy.sock /run/parley/egress.sock ",
    );
    expect(line).not.toContain("--share-net");
    expect(argv.slice(argv.indexOf("--") + 1, argv.indexOf("--") + 3)).toEqual(["/bin/sh", "-c"]);
    expect(argv).toContain("--nproc=80");
    const proxy = "http://127.0.0.1:3128";
    const both = (name: string, value: string) => ({ [name]: value, [name.toLowerCase()]: value });
    expect(env).toEqual({
      ...both("HTTP_PROXY", proxy),
      ...both("HTTPS_PROXY", proxy),
      ...both("ALL_PROXY", proxy),
      ...both("NO_PROXY", ""),
      NODE_USE_ENV_PROXY: "1",
      PATH: "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
      HOME: "/tmp",
      TMPDIR: "/tmp",
    });
    // The relay stands before the command and ends in it, with its bounds.
    const inside = argv.slice(argv.indexOf("--") + 1);
    expect([inside[2]?.includes("/run/parley/node"), inside[3]?.includes("3128")]).toEqual([true, true]);
    expect(inside.slice(5)).toEqual(["--data=3145728", "--nproc=80", "--cpu=20", "--core=0", "--", "ls"]);
    // Whether it starts is tried first, once for each program.
    const broken = await mkdtemp(join(folder, "broken-"));
    const script = '#!/bin/sh\ncase "$*" in *-e*) exit 1;; *) echo 0.8;; esac\n';
    await writeFile(join(broken, "bwrap"), script, { mode: 0o755 });
    await expect(bubblewrap(settings, plain, { PATH: broken }, wayOut)).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining('sandbox.network "egress" needs'),
    });
  });

  test.each([
    ["0.6.3", false],
    ["0.7.0", true],
    ["0.11.0", true],
    ["1.0", true],
    ["of no number", false],
  ])("of version %s it bounds what lies in memory: %s", async (version, bounds) => {
    expect((await started({ version })).outer.includes("--size")).toBe(bounds);
  });

  test("shows what may be read and hides what may not, the outer ones first", async () => {
    const { outer } = await started({
      mounts: {
        readRoots: ["/state/skills/own", "/state"],
        hidden: ["/state/skills", "/workspace/a/b/c", "/workspace/d"],
      },
    });
    expect(outer).toContain(
      " --ro-bind-try /state /state --tmpfs /state/skills --ro-bind-try /state/skills/own /state/skills/own ",
    );
    expect(outer).toMatch(
      new RegExp(
        [
          " --bind /home/me/ws /workspace",
          "--bind-try /home/me/ws/a /workspace/a --bind-try /home/me/ws/a/b /workspace/a/b",
          "--tmpfs /workspace/a/b/c --tmpfs /workspace/d",
          "--remount-ro /state/skills --remount-ro /workspace/a/b/c --remount-ro /workspace/d",
          "--remount-ro / --chdir /workspace$",
        ].join(" "),
      ),
    );
  });

  test("guards paths of a workspace that may be written in a second one, which starts where the command does", async () => {
    const guarded = { readOnly: ["x/.git", "y"], masked: ["x/.env"], all: false };
    const { outer, inner } = await started({ guarded, cwd: "sub" });
    expect(outer).toMatch(/ --bind \/home\/me\/ws \/workspace --remount-ro \/ --chdir \/workspace\/sub --$/);
    expect(outer.includes("--cap-add CAP_SETFCAP")).toBe(process.getuid?.() === 0);
    expect(inner).toMatch(
      new RegExp(
        [
          `^${bwrap} --unshare-user --die-with-parent --cap-drop ALL --dev-bind / /`,
          "--bind-try /workspace/x /workspace/x",
          "--ro-bind-try /workspace/x/.git /workspace/x/.git --ro-bind-try /workspace/y /workspace/y",
          "--ro-bind-try /dev/null /workspace/x/.env",
          "--chdir /workspace/sub -- \\S*prlimit --data=",
        ].join(" "),
      ),
    );
    for (const only of [{ readOnly: ["y"] }, { masked: ["y"] }])
      expect((await started({ guarded: only })).inner).not.toBeNull();
    expect((await started({ guarded: {} })).outer).not.toContain("CAP_SETFCAP");
  });

  test("needs no second one where nothing may be written, and hides there too", async () => {
    const guarded = { readOnly: ["y"], masked: ["x/.env"] };
    const all = await started({ guarded: { ...guarded, all: true } });
    expect([all.inner, all.outer]).toEqual([
      null,
      expect.stringMatching(/ --ro-bind \/home\/me\/ws \/workspace --remount-ro \/ --chdir \/workspace$/),
    ]);
    const only = await started({ guarded, mounts: { readOnly: true } });
    expect([only.inner, only.outer]).toEqual([
      null,
      expect.stringMatching(
        / --ro-bind \/home\/me\/ws \/workspace --ro-bind-try \/dev\/null \/workspace\/x\/.env --remount-ro \/ --chdir \/workspace$/,
      ),
    ]);
  });

  test("counts processes of root, whom the kernel would let have more", async () => {
    const { mostProcesses } = await started();
    expect(mostProcesses).toBe(process.getuid?.() === 0 ? 64 : undefined);
  });

  test("that is not there, or does not start, is said", async () => {
    await expect(bubblewrap(settings, plain, { PATH: join(folder, "none") }, null)).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("apt-get install"),
    });
    const broken = await mkdtemp(join(folder, "broken-"));
    await writeFile(join(broken, "bwrap"), "#!/bin/sh\nexit 1\n");
    await chmod(join(broken, "bwrap"), 0o755);
    await expect(
      bubblewrap(settings, { ...plain, readOnly: true }, { PATH: broken }, null),
    ).rejects.toMatchObject({ code: "unsupported", message: expect.stringContaining("does not start") });
    const nests = bubblewrap(settings, plain, { PATH: broken }, null);
    await expect(nests).rejects.toThrow("needs bubblewrap inside bubblewrap");
    // What the operator has mended since is tried again.
    await writeFile(join(broken, "bwrap"), "#!/bin/sh\necho 0.8\n");
    await expect(bubblewrap(settings, plain, { PATH: broken }, null)).resolves.toBeDefined();
  });
});
