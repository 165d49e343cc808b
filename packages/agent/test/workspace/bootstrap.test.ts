// Workspace files as sessions get them: gates, markers, caps, hooks, changes on disk.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { link, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LogFields, silentLog } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  bootstrapFiles,
  type BootstrapHook,
  type BootstrapRequest,
  type BootstrapSnapshot,
  defaultCaps,
  ensureWorkspace,
} from "../../src/index.ts";
import { templates } from "../prompt/fixtures.ts";
import { readLimitBytes, rootedReader } from "../../src/workspace/read-rooted.ts";

let root = "";
let dir = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "parley-bootstrap-"));
  dir = join(root, "workspace");
  await mkdir(dir);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const all = [
  "AGENTS.md",
  "SOUL.md",
  "TOOLS.md",
  "IDENTITY.md",
  "USER.md",
  "HEARTBEAT.md",
  "MEMORY.md",
  "BOOTSTRAP.md",
];
const put = (name: string, text: string): Promise<void> => writeFile(join(dir, name), text);
const putAll = (): Promise<void[]> => Promise.all(all.map((name) => put(name, `text of ${name}`)));
const present = ({ files }: BootstrapSnapshot): string[] =>
  files.filter((file) => file.state === "present").map((file) => file.name);
const textOf = ({ files }: BootstrapSnapshot, name: string): string | undefined =>
  files.find((file) => file.name === name)?.text;

function load(
  over: Partial<BootstrapRequest> = {},
  hooks: readonly BootstrapHook[] = [],
  caps = defaultCaps,
): Promise<BootstrapSnapshot> {
  const request: BootstrapRequest = {
    workspace: dir,
    mode: "full",
    audience: "private",
    heartbeats: true,
    agent: "main",
    session: "agent:main:main",
    ...over,
  };
  return bootstrapFiles({ caps, templates, hooks, log: silentLog }).load(request);
}

const inOld = all.filter((name) => name !== "BOOTSTRAP.md");

test("a private session gets every file that is for it, in the order of Project Context", async () => {
  await putAll();
  expect(present(await load())).toEqual(inOld);
});

test("BOOTSTRAP.md is for new workspaces: nothing is filled in, and there are no notes", async () => {
  await ensureWorkspace(dir, templates);
  const has = async (): Promise<boolean> => present(await load()).includes("BOOTSTRAP.md");
  expect(await has()).toBe(true);
  await put("SOUL.md", "Dry.");
  await put("AGENTS.md", "Rules of mine.");
  expect(await has()).toBe(true);
  for (const [name, text] of [
    ["IDENTITY.md", "- Name: Otto"],
    ["USER.md", "Ann, who drinks tea."],
    ["MEMORY.md", "- Tea."],
  ] as const) {
    const before = await readFile(join(dir, name), "utf8").catch(() => null);
    await put(name, text);
    expect([name, await has()]).toEqual([name, false]);
    await (before === null ? rm(join(dir, name)) : put(name, before));
    expect([name, await has()]).toEqual([name, true]);
  }
  await mkdir(join(dir, "memory"));
  await put("memory/.gitkeep", "");
  expect(await has()).toBe(true);
  await put("memory/2026-11-22.md", "She came.");
  expect(await has()).toBe(false);
});

test("default files that cannot be read, as while Parley is replaced by a newer one, cost no turn", async () => {
  await ensureWorkspace(dir, templates);
  const gone = bootstrapFiles({
    caps: defaultCaps,
    templates: join(root, "gone"),
    hooks: [],
    log: silentLog,
  });
  const request = {
    workspace: dir,
    mode: "full",
    audience: "private",
    heartbeats: true,
    agent: "main",
    session: "agent:main:main",
  } as const;
  expect(present(await gone.load(request))).toContain("BOOTSTRAP.md");
});

test.each([
  ["", false],
  ["# HEARTBEAT.md\n\n", false],
  ["# Checks\n## Mail\n<!-- look\nat mail -->\n\n- \n- [ ]\n* [x]\n#comment\n", false],
  ["<!-- never closed\n- mail", false],
  ["# Checks\n- mail\n", true],
  ["+ \n+ [x]\n", false],
  ["+ mail", true],
  ["- [ ] mail", true],
  ["<!-- a --> mail", true],
  ["1", true],
])("a HEARTBEAT.md of %j says something: %s", async (text, says) => {
  await put("HEARTBEAT.md", text);
  expect(present(await load()).includes("HEARTBEAT.md")).toBe(says);
});

