// npm run simulate -- --seed S --runs N [--nodes] [--plant NAME] [--verbose]: runs N schedules from seed S
// on, on two threads, and ends with 1 and the shrunk schedule when one breaks a law. --nodes: of several
// nodes. With --plant the bug of that name is planted first. --verbose prints the history.
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { deaths, messages, nodes, plantedScenarios, search, type Found } from "./search.ts";
import { tellPlan, tellViolations } from "./tell.ts";

interface Share {
  readonly firstSeed: number;
  readonly runs: number;
  /** Every how many-th seed is this worker's. */
  readonly stride: number;
  readonly plant: string;
}

interface Report {
  readonly runs: number;
  readonly boots: number;
  readonly harmed: number;
  readonly shown: number;
  readonly found: Found | null;
}

if (isMainThread) await main();
else parentPort?.postMessage(await work(workerData as Share));

async function work({ firstSeed, runs, stride, plant }: Share): Promise<Report> {
  const scenario =
    [messages, nodes, deaths, ...plantedScenarios].find((each) => each.name === plant) ?? messages;
  const seeds = Array.from({ length: Math.ceil(runs / stride) }, (_, index) => firstSeed + index * stride);
  let count = 0;
  const sum = { boots: 0, harmed: 0, shown: 0 };
  const found = await search(scenario, seeds, (_seed, run) => {
    count += 1;
    sum.boots += run.boots;
    sum.harmed += run.harmed;
    sum.shown += run.shown;
    return false;
  });
  return { runs: count, ...sum, found };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      runs: { type: "string", default: "2000" },
      nodes: { type: "boolean", default: false },
      plant: { type: "string" },
      verbose: { type: "boolean", default: false },
    },
  });
  const plant = values.plant ?? (values.nodes ? nodes : messages).name;
  const [seed, runs] = [Number(values.seed), Number(values.runs)];
  const known = [messages, nodes, deaths, ...plantedScenarios].map((each) => each.name);
  if (!Number.isInteger(seed) || !Number.isInteger(runs) || runs < 1 || !known.includes(plant)) {
    console.error(
      `Usage: npm run simulate -- --seed S --runs N [--nodes] [--plant ${known.join("|")}] [--verbose]`,
    );
    process.exitCode = 2;
    return;
  }

  const threads = Math.min(2, availableParallelism(), runs);
  const startedMs = performance.now();
  const reports = await Promise.all(
    Array.from({ length: threads }, (_, index) =>
      onThread({ firstSeed: seed + index, runs: runs - index, stride: threads, plant }),
    ),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  const total = (read: (report: Report) => number): number =>
    reports.reduce((sum, report) => sum + read(report), 0);
  console.log(
    `${total((it) => it.runs)} schedules from seed ${seed} in ${seconds.toFixed(1)} s (${(total((it) => it.runs) / seconds).toFixed(0)} a second): ` +
      `${total((it) => it.boots)} boots, ${total((it) => it.harmed)} harms, ${total((it) => it.shown)} messages shown`,
  );
  const found = reports.flatMap((report) => report.found ?? []).toSorted((a, b) => a.seed - b.seed);
  for (const each of found) {
    console.log(`\nBROKEN by seed ${each.seed}:\n${tellViolations(each.violations)}`);
    console.log(`shrunk to ${tellPlan(each.shrunk)}\n${tellViolations(each.after.violations)}`);
    console.log(`as data: ${JSON.stringify(each.shrunk)}`);
    if (values.verbose) console.log(each.after.history.join("\n"));
  }
  process.exitCode = found.length > 0 ? 1 : 0;
}

function onThread(share: Share): Promise<Report> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: share });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`a worker ended with ${code} before it reported`)));
  });
}
