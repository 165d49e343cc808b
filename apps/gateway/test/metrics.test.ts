import { get } from "node:http";
import { expect, test } from "vitest";
import { metricRegistry } from "@parley/control";
import { gatewayToken, startControl } from "./control/control-fixture.ts";

test("counters, histograms and what is looked at, in Prometheus' words", async () => {
  const book = metricRegistry();
  const turns = book.counter("turns_total", "Turns.\nAll of them.");
  turns.add({ outcome: 'a "b"\\\n' });
  turns.add({ outcome: 'a "b"\\\n' }, 2);
  const wait = book.histogram("wait_seconds", "Waits.", [0.1, 1]);
  wait.observe({}, 0.05);
  wait.observe({}, 0.5);
  wait.observe({}, 7);
  book.look("gauge", "up", "Up.", () => [[{ account: "telegram:default" }, 1]]);
  book.look("gauge", "gone", "Away.", () => Promise.reject(new Error("the store is away")));
  expect(await book.text()).toBe(
    [
      "# HELP turns_total Turns.\\nAll of them.",
      "# TYPE turns_total counter",
      'turns_total{outcome="a \\"b\\"\\\\\\n"} 3',
      "# HELP wait_seconds Waits.",
      "# TYPE wait_seconds histogram",
      'wait_seconds_bucket{le="0.1"} 1',
      'wait_seconds_bucket{le="1"} 2',
      'wait_seconds_bucket{le="+Inf"} 3',
      "wait_seconds_sum 7.55",
      "wait_seconds_count 3",
      "# HELP up Up.",
      "# TYPE up gauge",
      'up{account="telegram:default"} 1',
      "",
    ].join("\n"),
  );
});

test("series are bounded: what is new beyond that is counted together", async () => {
  const book = metricRegistry();
  const counter = book.counter("c_total", "C.");
  for (let n = 0; n < 1_000; n += 1) counter.add({ model: `m${n}` });
  const lines = (await book.text()).split("\n").filter((line) => line.startsWith("c_total"));
  expect(lines.length).toBeLessThanOrEqual(201);
  expect(lines).toContain('c_total{model="other"} 800');
});

function ask(
  port: number,
  headers: { readonly [name: string]: string },
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    get(
      { host: "127.0.0.1", port, path: "/metrics", headers: { host: "parley:7275", ...headers } },
      (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      },
    ).on("error", reject);
  });
}

const own = { host: "127.0.0.1" };

test("the page is for whoever shows a token that may read, under any name", async () => {
  const { server } = await startControl({
    metrics: { text: async () => "up 1\n", openOnLoopback: () => false },
  });
  expect(await ask(server.port, { authorization: `Bearer ${gatewayToken}` })).toEqual({
    status: 200,
    body: "up 1\n",
  });
  expect((await ask(server.port, own)).status).toBe(401);
  expect((await ask(server.port, { authorization: "Bearer wrong-token-of-somebody" })).status).toBe(401);
  expect((await ask(server.port, {})).status).toBe(403);
});

test("programs of this machine need none where the config says so, unless a proxy asks for somebody", async () => {
  const { server } = await startControl({
    metrics: { text: async () => "up 1\n", openOnLoopback: () => true },
  });
  expect((await ask(server.port, own)).status).toBe(200);
  expect((await ask(server.port, { ...own, "x-forwarded-for": "203.0.113.7" })).status).toBe(401);
  expect((await ask(server.port, {})).status, "another site's name, rebound to this machine").toBe(403);
});

test("without numbers there is no page", async () => {
  const { server } = await startControl();
  expect((await ask(server.port, own)).status).toBe(404);
});