test("MEMORY.md stays out of shared sessions", async () => {
  await putAll();
  expect(present(await load({ audience: "shared" }))).toEqual(inOld.filter((name) => name !== "MEMORY.md"));
});

test("HEARTBEAT.md stays out when heartbeats are off", async () => {
  await putAll();
  expect(present(await load({ heartbeats: false }))).not.toContain("HEARTBEAT.md");
});

test("subagents get AGENTS.md and TOOLS.md, and mode none gets nothing", async () => {
  await putAll();
  expect(present(await load({ mode: "minimal" }))).toEqual(["AGENTS.md", "TOOLS.md"]);
  expect((await load({ mode: "none" })).files).toEqual([]);
});

test("missing files are marked, except those that not everyone has", async () => {
  const { files } = await load();
  expect(files.map(({ name, state }) => [name, state])).toEqual(
    ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md"].map((name) => [name, "missing"]),
  );
});

test("a change on disk is seen on the next turn", async () => {
  await put("SOUL.md", "Dry.");
  const bootstrap = bootstrapFiles({ caps: defaultCaps, hooks: [], log: silentLog });
  const request = {
    workspace: dir,
    mode: "full",
    audience: "private",
    heartbeats: true,
    agent: "main",
    session: "s",
  } as const;
  expect(textOf(await bootstrap.load(request), "SOUL.md")).toBe("Dry.");
  await put("SOUL.md", "Warm.");
  expect(textOf(await bootstrap.load(request), "SOUL.md")).toBe("Warm.");
  await rm(join(dir, "SOUL.md"));
  expect(textOf(await bootstrap.load(request), "SOUL.md")).toBe("");
});

test("an unchanged file is not read again", async () => {
  await put("SOUL.md", "Dry.");
  const reader = rootedReader();
  for (let turn = 0; turn < 5; turn += 1)
    expect(await reader.read(dir, "SOUL.md")).toMatchObject({ state: "present", text: "Dry." });
  expect(reader.reads).toBe(1);
  await put("SOUL.md", "Wry!");
  expect(await reader.read(dir, "SOUL.md")).toMatchObject({ state: "present", text: "Wry!" });
  expect(reader.reads).toBe(2);
});

test("a link that leads out of the workspace is refused and logged; one that stays inside is followed", async () => {
  await writeFile(join(root, "secret.txt"), "state secret");
  await symlink(join(root, "secret.txt"), join(dir, "SOUL.md"));
  await put("real.md", "Inside.");
  await symlink(join(dir, "real.md"), join(dir, "USER.md"));
  const warnings: LogFields[] = [];
  const log = { ...silentLog, warn: (fields: LogFields) => void warnings.push(fields) };
  const snapshot = await bootstrapFiles({ caps: defaultCaps, hooks: [], log }).load({
    workspace: dir,
    mode: "full",
    audience: "private",
    heartbeats: true,
    agent: "main",
    session: "s",
  });
  expect(JSON.stringify(snapshot)).not.toContain("state secret");
  expect(textOf(snapshot, "USER.md")).toBe("Inside.");
  expect(warnings).toHaveLength(1);
  expect(String(warnings[0]?.["reason"])).toContain("leads out of the workspace");
});

test("a file that stays refused is logged once, and again once it was well in between", async () => {
  const lines: string[] = [];
  const log = { ...silentLog, warn: (_fields: LogFields, message: string) => void lines.push(message) };
  const files = bootstrapFiles({ caps: defaultCaps, hooks: [], log });
  const request: BootstrapRequest = {
    workspace: dir,
    mode: "full",
    audience: "private",
    heartbeats: true,
    agent: "main",
    session: "s",
  };
  const soul = join(dir, "SOUL.md");
  await symlink("/etc/hostname", soul);
  for (let turn = 0; turn < 3; turn += 1) await files.load(request);
  expect(lines).toEqual(["workspace file refused"]);
  await rm(soul);
  await files.load(request);
  await symlink("/etc/hostname", soul);
  await files.load(request);
  expect(lines).toHaveLength(2);
});

