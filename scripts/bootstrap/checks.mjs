// Every check of the repository in one run: web build, lint, format, unused code, types, then all test projects. It goes on
// after a failure, so that one run tells everything, and ends with the line "N passed, N failed": one for each static
// check, one for each test.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { at, bundledStamp, root, toolchain, toolEnv } from "./places.mjs";
import { SetupProblem } from "./problem.mjs";
import { setUp } from "./set-up.mjs";
import { bringTestPrograms } from "./test-programs.mjs";

/** Ends `npm run test:ci-long` when it hangs; it takes about ten minutes on two quiet cores. */
const longBudgetMs = 30 * 60_000;

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/** What ends each command that runs: an interrupted run leaves none behind. */
const endings = new Set();

/** Resolves with the exit code, whatever happens; past `limitMs` the command is ended and counts as failed. */
function run(command, args, { limitMs, env = {} } = {}) {
  return new Promise((resolve) => {
    // A group of its own, so that ending it takes along whatever it started.
    const child = spawn(command, args, {
      cwd: root,
      env: { ...toolEnv(), ...env },
      stdio: ["ignore", "inherit", "inherit"],
      detached: true,
    });
    const end = () => child.pid !== undefined && process.kill(-child.pid, "SIGTERM");
    const timer = limitMs === undefined ? undefined : setTimeout(end, limitMs);
    endings.add(end);
    const leave = () => {
      for (const each of endings) each();
      process.exit(130);
    };
    process.once("SIGTERM", leave).once("SIGINT", leave);
    const done = (code) => {
      clearTimeout(timer);
      endings.delete(end);
      process.off("SIGTERM", leave).off("SIGINT", leave);
      resolve(code);
    };
    child.on("error", (error) => (console.error(`${command}: ${error.message}`), done(1)));
    child.on("exit", (code, signal) => done(code ?? (signal === "SIGTERM" ? 143 : 1)));
  });
}

async function staticCheck(name, check) {
  const begunMs = performance.now();
  const passed = await check();
  console.log(`${passed ? "✓" : "✗"} ${name} (${seconds(performance.now() - begunMs)})`);
  return { passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: 0, failures: passed ? [] : [name] };
}

/** The page is built first: a bundle serves it. */
const bundled = async (folder) =>
  prepared({ web: true }) ? run("node", [at("scripts/bundle.mjs"), folder]) : 1;

const turbo = (task) => async () =>
  (await run("turbo", ["run", task, "--output-logs=errors-only", "--continue"])) === 0;

function prepared(wants) {
  try {
    setUp(wants);
    return true;
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    console.error(`[setup] ${error.message}`);
    return false;
  }
}

/** Counts from vitest's own report. A file that does not load, or an error outside every test, fails the run without a failed test: it counts as one. */
function counted(report, code) {
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0, failures: ["vitest left no report"] };
  const { numPassedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
  const failures = testResults.flatMap((file) => {
    const tests = file.assertionResults.filter((test) => test.status === "failed");
    if (file.status === "failed" && tests.length === 0) return [`${file.name}: ${file.message}`];
    return tests.map((test) => `${file.name} > ${test.fullName}\n${test.failureMessages.join("\n")}`);
  });
  if (code !== 0 && failures.length === 0) failures.push("an error outside every test; it stands above");
  return { passed: numPassedTests, failed: failures.length, skipped: numPendingTests, failures };
}

async function vitest(args, options) {
  const report = at("node_modules/.vitest-report.json");
  rmSync(report, { force: true });
  const code = await run(
    "vitest",
    [
      "run",
      "--passWithNoTests",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
      ...args,
    ],
    options,
  );
  if (options?.limitMs !== undefined && code === 143)
    console.log(`the tests did not end within ${seconds(options.limitMs)}`);
  return counted(report, code);
}

/**
 * Runs everything, or with `--long-only` the named files (all *.long.test.ts when none is named) within their time budget.
 * @returns {Promise<number>} the exit code
 */
export async function runChecks(args) {
  const results = [await staticCheck("set-up", () => prepared({ web: false }))];
  if (results[0].failed > 0) {
    // Without tools there is nothing to check with.
  } else if (args.includes("--long-only")) {
    bringTestPrograms();
    const others = args.filter((arg) => arg !== "--long-only");
    const files = others.length > 0 ? others : [".long.test.ts"];
    const bundle = at("node_modules/.test-bundle");
    results.push(await staticCheck("bundle", async () => (await bundled(bundle)) === 0));
    // `npm test` starts daemons as bin/parley does in a checkout; these hundreds run as people install them.
    const env = { PARLEY_LONG: "1", PARLEY_TEST_BUNDLE: path.join(bundle, "apps") };
    results.push(await vitest(files, { limitMs: longBudgetMs, env }));
  } else {
    bringTestPrograms();
    // A part is run while somebody works on it: its daemons start from the sources.
    const programs = args.length === 0 ? "fresh" : "none";
    results.push(await staticCheck("web app", () => prepared({ web: true, programs })));
    const lint = staticCheck("lint", turbo("//#check:lint"));
    // One after another beside the linter: each of them uses one core.
    results.push(await staticCheck("format", turbo("//#check:format")));
    results.push(await staticCheck("unused", turbo("//#check:unused")));
    results.push(await staticCheck("types", turbo("//#check:types")));
    results.push(await lint);
    // Half the processor time of a start from sources, of which the command line's tests make some.
    const isBundled =
      programs === "fresh" && existsSync(bundledStamp) && readFileSync(bundledStamp, "utf8") !== "failed";
    results.push(await vitest(args, isBundled ? { env: { PARLEY_TEST_BUNDLE: toolchain } } : {}));
  }
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  const failures = results.flatMap((result) => result.failures);
  for (const failure of failures) console.log(`✗ ${failure}`);
  // .ci/run shows them again at its very end, where a log that is cut keeps them.
  const list = at("node_modules", args.includes("--long-only") ? ".failed-long" : ".failed-quick");
  if (existsSync(at("node_modules")))
    writeFileSync(list, failures.map((failure) => `✗ ${failure}\n`).join(""));
  if (sum("skipped") > 0) console.log(`${sum("skipped")} skipped; the reasons stand above`);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
  return sum("failed") === 0 ? 0 : 1;
}
