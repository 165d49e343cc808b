// The gateway as a service: what is written, that systemd itself can read it, and how systemd is spoken to.
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { execFileSync, spawn } from "node:child_process";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { isSameUnit, unitPlan } from "../src/unit/plan.ts";
import { launchdList } from "../src/unit/plist.ts";
import { supervising, supervisorOf } from "../src/unit/supervisor.ts";
import { systemdUnit } from "../src/unit/systemd.ts";
import { parley, stateFolder, type Run } from "./fake-gateway.ts";

interface Machine {
  readonly home: string;
  run(...argv: readonly string[]): Promise<Run>;
  /** What systemctl was asked. */
  asked(): readonly string[];
  readonly file: string;
}

/** A home with a systemctl that writes down what it is asked. */
function machine(systemctl = 'echo "$@" >> "$HOME/asked"'): Machine {
  const home = stateFolder("{ gateway: { port: 1 } }", null);
  const bin = join(home, "bin");
  mkdirSync(bin);
  for (const [name, body] of [
    ["systemctl", systemctl],
    ["loginctl", "echo no"],
  ] as const) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return {
    home,
    file: join(home, ".config/systemd/user/parley.service"),
    run: (...argv) => parley(home, argv, { env: { HOME: home, PATH: `${bin}:/usr/bin:/bin` } }),
    asked: () =>
      existsSync(join(home, "asked")) ? readFileSync(join(home, "asked"), "utf8").trim().split("\n") : [],
  };
}