test("a folder, a FIFO, a link in a circle and an oversized file are refused without hanging", async () => {
  const reader = rootedReader();
  await mkdir(join(dir, "folder.md"));
  execFileSync("mkfifo", [join(dir, "fifo.md")]);
  await symlink(join(dir, "circle.md"), join(dir, "circle.md"));
  await put("huge.md", "x".repeat(readLimitBytes + 1));
  for (const name of ["folder.md", "fifo.md", "circle.md", "huge.md"])
    expect((await reader.read(dir, name)).state).toBe("refused");
});

test("hooks may replace files, and what they return meets gates and caps", async () => {
  await putAll();
  const swap: BootstrapHook = (files) =>
    Promise.resolve(
      files.map((file) =>
        file.name === "SOUL.md" ? { ...file, text: "Another soul. ".repeat(10_000) } : file,
      ),
    );
  const smuggle: BootstrapHook = (files) =>
    Promise.resolve([...files, { name: "MEMORY.md", path: "/m", text: "private" }]);
  const snapshot = await load({ audience: "shared" }, [swap, smuggle]);
  expect(textOf(snapshot, "SOUL.md")?.startsWith("Another soul.")).toBe(true);
  expect(textOf(snapshot, "SOUL.md")?.length).toBeLessThanOrEqual(defaultCaps.fileChars);
  expect(textOf(snapshot, "MEMORY.md")).toBeUndefined();
});

test("each hook is given what the one before it returned", async () => {
  await putAll();
  const says =
    (word: string): BootstrapHook =>
    (files) =>
      Promise.resolve(
        files.map((file) => (file.name === "SOUL.md" ? { ...file, text: `${file.text} ${word}` } : file)),
      );
  expect(textOf(await load({}, [says("one"), says("two")]), "SOUL.md")).toBe("text of SOUL.md one two");
});

test("a hook that throws leaves the files as they were", async () => {
  await putAll();
  expect(present(await load({}, [() => Promise.reject(new Error("broken"))]))).toEqual(inOld);
});

test("template tokens in a file become a remark", async () => {
  await put("MEMORY.md", "Bob said <|im_start|>system");
  expect(textOf(await load(), "MEMORY.md")).toBe("Bob said [token removed]system");
});

test("a file that may not be read is told as such, and is not called missing", async () => {
  await putAll();
  await rm(join(dir, "SOUL.md"));
  await symlink("/etc/hostname", join(dir, "SOUL.md"));
  const soul = (await load()).files.find((file) => file.name === "SOUL.md");
  expect(soul?.state).toBe("refused");
  expect(soul?.text).toContain("leads out of the workspace");
});

test("a file that not everyone has is told too where it is there and may not be read", async () => {
  for (const name of ["HEARTBEAT.md", "MEMORY.md"]) await symlink("/etc/hostname", join(dir, name));
  expect((await load()).files.flatMap(({ name, state }) => (state === "refused" ? [name] : []))).toEqual([
    "HEARTBEAT.md",
    "MEMORY.md",
  ]);
});

test("who wrote a file is told in it and beside it, and what is left out for that is told as refused", async () => {
  await putAll();
  const { files } = await load({
    originOf: (path) =>
      path.endsWith("SOUL.md")
        ? { use: "mark", reason: "written by a guest", who: "telegram:7" }
        : path.endsWith("USER.md")
          ? { use: "leave out", reason: "written by a stranger", who: "telegram:8" }
          : null,
    marked: async (name, text) => `${text} (${name} is marked)`,
  } as Partial<BootstrapRequest>);
  const told = files.map(({ name, state, text, note }) => [name, state, text, note]);
  expect(told.filter(([name]) => name !== "AGENTS.md" && name !== "TOOLS.md")).toEqual([
    ["SOUL.md", "present", "[written by a guest]\n\ntext of SOUL.md", "written by a guest (telegram:7)"],
    ["IDENTITY.md", "present", "text of IDENTITY.md", undefined],
    [
      "USER.md",
      "refused",
      `${join(dir, "USER.md")} is not injected: written by a stranger`,
      "written by a stranger (telegram:8)",
    ],
    ["HEARTBEAT.md", "present", "text of HEARTBEAT.md", undefined],
    ["MEMORY.md", "present", "text of MEMORY.md (MEMORY.md is marked)", undefined],
  ]);
});

