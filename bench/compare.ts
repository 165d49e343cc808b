// Two builds beside each other: both daemons run at once on fakes of their own and are asked in turn,
// twenty-five messages each, so that a busy moment of the machine is busy for both. Then two hundred chats
// write to each in turn. Read the CPU columns first: they change least with what else the machine does. The
// threads beside the main one are V8's: garbage and compiling. `npm run bench -- compare <commit or checkout>
// [--messages 400] [--warm 1000] [--cpu-prof DIR]`; prints a table.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bothMs, converse, flood, joined, percentile, type Spans } from "./daemon/converse.ts";
import { fakes, here, homeFor, startDaemon, type BenchDaemon, type Fakes } from "./daemon/daemon.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    messages: { type: "string", default: "400" },
    warm: { type: "string", default: "1000" },
    "cpu-prof": { type: "string" },
  },
});
const [other] = positionals;
if (other === undefined) {
  console.log("compare needs a commit or a checkout: npm run bench -- compare HEAD~5");
  process.exit(0);
}
const perTurn = 25;
/** Of the flood: chats, messages of each at once, and how often each side has its turn. */
const crowd = { chats: 200, each: 4, modelMs: 0 };
const floods = 3;
/** A start has a cold part of so many messages. */
const coldMessages = 50;

interface Side {
  readonly name: string;
  readonly world: Fakes;
  readonly daemon: BenchDaemon;
  readonly idleMb: number;
  readonly startCpu: number;
  end(): Promise<void>;
}

interface Measured {
  readonly spans: readonly Spans[];
  readonly cpuSeconds: number;
}

/**
 * A checkout or a bundle as it stands, or a commit, checked out and set up beside this one for as long as the
 * bench runs.
 */
function checkoutOf(asked: string): { readonly path: string; remove(): void } {
  if (existsSync(join(asked, "bin/parley"))) return { path: resolve(asked), remove: () => {} };
  const path = mkdtempSync(join(tmpdir(), "parley-compare-"));
  const git = (...words: string[]): void =>
    void execFileSync("git", ["-C", here, ...words], { stdio: "inherit" });
  git("worktree", "add", "--quiet", "--detach", path, asked);
  execFileSync(process.execPath, ["scripts/dev.mjs", "install"], { cwd: path, stdio: "ignore" });
  return { path, remove: () => git("worktree", "remove", "--force", path) };
}

async function start(name: string, checkout: string): Promise<Side> {
  const world = await fakes();
  const home = homeFor(world, { maxConcurrent: crowd.chats });
  // The first start fills the compile cache, as the first start of an installation does.
  await (await startDaemon(home, { checkout })).stop();
  const profiles = values["cpu-prof"];
  const flags =
    profiles === undefined
      ? []
      : ["--cpu-prof", `--cpu-prof-dir=${resolve(profiles, name.replaceAll("/", "_"))}`];
  const daemon = await startDaemon(home, { checkout, flags });
  await new Promise((done) => setTimeout(done, 3_000));
  const idleMb = daemon.residentMb();
  const startCpu = daemon.cpuSeconds();
  return {
    name,
    world,
    daemon,
    idleMb,
    startCpu,
    async end() {
      await daemon.stop();
      await world.close();
      home.remove();
    },
  };
}

/** Asks the sides in turn; each side's own CPU is counted only while it is asked. */
async function inTurn(sides: readonly Side[], messages: number): Promise<readonly Measured[]> {
  const spans = sides.map((): Spans[] => []);
  const cpu = sides.map(() => 0);
  for (let done = 0; done < messages; done += perTurn) {
    for (const [at, { world, daemon }] of sides.entries()) {
      const before = daemon.cpuSeconds();
      spans[at]?.push(await converse(world, Math.min(perTurn, messages - done)));
      cpu[at] = (cpu[at] ?? 0) + daemon.cpuSeconds() - before;
    }
  }
  return sides.map((_, at) => ({ spans: spans[at] ?? [], cpuSeconds: cpu[at] ?? 0 }));
}

interface Flooded {
  readonly mainMs: number;
  readonly otherMs: number;
  readonly tookMs: number;
}

/**
 * Each side's flood in turn, the order reversed each time; the first opens the sessions, and is not counted.
 */
async function flooded(sides: readonly Side[]): Promise<readonly Flooded[]> {
  const sums = sides.map(() => ({ mainMs: 0, otherMs: 0, tookMs: 0 }));
  for (const { world } of sides) await flood(world, crowd);
  for (let round = 0; round < floods; round += 1) {
    const order = [...sides.entries()];
    for (const [at, { world, daemon }] of round % 2 === 0 ? order : order.toReversed()) {
      const sum = sums[at];
      if (sum === undefined) continue;
      const before = daemon.threadsMs();
      sum.tookMs += await flood(world, crowd);
      const after = daemon.threadsMs();
      sum.mainMs += after.main - before.main;
      sum.otherMs += after.others - before.others;
    }
  }
  return sums;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

function row({ spans: parts, cpuSeconds }: Measured, messages: number) {
  const spans = joined(parts);
  return {
    "CPU ms a message": rounded((cpuSeconds / messages) * 1_000),
    "event -> request p50": percentile(spans.inMs, 0.5),
    "end -> send p50": percentile(spans.outMs, 0.5),
    "both p50": percentile(bothMs(spans), 0.5),
    "both p95": percentile(bothMs(spans), 0.95),
  };
}

const checkout = checkoutOf(other);
const sides: Side[] = [];
try {
  sides.push(await start(other, checkout.path), await start("here", here));
  const cold = await inTurn(sides, coldMessages);
  const warmUp = Math.max(0, Number(values.warm) - coldMessages);
  await inTurn(sides, warmUp);
  const warm = await inTurn(sides, Number(values.messages));
  const table = (measured: readonly Measured[], messages: number) =>
    Object.fromEntries(
      sides.map(({ name }, at) => [name, row(measured[at] ?? { spans: [], cpuSeconds: 0 }, messages)]),
    );
  console.log(`cold: the first ${coldMessages} messages`);
  console.table(table(cold, coldMessages));
  console.log(`warm: ${values.messages} messages after ${coldMessages + warmUp}`);
  console.table(table(warm, Number(values.messages)));
  const sums = await flooded(sides);
  const count = floods * crowd.chats * crowd.each;
  console.log(`sustained: ${count} messages in ${crowd.chats} chats`);
  console.table(
    Object.fromEntries(
      sides.map(({ name }, at) => {
        const { mainMs, otherMs, tookMs } = sums[at] ?? { mainMs: 0, otherMs: 0, tookMs: 0 };
        return [
          name,
          {
            "CPU ms a message": rounded((mainMs + otherMs) / count),
            "of the main thread": rounded(mainMs / count),
            "messages a second": rounded((count * 1_000) / tookMs),
          },
        ];
      }),
    ),
  );
  console.table(
    Object.fromEntries(
      sides.map(({ name, daemon, idleMb, startCpu }) => [
        name,
        {
          "ready ms": rounded(daemon.readyMs),
          "CPU s until idle": rounded(startCpu),
          "idle MB": rounded(idleMb),
          "MB at the end": rounded(daemon.residentMb()),
        },
      ]),
    ),
  );
} finally {
  for (const side of sides) await side.end();
  checkout.remove();
}
