// A device that is connected to one node is used by turns on another; a call outlives the worker that made
// it.
import { spawn, type ChildProcess } from "node:child_process";
import { lacks, program } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, eventually, freshHome, processEnv, programOf } from "../e2e/daemon.ts";
import { parley } from "../e2e/operator.ts";
import { fleet, type Fleet } from "./fleet.ts";

const me = 7;

describe.skipIf(lacks(program("redis-server")))("a device before an edge and a worker on Redis", () => {
  let f: Fleet;
  let device: ChildProcess | null = null;
  beforeEach(async () => {
    f = await fleet();
  });
  afterEach(async () => {
    device?.kill("SIGKILL");
    await cleanUp();
    await f.close();
  });

  test(
    "is used by the worker's turn, and answers a call whose worker was killed",
    { timeout: 300_000 },
    async () => {
      const w = f.world;
      const config = { commands: { ownerAllowFrom: [`telegram:${me}`] }, tools: { taint: "off" } };
      const edge = await f.start("edge-1", "edge", config);
      const worker = await f.start("worker-1", "worker", config);
      const pair = await parley(
        edge.home,
        "--json",
        "devices",
        "pair",
        "--name",
        "laptop",
        "--grant",
        "notify",
      );
      const { url, code } = JSON.parse(pair.out) as { readonly url: string; readonly code: string };
      const home = await freshHome();
      let out = "";
      const run = (...words: string[]): void => {
        const child = spawn(process.execPath, [programOf("cli"), "--json", "node", "run", ...words], {
          env: { ...processEnv(home) },
          stdio: ["ignore", "pipe", "inherit"],
        });
        child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
        device = child;
      };
      const shown = (text: string): number => out.split(`"text":"${text}"`).length - 1;
      run("--url", url, "--code", code);
      await eventually(() => out.includes('"connected"'), 30_000, "the device");

      w.models.reply(({ lastToolResult, lastUserText }) =>
        lastToolResult === null
          ? {
              toolCalls: [
                {
                  name: "nodes",
                  args: {
                    action: "invoke",
                    node: "laptop",
                    command: "notify",
                    text: lastUserText.slice(-3),
                    timeoutSeconds: 300,
                  },
                },
              ],
            }
          : { text: `told ${/Printed|Shown/.test(lastToolResult)}` },
      );
      const told = (): number => w.answers(me).filter(({ text }) => text === "told true").length;
      w.telegram.as(me).says("say one");
      await eventually(() => told() === 1, 30_000, "the first answer");
      expect(shown("one")).toBe(1);

      device?.kill("SIGKILL");
      w.models.reply(({ body }) => {
        const text = JSON.stringify(body["messages"]);
        return /Printed where|Shown on/.test(text.slice(text.lastIndexOf("say two")))
          ? { text: "told true" }
          : {
              toolCalls: [
                {
                  name: "nodes",
                  args: {
                    action: "invoke",
                    node: "laptop",
                    command: "notify",
                    text: "two",
                    timeoutSeconds: 300,
                  },
                },
              ],
            };
      });
      w.telegram.as(me).says("say two");
      // Parked, it holds no lease that others would have to wait for.
      await eventually(
        async () => (await parley(edge.home, "--json", "why", "say two")).out.includes('"parked"'),
        30_000,
        "the turn that waits",
      );
      worker.kill("SIGKILL");
      await f.start("worker-2", "worker", config);
      run("--url", url);
      await eventually(() => told() === 2, 60_000, "the second answer");
      expect(shown("two")).toBe(1);
    },
  );
});