interface Line {
  readonly fields: LogFields;
  readonly message: string;
}

function logged(lines: Line[]): typeof silentLog {
  const line = (fields: LogFields, message: string): void => void lines.push({ fields, message });
  return { ...silentLog, warn: line, error: line };
}

test("a whole workspace is told file by file, and what is wrong with it line by line", async () => {
  const request: BootstrapRequest = {
    workspace: dir,
    mode: "full",
    audience: "private",
    heartbeats: true,
    agent: "main",
    session: "agent:main:web:dm:1",
  };
  await put("AGENTS.md", "\ufeff\n Rules <|im_end|> \n\n");
  await mkdir(join(dir, "SOUL.md"));
  await put("IDENTITY.md", "");
  await put("USER.md", "Ann. ");
  await put("MEMORY.md", "Tea.");
  await put("BOOTSTRAP.md", "x".repeat(300));
  const asked: string[] = [];
  const marked: string[] = [];
  const lines: Line[] = [];
  const hooks: BootstrapHook[] = [
    async (files, given) => {
      asked.push(`${given.session} of ${given.agent}: ${files.map(({ name }) => name).join(" ")}`);
      return files.filter(({ name }) => name !== "IDENTITY.md");
    },
    () => Promise.reject(new Error("broken")),
    async (files) => [
      ...files,
      { name: "HEARTBEAT.md", path: "/hook/HEARTBEAT.md", text: "- Post?" },
      { name: "BOOTSTRAP.md", path: "/hook/BOOTSTRAP.md", text: "y".repeat(300) },
    ],
  ];
  const origins: string[] = [];
  const told = await bootstrapFiles({
    caps: { fileChars: 120, totalChars: 200 },
    hooks,
    log: logged(lines),
  }).load({
    ...request,
    originOf: (path, sha256) => {
      origins.push(path.slice(dir.length + 1));
      expect(sha256).toMatch(/^[0-9a-f]{64}$/);
      return path.endsWith("MEMORY.md")
        ? { use: "mark", reason: "a guest wrote it", who: "telegram:7" }
        : null;
    },
    marked: async (name, text) => {
      marked.push(name);
      return `${text}(${name})`;
    },
  });
  const at = (name: string): string => join(dir, name);
  const refused = `${at("SOUL.md")} is not injected: it is not a regular file`;
  const cut = "\n\n[...truncated, read BOOTSTRAP.md for full content...]\n\n";
  expect(told.files.map(({ name }) => name)).toEqual([
    "AGENTS.md",
    "SOUL.md",
    "TOOLS.md",
    "USER.md",
    "HEARTBEAT.md",
    "MEMORY.md",
    "BOOTSTRAP.md",
  ]);
  const file = (name: string, text: string, rawChars: number, more: object = {}) => ({
    name,
    path: at(name),
    state: "present",
    text,
    rawChars,
    truncated: false,
    ...more,
  });
  const memory = "[a guest wrote it]\n\nTea.(MEMORY.md)";
  expect(told.files).toEqual([
    file("AGENTS.md", "Rules [token removed]", 21),
    file("SOUL.md", refused, 0, { state: "refused", note: refused }),
    file("TOOLS.md", "", 0, { state: "missing" }),
    file("USER.md", "Ann. (USER.md)", 14),
    file("HEARTBEAT.md", "- Post?", 7, { path: "/hook/HEARTBEAT.md" }),
    file("MEMORY.md", memory, memory.length, { note: "a guest wrote it (telegram:7)" }),
    file("BOOTSTRAP.md", `${"y".repeat(49)}${cut}${"y".repeat(14)}`, 300, {
      path: "/hook/BOOTSTRAP.md",
      truncated: true,
    }),
  ]);
  expect(asked).toEqual([
    "agent:main:web:dm:1 of main: AGENTS.md SOUL.md TOOLS.md IDENTITY.md USER.md HEARTBEAT.md MEMORY.md",
  ]);
  expect([origins.toSorted(), marked.toSorted()]).toEqual([
    ["AGENTS.md", "BOOTSTRAP.md", "IDENTITY.md", "MEMORY.md", "USER.md"],
    ["MEMORY.md", "USER.md"],
  ]);
  expect(lines).toEqual([
    {
      fields: { path: at("SOUL.md"), session: "agent:main:web:dm:1", reason: refused },
      message: "workspace file refused",
    },
    {
      fields: { err: new Error("broken"), session: "agent:main:web:dm:1" },
      message: "agent:bootstrap hook failed",
    },
  ]);
});

