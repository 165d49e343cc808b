// The contract suite of wakers: what a lane runner may rely on, whoever carries the hints.
import { expect, test } from "vitest";
import type { HintSource, WorkNotifier } from "../src/index.ts";

export interface WorkNotifierSubject {
  readonly name: string;
  /** A notifier that runs the pools main and cron, fed from this source. */
  open(source: HintSource): Promise<{ readonly notifier: WorkNotifier; close(): Promise<void> }>;
}

/** A source whose hints the test gives. */
export function hints(): {
  readonly source: HintSource;
  give(pool: string, lane?: string, atMs?: number): void;
  count(): number;
} {
  const heard = new Set<Parameters<HintSource>[0]>();
  return {
    source: (wake) => {
      heard.add(wake);
      return () => void heard.delete(wake);
    },
    give: (pool, lane, atMs) => heard.forEach((wake) => wake(pool, lane, atMs)),
    count: () => heard.size,
  };
}

export function workNotifierContract({ name, open }: WorkNotifierSubject): void {
  test(`${name}: a hint of this process reaches every listener at once, with its pool`, async () => {
    const { source, give } = hints();
    const { notifier, close } = await open(source);
    const heard: string[] = [];
    notifier.onReady((pool) => heard.push(`a ${pool}`) > 0);
    const stop = notifier.onReady((pool) => heard.push(`b ${pool}`) > 0);
    give("main", "lane", 1);
    expect(heard).toEqual(["a main", "b main"]);
    stop();
    give("cron");
    expect(heard.slice(2)).toEqual(["a cron"]);
    await close();
  });

  test(`${name}: a hint for later is told at once too, so that a runner can set its timer`, async () => {
    const { source, give } = hints();
    const { notifier, close } = await open(source);
    const heard: string[] = [];
    notifier.onReady((pool) => heard.push(pool) > 0);
    give("main", "lane", Date.now() + 60_000);
    expect(heard).toEqual(["main"]);
    await close();
  });

  test(`${name}: after its close it listens to nobody, and closing again is fine`, async () => {
    const { source, give, count } = hints();
    const { notifier, close } = await open(source);
    const heard: string[] = [];
    notifier.onReady((pool) => heard.push(pool) > 0);
    await notifier.close();
    await notifier.close();
    expect(count()).toBe(0);
    give("main");
    expect(heard).toEqual([]);
    await close();
  });
}
