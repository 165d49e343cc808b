// What stands behind `npm start`: one set-up at a time whatever dies, exact exit codes and signals, and a
// `parley` that starts nothing needless.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "parley-bootstrap-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs a module that imports from scripts/bootstrap/. */
const node = (name: string, code: string): ChildProcess => {
  const from = JSON.stringify(path.join(root, "scripts/bootstrap", name));
  return spawn(process.execPath, ["--input-type=module", "-e", `const it = await import(${from}); ${code}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
};
const ended = async (child: ChildProcess): Promise<readonly unknown[]> =>
  child.exitCode === null && child.signalCode === null
    ? once(child, "exit")
    : [child.exitCode, child.signalCode];

describe("the lock of the set-up", () => {
  const locked = (work: string): ChildProcess =>
    node("lock.mjs", `it.alone(${JSON.stringify(path.join(folder, "lock"))}, () => { ${work} });`);
  const log = (): string => path.join(folder, "log");
  const step = (word: string): string =>
    `process.getBuiltinModule("fs").appendFileSync(${JSON.stringify(log())}, "${word} ");`;
  const rest = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);";

  test("lets in one at a time", async () => {
    const children = Array.from({ length: 6 }, () => locked(`${step("in")} ${rest} ${step("out")}`));
    for (const child of children) expect(await ended(child)).toEqual([0, null]);
    expect(readFileSync(log(), "utf8")).toBe("in out ".repeat(6));
  });

  test("outlives a holder that is killed, and one whose work throws", async () => {
    const holder = locked(`process.stdout.write("held"); ${rest.replace("20", "60_000")}`);
    if (holder.stdout !== null) await once(holder.stdout, "data");
    const waiting = [
      locked(`${step("in")} ${rest} ${step("out")}`),
      locked(`${step("in")} ${rest} ${step("out")}`),
    ];
    holder.kill("SIGKILL");
    for (const child of waiting) expect(await ended(child)).toEqual([0, null]);
    const failing = node(
      "lock.mjs",
      `try { it.alone(${JSON.stringify(path.join(folder, "lock"))}, () => { throw 1; }); } catch { process.exit(3); }`,
    );
    expect(await ended(failing)).toEqual([3, null]);
    expect(await ended(locked(`${step("in")} ${step("out")}`))).toEqual([0, null]);
    expect(readFileSync(log(), "utf8")).toBe("in out ".repeat(3));
  });
});

test("a checkout that this user may not write is not set up by him, and the words say who does", () => {
  cpSync(path.join(root, "scripts"), path.join(folder, "scripts"), { recursive: true });
  writeFileSync(path.join(folder, "package.json"), '{ "packageManager": "pnpm@1.0.0" }');
  chmodSync(folder, 0o555);
  // The modes of files do not bind root.
  const stranger = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const { status, stderr } = spawnSync(process.execPath, ["scripts/dev.mjs", "install"], {
    cwd: folder,
    encoding: "utf8",
    ...stranger,
  });
  chmodSync(folder, 0o755);
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^\[setup\] \S+ is not set up .* may not write there \(EACCES\)\. Run `npm run setup` there as its owner[^\n]*\n$/,
  );
});

describe("what the set-up installs", () => {
  /** A checkout whose npm brings a pnpm that tells what it was asked for. */
  function checkout(): (...words: string[]) => string[] {
    cpSync(path.join(root, "scripts/dev.mjs"), path.join(folder, "scripts/dev.mjs"));
    cpSync(path.join(root, "scripts/bootstrap"), path.join(folder, "scripts/bootstrap"), { recursive: true });
    writeFileSync(path.join(folder, "package.json"), '{ "packageManager": "pnpm@1.0.0" }');
    mkdirSync(path.join(folder, "path"));
    const [log, pnpm] = [path.join(folder, "log"), ".toolchain/node_modules/.bin/pnpm"];
    const asked = (name: string): string =>
      `#!/bin/sh\ncase "$*" in *--prod*) only=" to run" ;; esac\necho "${name}$only" >>${log}\n`;
    writeFileSync(
      path.join(folder, "path/npm"),
      `${asked("npm")}mkdir -p node_modules/.bin node_modules/pnpm && cp ${folder}/pnpm node_modules/.bin/\n`,
      { mode: 0o755 },
    );
    writeFileSync(path.join(folder, "pnpm"), `${asked("pnpm")}mkdir -p node_modules\n`, { mode: 0o755 });
    return (...words) => {
      writeFileSync(log, "");
      const env = { PATH: `${folder}/path:/usr/bin:/bin` };
      const { status, stderr } = spawnSync(process.execPath, ["scripts/dev.mjs", ...words], {
        cwd: folder,
        encoding: "utf8",
        env,
      });
      expect([status, stderr.replaceAll(/^\[setup\] (?:bringing|installing).*\n/gm, "")]).toEqual([0, ""]);
      const there = existsSync(path.join(folder, pnpm)) ? ["pnpm is there"] : [];
      return [...readFileSync(log, "utf8").split("\n").slice(0, -1), ...there];
    };
  }
  const change = (): void =>
    writeFileSync(path.join(folder, "package.json"), '{ "packageManager": "pnpm@1.0.0", "version": "2" }');

  test("a start brings what runs, and the first command of a developer all the rest, which then stays", () => {
    const dev = checkout();
    expect(dev("install", "--to-start")).toEqual(["npm", "pnpm to run"]);
    expect(dev("install", "--to-start")).toEqual([]);
    expect(dev("exec", "true")).toEqual(["npm", "pnpm", "pnpm is there"]);
    expect(dev("install", "--to-start")).toEqual(["pnpm is there"]);
    change();
    expect(dev("install", "--to-start")).toEqual(["pnpm", "pnpm is there"]);
  });

  test("an update of a checkout that only runs brings what runs, and `npm run setup` all", () => {
    const dev = checkout();
    dev("install", "--to-start");
    change();
    expect(dev("install")).toEqual(["npm", "pnpm to run"]);
    expect(dev("install", "--all")).toEqual(["npm", "pnpm", "pnpm is there"]);
  });

  test("a set-up of a fresh checkout brings all", () => {
    expect(checkout()("install")).toEqual(["npm", "pnpm", "pnpm is there"]);
  });
});