describe("service install", () => {
  test("writes the unit, enables and starts it; twice is once", async () => {
    const { run, file, asked } = machine();
    const first = await run("service", "install", "--manager", "systemd");
    expect([first.exitCode, first.err]).toEqual([0, ""]);
    expect(first.out).toContain("loginctl enable-linger");
    expect(asked()).toEqual([
      "--user daemon-reload",
      "--user enable parley.service",
      "--user restart parley.service",
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o644);
    const text = readFileSync(file, "utf8");
    for (const words of [
      "Type=notify",
      "KillMode=mixed",
      "WatchdogSec=60",
      "Restart=always",
      "RestartPreventExitStatus=78",
      "NoNewPrivileges=true",
    ]) {
      expect(text).toContain(`\n${words}\n`);
    }
    expect((await run("service", "install", "--manager", "systemd")).out).toContain("Unchanged");
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  test("keeps the unit there is when systemd would not read the new one", async () => {
    const { run, file, home } = machine();
    await run("service", "install", "--manager", "systemd");
    const before = `${readFileSync(file, "utf8")}# of an older version\n`;
    writeFileSync(file, before);
    writeFileSync(
      join(home, "bin/systemd-analyze"),
      "#!/bin/sh\necho 'parley.service: bad unit' >&2; exit 1\n",
    );
    chmodSync(join(home, "bin/systemd-analyze"), 0o755);
    const { exitCode, err } = await run("service", "install", "--manager", "systemd");
    expect([exitCode, err]).toEqual([1, expect.stringContaining("bad unit")]);
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  test("does not replace or remove a unit of somebody else", async () => {
    const { run, file } = machine();
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, "[Service]\nExecStart=/bin/true\n");
    for (const act of ["install", "uninstall"]) {
      expect(await run("service", act, "--manager", "systemd")).toMatchObject({
        exitCode: 1,
        err: expect.stringContaining("was not written by Parley") as string,
      });
    }
    expect(readFileSync(file, "utf8")).toContain("/bin/true");
  });

  test("leaves the file and tells systemd's words when it cannot be started", async () => {
    const { run, file } = machine('echo "Failed to connect to bus" >&2; exit 1');
    const { exitCode, err } = await run("service", "install", "--manager", "systemd");
    expect([exitCode, existsSync(file)]).toEqual([1, true]);
    expect(err).toContain("Failed to connect to bus");
  });

  test("--no-start only writes the file, also where no systemd can be reached", async () => {
    const { run, file } = machine("echo 'Failed to connect to bus' >&2; exit 1");
    const { exitCode, out, err } = await run("service", "install", "--manager", "systemd", "--no-start");
    expect([exitCode, out]).toEqual([0, expect.stringContaining(`Wrote ${file}.`)]);
    expect(err).toMatch(
      /Failed to connect to bus\nIn a container, or after su, no systemd may run for this user: .*parley start/,
    );
    expect(existsSync(file)).toBe(true);
  });

  test("uninstall stops it and removes the file alone; a second time nothing is there", async () => {
    const { run, file, asked, home } = machine();
    await run("service", "install", "--manager", "systemd", "--no-start");
    expect(await run("service", "uninstall", "--manager", "systemd")).toMatchObject({ exitCode: 0 });
    expect(asked()).toEqual([
      "--user daemon-reload",
      "--user disable --now parley.service",
      "--user daemon-reload",
    ]);
    expect([existsSync(file), existsSync(join(home, "parley.json5"))]).toEqual([false, true]);
    const again = await run("service", "uninstall", "--manager", "systemd", "--json");
    expect(JSON.parse(again.out)).toEqual({ file, removed: false });
    expect((await run("service", "uninstall", "--manager", "systemd")).out).toContain("nothing to remove");
  });

  test("status tells whether it runs, in words and JSON", async () => {
    const { run } = machine(
      'printf "MainPID=77\\nActiveState=active\\nSubState=running\\nUnitFileState=enabled\\n"',
    );
    expect(await run("service", "status", "--manager", "systemd")).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining("active (running)  (process 77)") as string,
    });
    const told: unknown = JSON.parse((await run("service", "status", "--manager", "systemd", "--json")).out);
    expect(told).toMatchObject({ installed: false, enabled: true, running: true, pid: 77 });
  });

  test.each([
    ["active", "running", "enabled", 0],
    ["active", "running", "disabled", 0],
    ["reloading", "reload", "disabled", 0],
    ["inactive", "dead", "enabled", 1],
    ["activating", "auto-restart", "enabled", 1],
    ["failed", "failed", "disabled", 1],
  ])("a unit that is %s (%s) and %s ends status with %d", async (active, sub, file, exitCode) => {
    const { run } = machine(
      `printf "MainPID=0\\nActiveState=${active}\\nSubState=${sub}\\nUnitFileState=${file}\\n"`,
    );
    const said = await run("service", "status", "--manager", "systemd");
    expect(said.exitCode).toBe(exitCode);
    expect(said.out).toContain(
      `Enabled   ${file === "enabled" ? "yes" : "no"}\nState     ${active} (${sub})\n`,
    );
  });

  test("refuses what cannot be: exit code 2", async () => {
    const { run } = machine();
    expect((await run("service", "install", "--manager", "upstart")).exitCode).toBe(2);
    expect((await run("service", "install", "--name", "a b")).exitCode).toBe(2);
    expect((await run("service", "install", "--run-as", "root")).exitCode).toBe(2);
  });
});

test("a service is told in whole words, and in JSON with each of them by itself", async () => {
  const { run, file, home } = machine(
    'case "$*" in *show*) printf "MainPID=77\\nActiveState=active\\nSubState=running\\nUnitFileState=enabled\\n" ;; esac',
  );
  const service = async (...argv: readonly string[]) => {
    const { exitCode, out, err } = await run("service", ...argv, "--manager", "systemd");
    return [exitCode, `${out}${err}`.replaceAll(home, "<home>")];
  };
  const linger = `It ends when you log out, unless you let it run on: loginctl enable-linger ${userInfo().username}`;
  const path = "<home>/.config/systemd/user/parley.service";
  const running = "Enabled   yes\nState     active (running)  (process 77)\n";
  const [code, text] = await service("install", "--print");
  expect([code, existsSync(file)]).toEqual([0, false]);
  const printed = await service("install", "--print", "--json");
  expect([
    printed,
    await service("status"),
    await service("install"),
    await service("install", "--json"),
    await service("status"),
    [readFileSync(file, "utf8"), writeFileSync(file, `${readFileSync(file, "utf8")}# older\n`)],
    await service("status"),
    await service("status", "--json"),
    await service("install", "--no-start", "--json"),
    await service("status"),
    await service("uninstall"),
    await service("uninstall"),
  ]).toEqual([
    [0, `${JSON.stringify({ file: path, text })}\n`],
    [0, `File      ${path}  not installed: parley service install\n${running}`],
    [
      0,
      `Wrote ${path}.\nsystemd (user service parley) runs the gateway now and after each boot.\n${linger}\n`,
    ],
    [0, `${JSON.stringify({ file: path, changed: false, started: true, hint: linger })}\n`],
    [0, `File      ${path}\n${running}`],
    [String(text).replaceAll("<home>", home), undefined],
    [0, `File      ${path}  of another version or place: parley service install renews it\n${running}`],
    [
      0,
      `${JSON.stringify({ manager: "systemd", file: path, installed: true, stale: true, enabled: true, running: true, pid: 77, told: "active (running)" })}\n`,
    ],
    [0, `${JSON.stringify({ file: path, changed: true, started: false, hint: linger })}\n`],
    [0, `File      ${path}\n${running}`],
    [0, `Removed ${path}. <home> was not touched.\n`],
    [0, `${path} is not there: nothing to remove.\n`],
  ]);
});

test("a unit that cannot be stopped before it is removed is told; launchd has a folder for its log", async () => {
  const broken = machine("echo 'no bus' >&2; exit 1");
  await broken.run("service", "install", "--manager", "systemd", "--no-start");
  const gone = await broken.run("service", "uninstall", "--manager", "systemd");
  expect([gone.exitCode, gone.out, gone.err, existsSync(broken.file)]).toEqual([
    0,
    `Removed ${broken.file}. ${broken.home} was not touched.\n`,
    expect.stringContaining("no bus"),
    false,
  ]);
  const mac = machine();
  writeFileSync(join(mac.home, "bin/launchctl"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  const { exitCode, out } = await mac.run("service", "install", "--manager", "launchd", "--no-start");
  expect([exitCode, out]).toEqual([0, `Wrote ${mac.home}/Library/LaunchAgents/dev.parley.gateway.plist.\n`]);
  expect(statSync(join(mac.home, "logs")).mode & 0o777).toBe(0o700);
});

test("stop asks systemd when it is systemd that would start the gateway again", async () => {
  // Stands for the gateway, which the fake systemctl says is its own. It does not end, so the wait does.
  const gateway = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "gateway"]);
  onTestFinished(() => void gateway.kill("SIGKILL"));
  const { run, home, asked } = machine(
    `case "$*" in *show*) printf "MainPID=%s\\n" ${gateway.pid} ;; *) echo "$@" >> "$HOME/asked" ;; esac`,
  );
  writeFileSync(join(home, "daemon.pid"), `${gateway.pid}\n`);
  if (process.platform === "linux") {
    // As in a small container, which has none.
    const ps = join(home, "bin/ps");
    writeFileSync(ps, "#!/bin/sh\nexit 127\n");
    chmodSync(ps, 0o755);
  }
  const { exitCode, err } = await run("stop", "--timeout", "0.3");
  expect([exitCode, err]).toEqual([1, expect.stringContaining("still runs after 0.3 s")]);
  expect(asked()).toEqual(["--user stop parley.service"]);
  const systemctl = `case "$*" in *show*) printf "MainPID=%s\\n" ${gateway.pid} ;; *stop*) kill -9 ${gateway.pid} ;; esac`;
  writeFileSync(join(home, "bin/systemctl"), `#!/bin/sh\n${systemctl}\n`);
  expect(await run("stop")).toEqual({
    exitCode: 0,
    out: `The gateway (process ${gateway.pid}) has stopped. systemd (user service parley) starts it again at the next boot.\n`,
    err: "",
  });
});

test("a number that is another program's by now is left alone", async () => {
  const { run, home } = machine();
  const other = spawn("sleep", ["60"]);
  onTestFinished(() => void other.kill("SIGKILL"));
  writeFileSync(join(home, "daemon.pid"), `${other.pid}\n`);
  const { out, err } = await run("stop", "--timeout", "0.3");
  expect(`${out}${err}`).toMatch(/no gateway|not running|nothing/i);
  expect([other.exitCode, other.signalCode]).toEqual([null, null]);
});

describe("what is written", () => {
  const sample = { HOME: "/home/me", PATH: "/usr/local/bin:/usr/bin:/bin" };

  const hasSystemd = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"].some((path) => existsSync(path));
  test.skipIf(!hasSystemd)(
    "is read by systemd, where there is one, without a complaint, odd paths too",
    () => {
      const home = stateFolder(null, null);
      for (const [name, env, system] of [
        ["parley", { ...sample, PARLEY_HOME: home }, false],
        [
          "parley-odd",
          {
            ...sample,
            PARLEY_HOME: `${home}/100% "mine"\\ $HOME`,
            PARLEY_CONFIG: "/etc/parley config.json5",
          },
          false,
        ],
        ["parley-system", { ...sample, PARLEY_HOME: home, SUDO_USER: "root" }, true],
      ] as const) {
        const file = join(home, `${name}.service`);
        writeFileSync(file, systemdUnit(unitPlan(env, { name, system, manager: "systemd" })));
        const told = execFileSync(
          "/bin/sh",
          ["-c", `systemd-analyze ${system ? "" : "--user "}verify "$1" 2>&1 || true`, "sh", file],
          {
            encoding: "utf8",
          },
        );
        expect(told.split("\n").filter((each) => each.includes(name))).toEqual([]);
      }
    },
  );

  test("has every path in systemd's own spelling", () => {
    const home = '/h/100% "mine"\\ $HOME';
    const plan = unitPlan({ ...sample, PARLEY_HOME: home }, { manager: "systemd" });
    const lines = systemdUnit({ ...plan, root: "/o p/$b\\c%d" }).split("\n");
    expect(
      lines.filter((each) => /^(?:Doc|Work|ExecStart|Environment|User|Wanted|Capab)/.test(each)),
    ).toEqual([
      "Documentation=file:/o p/$b\\c%%d/docs/operations.md",
      "WorkingDirectory=/o p/$b\\\\c%%d",
      'ExecStart="/o p/$$b\\\\c%%d/bin/parley" start',
      'Environment="PARLEY_HOME=/h/100%% \\"mine\\"\\\\ $HOME"',
      'Environment="PATH=/usr/local/bin:/usr/bin:/bin"',
      'EnvironmentFile=-/h/100%% "mine"\\ $HOME/env',
      "WantedBy=default.target",
    ]);
    // A dollar alone needs no quotes, a quote does.
    const start = (root: string) =>
      systemdUnit({ ...plan, root })
        .split("\n")
        .find((each) => each.startsWith("ExecStart="));
    expect(["/a$b", "/a'b", "/a;b", '/a"b'].map(start)).toEqual([
      "ExecStart=/a$$b/bin/parley start",
      `ExecStart="/a'b/bin/parley" start`,
      'ExecStart="/a;b/bin/parley" start',
      'ExecStart="/a\\"b/bin/parley" start',
    ]);
  });

  test("goes where the manager looks, and carries what the service needs of this environment", () => {
    const env = { ...sample, PARLEY_HOME: "/p", SUDO_USER: "eve" };
    const own = { PARLEY_HOME: "/p", PATH: sample.PATH };
    const planned = (...[more, flags, platform]: [object, object, NodeJS.Platform?]) => {
      const {
        manager,
        scope,
        name,
        file,
        env: carried,
        runAs,
      } = unitPlan({ ...env, ...more }, flags, platform);
      return [manager, scope, name, file, carried, runAs];
    };
    expect([
      planned({}, {}, "linux"),
      planned({}, {}, "darwin"),
      planned({ XDG_CONFIG_HOME: "/x" }, { name: "p.2_a-b" }, "linux"),
      planned({ XDG_CONFIG_HOME: "" }, { system: false }, "linux"),
      planned({ XDG_CONFIG_HOME: "/x" }, { system: true }, "linux"),
      planned({}, { system: true, runAs: "adam", name: "two" }, "darwin"),
      planned(
        { PARLEY_CONFIG: "/etc/p.json5", PATH: undefined },
        { manager: "launchd", name: "two" },
        "linux",
      ),
      planned({ PARLEY_CONFIG: "/p/parley.json5" }, { manager: "systemd" }, "darwin"),
    ]).toEqual([
      ["systemd", "user", "parley", "/home/me/.config/systemd/user/parley.service", own, null],
      ["launchd", "user", "parley", "/home/me/Library/LaunchAgents/dev.parley.gateway.plist", own, null],
      ["systemd", "user", "p.2_a-b", "/x/systemd/user/p.2_a-b.service", own, null],
      ["systemd", "user", "parley", "/home/me/.config/systemd/user/parley.service", own, null],
      ["systemd", "system", "parley", "/etc/systemd/system/parley.service", own, "eve"],
      ["launchd", "system", "two", "/Library/LaunchDaemons/dev.parley.two.plist", own, "adam"],
      [
        "launchd",
        "user",
        "two",
        "/home/me/Library/LaunchAgents/dev.parley.two.plist",
        { PARLEY_HOME: "/p", PARLEY_CONFIG: "/etc/p.json5", PATH: "/usr/local/bin:/usr/bin:/bin" },
        null,
      ],
      ["systemd", "user", "parley", "/home/me/.config/systemd/user/parley.service", own, null],
    ]);
    const { SUDO_USER: _, ...alone } = env;
    expect(unitPlan(alone, { system: true }).runAs).toBe(userInfo().username);
    const unit = (path: string, more: object = {}) => {
      const plan = unitPlan({ ...env, PATH: path, ...more }, {}, "linux");
      return [systemdUnit(plan), launchdList(plan)] as const;
    };
    const [systemd, launchd] = unit("/a");
    const [otherPath, otherPathList] = unit("/b:/c");
    const [otherHome, otherHomeList] = unit("/a", { PARLEY_HOME: "/q" });
    expect(systemd).not.toBe(otherPath);
    expect([isSameUnit(systemd, otherPath), isSameUnit(launchd, otherPathList)]).toEqual([true, true]);
    expect([isSameUnit(systemd, otherHome), isSameUnit(launchd, otherHomeList)]).toEqual([false, false]);
  });

  test.each([
    [{ name: "a".repeat(65) }, {}, /^--name has letters, digits/],
    [{ name: "-a" }, {}, /^--name has .* not "-a"$/],
    [{ name: "a/b" }, {}, /^--name has/],
    [{ name: "a\n" }, {}, /^--name has/],
    [{ name: "" }, {}, /^--name has/],
    [{ manager: "" }, {}, /^--manager is systemd or launchd, not ""$/],
    [{ runAs: "eve" }, {}, /^--run-as goes with --system; without it the service runs as you$/],
    [{}, { PARLEY_HOME: "/a\nb" }, /^A path with a line end cannot stand in a service file$/],
    [{}, { PARLEY_CONFIG: "/a\rb" }, /^A path with a line end/],
    [{}, { PATH: "/a\u001Fb" }, /^A path with a line end/],
    [{ system: true, runAs: "a\nb" }, {}, /^A path with a line end/],
  ])("of %j with %j nothing is written", (flags, env, words) => {
    expect(() => unitPlan({ ...sample, PARLEY_HOME: "/p", ...env }, flags)).toThrow(words);
  });

  test("takes a name of 64 signs", () => {
    expect(unitPlan(sample, { name: "a".repeat(64) }).name).toHaveLength(64);
  });

  test("is well-formed for launchd, with everything escaped", () => {
    const text = launchdList(
      unitPlan({ ...sample, PARLEY_HOME: "/Users/a & b/<x>" }, { manager: "launchd" }, "darwin"),
    );
    expect(text).toContain("<string>/Users/a &amp; b/&lt;x&gt;</string>");
    expect(text.match(/<dict>/g)?.length).toBe(text.match(/<\/dict>/g)?.length);
    expect(text).toContain("<key>Label</key><string>dev.parley.gateway</string>");
  });

  test("is what deploy/ shows", () => {
    const deploy = new URL("../../../deploy/", import.meta.url);
    const plan = {
      root: "/opt/parley",
      home: "/var/lib/parley",
      name: "parley",
      scope: "system",
      env: { PARLEY_HOME: "/var/lib/parley", PATH: "/usr/local/bin:/usr/bin:/bin" },
      runAs: "parley",
      file: "",
    } as const;
    expect(readFileSync(new URL("parley.service", deploy), "utf8")).toBe(
      systemdUnit({ ...plan, manager: "systemd" }),
    );
    const mac = {
      ...plan,
      root: "/Users/me/parley",
      home: "/Users/me/.parley",
      scope: "user",
      env: { PARLEY_HOME: "/Users/me/.parley", PATH: plan.env.PATH },
      runAs: null,
      manager: "launchd",
    } as const;
    expect(readFileSync(new URL("dev.parley.gateway.plist", deploy), "utf8")).toBe(launchdList(mac));
  });
});

/** A service of launchd or systemd whose program writes down what it is asked, and answers by this script. */
function supervised(manager: "launchd" | "systemd", scope: "user" | "system", script: string) {
  const { home } = machine();
  const program = manager === "launchd" ? "launchctl" : "systemctl";
  writeFileSync(join(home, "bin", program), `#!/bin/sh\necho "$@" >> "$HOME/asked"\n${script}\n`, {
    mode: 0o755,
  });
  const terminal = { env: { HOME: home, PATH: `${join(home, "bin")}:/usr/bin:/bin` } };
  const supervisor = supervisorOf(terminal as never, {
    manager,
    scope,
    name: "parley",
    file: "/units/parley",
  });
  const asked = async (act: () => Promise<unknown>): Promise<readonly string[]> => {
    writeFileSync(join(home, "asked"), "");
    await act();
    return readFileSync(join(home, "asked"), "utf8")
      .trim()
      .split("\n")
      .filter((line) => line !== "");
  };
  return { supervisor, asked };
}

test("launchd is asked by the service's label in the user's domain, and one that is loaded is taken out first", async () => {
  const own = `gui/${userInfo().uid}`;
  const { supervisor, asked } = supervised("launchd", "user", "true");
  const [, label = ""] = /^launchd \((.*)\)$/.exec(supervisor.words) ?? [];
  const target = `${own}/${label}`;
  expect(supervisor.service).toEqual({ manager: "launchd", scope: "user", name: "parley" });
  expect([
    await asked(() => supervisor.load(false)),
    await asked(() => supervisor.load(true)),
    await asked(() => supervisor.stop()),
    await asked(() => supervisor.start()),
    await asked(() => supervisor.unload()),
    await asked(() => supervisor.forgotten()),
  ]).toEqual([
    [],
    [`print ${target}`, `bootout ${target}`, `enable ${target}`, `bootstrap ${own} /units/parley`],
    [`kill SIGTERM ${target}`],
    [`kickstart ${target}`],
    [`print ${target}`, `bootout ${target}`],
    [],
  ]);
  const absent = supervised("launchd", "system", '[ "$1" != print ]');
  expect(await absent.asked(() => absent.supervisor.load(true))).toEqual([
    `print system/${label}`,
    `enable system/${label}`,
    "bootstrap system /units/parley",
  ]);
  expect(await absent.asked(() => absent.supervisor.unload())).toEqual([`print system/${label}`]);
});

test.each<["launchd" | "systemd", string, object]>([
  [
    "launchd",
    "printf '\\tstate = running\\n\\tpid = 41\\n'",
    { enabled: true, running: true, pid: 41, told: "running" },
  ],
  [
    "launchd",
    "printf '\\tstate = not running\\n'",
    { enabled: true, running: false, pid: null, told: "loaded" },
  ],
  ["launchd", "exit 113", { enabled: false, running: false, pid: null, told: null }],
  [
    "systemd",
    "echo MainPID=41; echo ActiveState=active; echo SubState=running; echo UnitFileState=enabled",
    { enabled: true, running: true, pid: 41, told: "active (running)" },
  ],
  [
    "systemd",
    "echo MainPID=0; echo ActiveState=reloading; echo SubState=reload; echo UnitFileState=disabled",
    { enabled: false, running: true, pid: null, told: "reloading (reload)" },
  ],
  [
    "systemd",
    "echo MainPID=0; echo ActiveState=failed; echo UnitFileState=enabled-runtime",
    { enabled: true, running: false, pid: null, told: "failed ()" },
  ],
  ["systemd", "exit 1", { enabled: false, running: false, pid: null, told: null }],
])("what %s says by `%s` is told as the service's state", async (manager, script, state) => {
  expect(await supervised(manager, "user", script).supervisor.state()).toEqual(state);
});

test("systemd is asked for the user's services by --user, for the system's without; what fails is told in its words", async () => {
  const user = supervised("systemd", "user", "true");
  const system = supervised("systemd", "system", "true");
  expect([
    await user.asked(() => user.supervisor.load(false)),
    await user.asked(() => user.supervisor.unload()),
    await user.asked(() => user.supervisor.forgotten()),
    await system.asked(() => system.supervisor.stop()),
    await system.asked(() => system.supervisor.start()),
  ]).toEqual([
    ["--user daemon-reload"],
    ["--user disable --now parley.service"],
    ["--user daemon-reload"],
    ["stop parley.service"],
    ["start parley.service"],
  ]);
  const failed = supervised("systemd", "user", "echo no bus; exit 1");
  await expect(failed.supervisor.stop()).rejects.toMatchObject({
    code: "unavailable",
    message: "`systemctl --user stop parley.service` failed: no bus",
  });
  const mute = supervised("systemd", "user", "exit 5");
  await expect(mute.supervisor.start()).rejects.toThrow("failed: exit code 5");
});

test("a program that is not there is told as such", async () => {
  const { home } = machine();
  const terminal = { env: { HOME: home, PATH: home } } as never;
  const service = { manager: "launchd", scope: "system", name: "two" } as const;
  await expect(supervisorOf(terminal, service).stop()).rejects.toMatchObject({
    code: "unavailable",
    message: "`launchctl kill SIGTERM system/dev.parley.two` could not be run: spawn launchctl ENOENT",
  });
});

test("a process is the service's whose manager says so: the user's first, then the machine's, then launchd's", async () => {
  const { home } = machine();
  const write = (name: string, script: string): void =>
    writeFileSync(join(home, "bin", name), `#!/bin/sh\necho "${name} $@" >> "$HOME/asked"\n${script}\n`, {
      mode: 0o755,
    });
  write(
    "systemctl",
    'case "$1" in --user) echo MainPID=11;; *) echo MainPID=12;; esac; echo ActiveState=failed',
  );
  write("launchctl", "echo 'pid = 13'");
  const terminal = { env: { HOME: home, PATH: `${join(home, "bin")}:/usr/bin:/bin` } } as never;
  const words = async (pid: number, name?: string) => (await supervising(terminal, pid, name))?.words ?? null;
  expect([
    await words(11),
    await words(12),
    await words(13),
    await words(14),
    await words(11, "two"),
  ]).toEqual([
    "systemd (user service parley)",
    "systemd (system service parley)",
    "launchd (dev.parley.gateway)",
    null,
    "systemd (user service two)",
  ]);
  const show = "show --property=MainPID,ActiveState,SubState,UnitFileState";
  expect(readFileSync(join(home, "asked"), "utf8").trim().split("\n").slice(-5)).toEqual([
    `launchctl print gui/${userInfo().uid}/dev.parley.gateway`,
    `systemctl --user ${show} parley.service`,
    `systemctl ${show} parley.service`,
    `launchctl print gui/${userInfo().uid}/dev.parley.gateway`,
    `systemctl --user ${show} two.service`,
  ]);
});
