// Programs that some tests drive: brought by apt where that is possible without asking, i.e. as root on Debian and its kin.
// Never fails a run: a suite whose program is missing says how to install it (packages/testkit/src/programs.ts).
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import path from "node:path";

/** Debian package -> the program it brings. The testkit names the same ones to people. */
const wanted = {
  "redis-server": "redis-server",
  chromium: "chromium",
  bubblewrap: "bwrap",
  strace: "strace",
  faketime: "faketime",
  "espeak-ng": "espeak-ng",
  "opus-tools": "opusinfo",
  "nginx-light": "nginx",
};

/** Past this, going without is better than waiting for the network: npm test has six minutes in all. */
const networkLimitMs = 120_000;

function onPath(program) {
  return (process.env.PATH ?? "").split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false; // Not in this folder.
    }
  });
}

function apt(args, timeout) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return (
    spawnSync("apt-get", ["-qq", "-y", "-o", "DPkg::Lock::Timeout=60", ...args], {
      env,
      stdio: "ignore",
      timeout,
    }).status === 0
  );
}

/** Installs what is missing and says so in one line per step. */
export function bringTestPrograms() {
  const missing = Object.entries(wanted).filter(([, program]) => !onPath(program));
  if (missing.length === 0 || process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return;
  console.error(`[setup] installing test programs: ${missing.map(([name]) => name).join(" ")}`);
  const untilMs = Date.now() + networkLimitMs;
  const leftMs = () => Math.max(1, untilMs - Date.now());
  if (!apt(["update"], leftMs()))
    console.error("[setup] apt-get update failed; trying with the lists as they are");
  for (const [name] of missing) {
    // Downloading may be cut off; unpacking may not, dpkg would be left half done.
    const there = apt(["install", "--no-install-recommends", "--download-only", name], leftMs());
    if (!there || !apt(["install", "--no-install-recommends", "--no-download", name])) {
      console.error(`[setup] ${name} could not be installed; the tests that need it say how`);
    }
  }
}