describe("a command run through the set-up", () => {
  test.each([
    ["exit 0", [0, null]],
    ["exit 78", [78, null]],
    ["kill -TERM $$", [null, "SIGTERM"]],
  ])("ends like the command: %s", async (command, end) => {
    expect(
      await ended(node("run-as.mjs", `await it.runAs("sh", ["-c", ${JSON.stringify(command)}]);`)),
    ).toEqual(end);
  });

  test("gets the first signal and the second", async () => {
    const daemon =
      'let n = 0; process.on("SIGTERM", () => { n += 1; console.log("told", n); if (n === 2) process.exit(9); }); setInterval(() => 0, 1000); console.log("up");';
    const outer = node("run-as.mjs", `await it.runAs(process.execPath, ["-e", ${JSON.stringify(daemon)}]);`);
    let said = "";
    for await (const chunk of outer.stdout ?? []) {
      said += String(chunk);
      if (said.endsWith("up\n") || said.endsWith("told 1\n")) outer.kill("SIGTERM");
    }
    expect(said).toBe("up\ntold 1\ntold 2\n");
    expect(await ended(outer)).toEqual([9, null]);
  });
});

describe("bin/parley", () => {
  const manifests = [
    "package.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "apps/cli/package.json",
    "packages/a/package.json",
    "config/package.json",
    "bench/package.json",
  ];

  /** File times come from a coarse clock: what happens after this is later on it too. */
  const tick = (): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);

  /**
   * A checkout that is set up, whose "Node" is a script that prints what it was asked to run; and a PATH with
   * no Node on it.
   */
  function checkout(): (...args: string[]) => { status: number | null; text: string } {
    const put = (file: string, text: string): void => {
      mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
      writeFileSync(path.join(folder, file), text, { mode: 0o755 });
    };
    for (const file of manifests) put(file, "{}");
    put("node", '#!/bin/sh\necho "ran $*"\nexit 5\n');
    put("bin/parley", readFileSync(path.join(root, "bin/parley"), "utf8"));
    mkdirSync(path.join(folder, "path"));
    for (const tool of ["sh", "find", "readlink"]) {
      symlinkSync(
        spawnSync("sh", ["-c", `command -v ${tool}`], { encoding: "utf8" }).stdout.trim(),
        path.join(folder, "path", tool),
      );
    }
    tick();
    put("node_modules/.parley-ready", `${folder}/node\nhash\n`);
    tick();
    return (...args) => {
      const env = { PATH: path.join(folder, "path") };
      const { status, stdout, stderr } = spawnSync(path.join(folder, "bin/parley"), args, {
        encoding: "utf8",
        env,
      });
      return { status, text: stdout + stderr };
    };
  }

  test("runs the command line at once when nothing changed since the set-up, and no signal opens its inspector", () => {
    const text = `ran --disable-sigusr1 ${folder}/apps/cli/src/main.ts status --json\n`;
    expect(checkout()("status", "--json")).toEqual({ status: 5, text });
  });

  test.each([...manifests, "node"])(
    "sets up again after a change of %s, and says what to do without Node",
    (file) => {
      const parley = checkout();
      expect(parley("status").status).toBe(5);
      writeFileSync(path.join(folder, file), "changed");
      utimesSync(path.join(folder, file), 0, 0); // As an archive or `cp -p` would.
      const { status, text } = parley("status");
      expect(status).toBe(1);
      expect(text).toContain("Install Node 18 or newer");
    },
  );

  const daemon = (main: string): string =>
    `ran --disable-sigusr1 --max-semi-space-size=2 --max-old-space-size=512 ${folder}/${main} --port 1\n`;
  const put = (file: string): void => {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(folder, file), "changed");
  };
  /** The same checkout with sources, and with the stamps of a page and of programs that were made of them. */
  function built(): ReturnType<typeof checkout> {
    const parley = checkout();
    for (const file of [
      "apps/gateway/src/a.ts",
      "apps/cli/src/a.ts",
      "packages/protocol/src/a.ts",
      "apps/web/a.ts",
    ])
      put(file);
    tick();
    for (const file of ["node_modules/.parley-ready", "apps/web/dist/.built", ".toolchain/bundled"]) {
      mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
      writeFileSync(path.join(folder, file), `${folder}/node\nhash\n`);
    }
    tick();
    return parley;
  }

  test("start looks closely where no page was built, and no more when everything stands", () => {
    expect(checkout()("start").text).toContain("Install Node 18 or newer");
    rmSync(path.join(folder, "path"), { recursive: true });
    expect(built()("start", "--port", "1").text).toBe(daemon(".toolchain/gateway/src/main.js"));
  });

  test.each(["apps/gateway/src/a.ts", "apps/gateway/src/new/b.ts", "packages/protocol/src/a.ts"])(
    "runs the sources after a change of %s, without waiting for another bundle",
    (file) => {
      const parley = built();
      put(file);
      tick();
      for (const stamp of ["node_modules/.parley-ready", "apps/web/dist/.built"])
        utimesSync(path.join(folder, stamp), Date.now() / 1000, Date.now() / 1000);
      tick();
      expect(parley("start", "--port", "1").text).toBe(daemon("apps/gateway/src/main.ts"));
      expect(parley("status").text).toBe(`ran --disable-sigusr1 ${folder}/apps/cli/src/main.ts status\n`);
    },
  );

  test("runs the sources after one of them went away, and the bundled command line else", () => {
    const parley = built();
    expect(parley("status").text).toBe(`ran --disable-sigusr1 ${folder}/.toolchain/cli/src/main.js status\n`);
    rmSync(path.join(folder, "apps/cli/src/a.ts"));
    expect(parley("status").text).toBe(`ran --disable-sigusr1 ${folder}/apps/cli/src/main.ts status\n`);
  });

  test("start sets up again after a change of the page", () => {
    const parley = built();
    put("apps/web/a.ts");
    expect(parley("start").text).toContain("Install Node 18 or newer");
  });
});
