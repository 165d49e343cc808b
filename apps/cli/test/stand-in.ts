// A program in the place of the gateway's own, for commands that start one: it writes down how it was called,
// and answers as the test says. Node loads it before the program that it was told to run, which never begins.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";

export interface StandIn {
  /** With `--once`: what to answer to each method; what has a `code` and a `message` is a refusal. */
  readonly answers?: { readonly [method: string]: unknown };
  /** Otherwise: what it prints, and how it ends; what its log has comes with `--once` as well, at the end. */
  readonly out?: string;
  readonly err?: string;
  readonly exitCode?: number;
  /** Prints and ends as with other words, though it is called with `--once`. */
  readonly isDown?: boolean;
}

export interface Called {
  /** For the program that is to call it. */
  readonly env: { readonly NODE_OPTIONS: string };
  /** The words of each call, and each request over its input. */
  readonly calls: () => readonly unknown[];
}

export function standIn(does: StandIn): Called {
  const folder = mkdtempSync(join(tmpdir(), "parley-stand-in-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [program, log] = [join(folder, "program.mjs"), join(folder, "calls")];
  writeFileSync(
    program,
    `import { appendFileSync } from "node:fs";
    import { createInterface } from "node:readline";
    const does = ${JSON.stringify(does)};
    const note = (call) => appendFileSync(${JSON.stringify(log)}, JSON.stringify(call) + "\\n");
    const words = process.argv.slice(2);
    note(words);
    if (words[0] === "--once" && !does.isDown) {
      for await (const line of createInterface({ input: process.stdin })) {
        const { id, method, params } = JSON.parse(line);
        if (method !== "connect") note({ method, params });
        const answer = method === "connect" ? {} : does.answers[method];
        const isRefused = typeof answer?.code === "string" && typeof answer?.message === "string";
        const end = isRefused ? { ok: false, error: answer } : { ok: true, payload: answer };
        process.stdout.write(JSON.stringify({ type: "res", id, ...end }) + "\\n");
      }
      await new Promise((told) => process.stderr.write(does.err ?? "", told));
      process.exit(0);
    }
    process.stderr.write(does.err ?? "");
    process.stdout.write(does.out ?? "", () => process.exit(does.exitCode ?? 0));
    await new Promise(() => {});
    `,
  );
  return {
    env: { NODE_OPTIONS: `--import=${pathToFileURL(program).href}` },
    calls: () =>
      existsSync(log)
        ? readFileSync(log, "utf8")
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line) as unknown)
        : [],
  };
}

/**
 * The environment in which a command starts the gateway itself. In a whole run that is the bundled one, at
 * less than half of what the sources cost, as `bin/parley` starts it.
 */
export function realGateway(): { readonly [name: string]: string } {
  const { PARLEY_TEST_BUNDLE: bundle, NODE_COMPILE_CACHE: cache } = process.env;
  const kept: { readonly [name: string]: string } = cache === undefined ? {} : { NODE_COMPILE_CACHE: cache };
  if (bundle === undefined) return kept;
  const main = pathToFileURL(join(bundle, "gateway/src/main.js")).href;
  const leads = `import { registerHooks } from "node:module";
    const lead = (url) => (url.endsWith("/apps/gateway/src/main.ts") ? ${JSON.stringify(main)} : url);
    registerHooks({ resolve: (url, context, next) => next(lead(url), context) });`;
  return { ...kept, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(leads)}` };
}
