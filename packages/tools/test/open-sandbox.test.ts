// Which sandbox is opened for which settings: its rules in words, the folder that it works in, what of the
// machine it shows and hides, and why there is none. A client of docker is only looked for, so an empty file
// is one.
import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionKey } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSandbox, type SandboxSettings } from "../src/index.ts";
import { nothingGuarded } from "../src/sandbox/guard-watch.ts";
import { session } from "./stage.ts";

const settings: SandboxSettings = {
  backend: "docker",
  scope: "agent",
  workspaceAccess: "rw",
  network: false,
  limits: { memoryMb: 256, processes: 64, cpuSeconds: 20 },
  docker: { image: "debian:stable-slim" },
};

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "parley-open-")));
  await mkdir(join(folder, "ws/state/skills"), { recursive: true });
  await mkdir(join(folder, "bin"));
  await mkdir(join(folder, "skills"));
  await symlink(join(folder, "ws/state"), join(folder, "alias"));
  await writeFile(join(folder, "bin/docker"), "", { mode: 0o755 });
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const opened = (change: Partial<SandboxSettings> = {}, more: object = {}) =>
  openSandbox(
    { ...settings, ...change },
    {
      agent: "helper",
      session,
      workspace: join(folder, "ws"),
      folder: join(folder, "sandboxes"),
      readRoots: [join(folder, "skills"), join(folder, "ws/state/skills"), join(folder, "ws"), folder],
      hidden: [join(folder, "alias"), join(folder, "none"), join(folder, "skills"), "/elsewhere"],
      host: { PATH: join(folder, "bin") },
      mark: () => "m7",
      ...more,
    },
  );
const command = { argv: ["ls"], cwd: "", env: {}, pty: false, input: false, guarded: nothingGuarded };

test("a sandbox is opened with its rules in words, the folder that it works in, and what it shows and hides of the machine", async () => {
  const { wrap, ...said } = await opened();
  const ws = join(folder, "ws");
  expect(said).toEqual({
    kind: "docker",
    rules: "docker, workspace rw, network off",
    workspace: ws,
    readOnly: false,
    scratch: false,
    inside: "/workspace",
    path: null,
  });
  const { argv, ends } = wrap(command);
  expect(argv.slice(0, 6)).toEqual([
    join(folder, "bin/docker"),
    ..."run --rm --init --name parley-m7".split(" "),
  ]);
  expect(argv.filter((word) => word.startsWith("type=") || word.endsWith(":ro"))).toEqual([
    `type=bind,source=${ws},target=/workspace`,
    `type=bind,source=${folder}/skills,target=${folder}/skills,readonly`,
    `type=bind,source=${folder},target=${folder},readonly`,
    "/workspace/state:ro",
    `${folder}/ws/state:ro`,
    `${folder}/none:ro`,
    `${folder}/skills:ro`,
  ]);
  expect([argv.includes("HOME=/tmp"), ends]).toEqual([
    true,
    [join(folder, "bin/docker"), "rm", "--force", "parley-m7"],
  ]);
  const reads = await opened({ workspaceAccess: "ro", network: true });
  expect([reads.rules, reads.readOnly, reads.scratch, reads.workspace]).toEqual([
    "docker, workspace ro, network on",
    true,
    false,
    ws,
  ]);
  expect(reads.wrap(command).argv).toEqual(
    expect.arrayContaining(["HOME=/workspace", `type=bind,source=${ws},target=/workspace,readonly`]),
  );
});

test("a sandbox is opened with a folder of its own for the session, the agent or all, which only its owner enters", async () => {
  const folders = [];
  for (const [scope, who] of [
    ["session", session],
    ["session", "agent:main:other" as SessionKey],
    ["session", session],
    ["agent", session],
    ["shared", session],
  ] as const) {
    const own = await opened({ workspaceAccess: "none", scope }, { session: who });
    folders.push(own.workspace.slice(folder.length));
    expect([own.rules, own.readOnly, own.scratch, (await stat(own.workspace)).mode & 0o777]).toEqual([
      "docker, workspace none, network off",
      false,
      true,
      0o700,
    ]);
    expect(own.wrap(command).argv).toContain("HOME=/workspace");
  }
  expect(folders).toEqual([
    expect.stringMatching(/^\/sandboxes\/session-[0-9a-f]{32}$/),
    expect.stringMatching(/^\/sandboxes\/session-[0-9a-f]{32}$/),
    folders[0],
    "/sandboxes/agent-helper",
    "/sandboxes/shared",
  ]);
  expect(folders[1]).not.toBe(folders[0]);
  await writeFile(join(folder, "taken"), "");
  await expect(opened({ workspaceAccess: "none" }, { folder: join(folder, "taken") })).rejects.toMatchObject({
    code: "unavailable",
    message: "the sandbox's folder taken/agent-helper cannot be made",
  });
});

test("a sandbox is not opened, with the reason: no client, no proxy, or one that a container would go around", async () => {
  const why = (change: Partial<SandboxSettings>, more: object = {}): Promise<unknown> =>
    opened(change, more).then(
      () => "opened",
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  const wayOut = () => Promise.reject(new Error("the proxy does not listen"));
  expect([
    await why({}, { host: {} }),
    await why({ network: "egress" }, { wayOut }),
    await why({ network: "egress", backend: "bubblewrap" }),
    await why({ network: "egress", backend: "bubblewrap" }, { wayOut }),
  ]).toEqual([
    "unsupported: the sandbox needs the docker client; install it, or set agents.defaults.sandbox.backend",
    'unsupported: sandbox.network "egress" is there with the backend bubblewrap alone: a container would reach more than its proxy; set it to false or true for docker',
    'unsupported: sandbox.network is "egress", and there is no proxy in this process',
    "undefined: the proxy does not listen",
  ]);
});