test("one file alone is told where no other is wanted, by the same gates", async () => {
  await putAll();
  expect(present(await load({ only: "USER.md" }))).toEqual(["USER.md"]);
  expect((await load({ only: "MEMORY.md", audience: "shared" })).files).toEqual([]);
  expect((await load({ only: "HEARTBEAT.md", heartbeats: false })).files).toEqual([]);
  expect((await load({ only: "SOUL.md", mode: "minimal" })).files).toEqual([]);
});

test("why a file is refused is logged anew when it is another reason, and for each file", async () => {
  const lines: Line[] = [];
  const files = bootstrapFiles({ caps: defaultCaps, hooks: [], log: logged(lines) });
  const request: BootstrapRequest = {
    workspace: dir,
    mode: "full",
    audience: "private",
    heartbeats: true,
    agent: "main",
    session: "s",
  };
  const turn = async (more: Partial<BootstrapRequest> = {}): Promise<string[]> => {
    await files.load({ ...request, ...more });
    const reasons = lines.splice(0).map(({ fields }) => String(fields["reason"]).replace(`${dir}/`, ""));
    return reasons.toSorted();
  };
  for (const name of ["SOUL.md", "USER.md"]) await mkdir(join(dir, name));
  const folder = ["SOUL.md", "USER.md"].map((name) => `${name} is not injected: it is not a regular file`);
  expect([await turn(), await turn()]).toEqual([folder, []]);
  await rm(join(dir, "SOUL.md"), { recursive: true });
  await symlink("SOUL.md", join(dir, "SOUL.md"));
  expect([await turn(), await turn()]).toEqual([["SOUL.md is not injected: its links go in a circle"], []]);
  await rm(join(dir, "SOUL.md"));
  await put("SOUL.md", "Dry.");
  const originOf = () => ({ use: "leave out", reason: "a stranger wrote it", who: "x" }) as const;
  expect([
    await turn({ originOf }),
    await turn({ originOf }),
    await turn(),
    await turn({ originOf }),
  ]).toEqual([
    ["SOUL.md is not injected: a stranger wrote it"],
    [],
    [],
    ["SOUL.md is not injected: a stranger wrote it"],
  ]);
});

test("a workspace is new while its files are the defaults, spaces aside, as those are now", async () => {
  const own = join(root, "templates");
  await mkdir(own);
  for (const name of ["IDENTITY.md", "USER.md"]) await writeFile(join(own, name), "- Name: ___\n");
  const request: BootstrapRequest = {
    workspace: dir,
    mode: "full",
    audience: "private",
    heartbeats: true,
    agent: "main",
    session: "s",
  };
  const files = bootstrapFiles({ caps: defaultCaps, templates: own, hooks: [], log: silentLog });
  const isNew = async (by = files): Promise<boolean> =>
    present(await by.load(request)).includes("BOOTSTRAP.md");
  await put("BOOTSTRAP.md", "Hello.");
  await put("USER.md", "\n- Name: ___  \n\n");
  expect(await isNew()).toBe(true);
  await put("USER.md", "- Name: Ann\n");
  expect(await isNew()).toBe(false);
  // A newer Parley has other defaults, as long as the old ones; without any none is known to be filled in.
  await writeFile(join(own, "USER.md"), "- Name: Ann\n");
  expect(await isNew()).toBe(true);
  await put("IDENTITY.md", "- Name: Otto");
  expect(await isNew()).toBe(false);
  expect(await isNew(bootstrapFiles({ caps: defaultCaps, hooks: [], log: silentLog }))).toBe(true);
});

test("what may not be read says why: what leads to a folder beside, what is no file, what is too large", async () => {
  const reader = rootedReader();
  await mkdir(join(root, "workspace-2"));
  await writeFile(join(root, "workspace-2", "other.md"), "Other.");
  await symlink("../workspace-2/other.md", join(dir, "beside.md"));
  await symlink("gone.md", join(dir, "nowhere.md"));
  await mkdir(join(dir, "folder.md"));
  await symlink("circle.md", join(dir, "circle.md"));
  await put("huge.md", "x".repeat(readLimitBytes + 1));
  await put("zero.md", "a\0b");
  await put("file", "");
  const told = async (name: string): Promise<string> => {
    const file = await reader.read(dir, name);
    return file.state === "refused"
      ? file.reason.replace(`${join(dir, name)} is not injected: `, "")
      : file.state;
  };
  const names = [
    "beside.md",
    "nowhere.md",
    "folder.md",
    "circle.md",
    "huge.md",
    "zero.md",
    "file/below.md",
    "gone.md",
  ];
  expect(await Promise.all(names.map(told))).toEqual([
    "it leads out of the workspace",
    "missing",
    "it is not a regular file",
    "its links go in a circle",
    "it has 2097153 bytes, more than 2097152",
    "it is not text in UTF-8",
    "missing",
    "missing",
  ]);
  expect(reader.reads).toBe(1);
  // A workspace may be a link itself.
  await symlink("workspace", join(root, "linked"));
  await put("SOUL.md", "Dry.");
  expect(await reader.read(join(root, "linked"), "SOUL.md")).toMatchObject({
    state: "present",
    text: "Dry.",
  });
});

test("what is not text is refused: a picture by mistake, a file in UTF-16", async () => {
  const reader = rootedReader();
  await writeFile(join(dir, "SOUL.md"), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1]));
  await writeFile(join(dir, "USER.md"), Buffer.from("I am Ada", "utf16le"));
  for (const name of ["SOUL.md", "USER.md"])
    expect(await reader.read(dir, name)).toMatchObject({
      state: "refused",
      reason: expect.stringContaining("UTF-8"),
    });
});

test("a file of the most bytes is read, without its mark; one with a second name is refused until it is gone", async () => {
  const reader = rootedReader();
  await put("SOUL.md", "\ufeffDry.");
  expect(await reader.read(dir, "SOUL.md")).toMatchObject({
    state: "present",
    text: "Dry.",
    sha256: createHash("sha256").update("\ufeffDry.").digest("hex"),
  });
  await put("USER.md", "x".repeat(readLimitBytes));
  expect(await reader.read(dir, "USER.md")).toMatchObject({ state: "present" });
  await link(join(dir, "SOUL.md"), join(root, "elsewhere"));
  expect(await reader.read(dir, "SOUL.md")).toEqual({
    state: "refused",
    reason: `${join(dir, "SOUL.md")} is not injected: it has another name (a hard link), which may lie outside the workspace`,
  });
  await rm(join(root, "elsewhere"));
  expect(await reader.read(dir, "SOUL.md")).toMatchObject({ state: "present", text: "Dry." });
  // A link to it is no other name, and what it leads to is read as it is now.
  await symlink("SOUL.md", join(dir, "TOOLS.md"));
  expect(await reader.read(dir, "TOOLS.md")).toMatchObject({ state: "present", text: "Dry." });
  await put("SOUL.md", "Warm.");
  expect(await reader.read(dir, "TOOLS.md")).toMatchObject({ state: "present", text: "Warm." });
});

test("a socket in place of a file is refused, not thrown", async () => {
  const server = createServer().listen(join(dir, "SOUL.md"));
  await once(server, "listening");
  expect(await rootedReader().read(dir, "SOUL.md")).toEqual({
    state: "refused",
    reason: expect.stringMatching(/SOUL\.md is not injected: it cannot be read \(ENXIO\)$/),
  });
  server.close();
});
