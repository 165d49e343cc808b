// Every door of every node leads into the one gateway: webhook calls of a platform, the chat API, and
// webhooks of programs, told to edges while a worker runs the turns.
import { lacks, program } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { fleet, type Fleet, type Node } from "./fleet.ts";

const hook = { webhookUrl: "https://bot.example.invalid/telegram/default", webhookSecret: "s3cret" };
const hooks = {
  token: "shared-token",
  endpoints: { build: { message: "Build {{name}}", deliver: "telegram:default:dm:5" } },
};

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  let f: Fleet;
  let edges: readonly Node[];
  let worker: Node;
  beforeAll(async () => {
    f = await fleet(hook);
    // Opens the private chat without a word.
    f.world.telegram.as(5).unblocks();
    [worker, ...edges] = (await Promise.all([
      f.start("worker-1", "worker", { hooks }),
      f.start("edge-1", "edge", { hooks }),
      f.start("edge-2", "edge", { hooks }),
    ])) as [Node, Node, Node];
    await eventually(() => f.world.telegram.calls("setWebhook").length === 2);
  }, 300_000);
  afterAll(async () => {
    await cleanUp();
    await f.close();
  });

  const post = (node: Node, path: string, body: object, headers: object = {}): Promise<Response> =>
    fetch(new URL(path, node.url), {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", authorization: `Bearer ${node.token}`, ...headers },
    });

  test("each edge takes a platform's webhook call, the same call to both is one message, and a worker takes none", async () => {
    const call = (node: Node, id: number, text: string): Promise<number> => {
      const chat = { id: 5, type: "private", first_name: "Eve" };
      const message = {
        message_id: id,
        date: Math.floor(Date.now() / 1000),
        from: { id: 5, is_bot: false, first_name: "Eve" },
        chat,
        text,
      };
      const headers = { "x-telegram-bot-api-secret-token": "s3cret" };
      return post(node, "/telegram/default", { update_id: id, message }, headers).then(
        ({ status }) => status,
      );
    };
    expect(await Promise.all(edges.map((edge) => call(edge, 1, "to both")))).toEqual([200, 200]);
    await f.world.answered(5, 1);
    for (const [n, edge] of edges.entries()) {
      expect(await call(edge, 2 + n, `to ${edge.name}`)).toBe(200);
      await f.world.answered(5, 2 + n);
    }
    expect(await f.world.answered(5, 3)).toEqual(["echo: to both", "echo: to edge-1", "echo: to edge-2"]);
    expect(await call(worker, 9, "to the worker")).toBe(503);
  });

  test("the chat API answers on any node, whole and as it grows; one key asked of two nodes is one question", async () => {
    const asked = f.world.models.requests().length;
    const says = { model: "main", messages: [{ role: "user", content: "hello" }] };
    const answers = await Promise.all(
      [...edges, worker].map(async (node) =>
        (await post(node, "/v1/chat/completions", says, { "idempotency-key": "k" })).json(),
      ),
    );
    for (const answer of answers)
      expect(answer).toMatchObject({ choices: [{ message: { content: "echo: hello" } }] });
    expect(f.world.models.requests()).toHaveLength(asked + 1);
    f.world.models.script({ text: "one two three four five six", betweenMs: 100 });
    const streamed = await (
      await post(edges[1] as Node, "/v1/chat/completions", { ...says, stream: true })
    ).text();
    const chunks = [...streamed.matchAll(/"content":"([^"]+)"/g)].map(([, text]) => text);
    expect(chunks.join("")).toBe("one two three four five six");
    expect(chunks.length).toBeGreaterThan(1);
  });

  test("a program's webhook told to both edges is one turn, and its answer goes where the config says", async () => {
    const tell = async (edge: Node | undefined): Promise<number> => {
      const headers = { authorization: "Bearer shared-token", "idempotency-key": "d-1" };
      return (await post(edge as Node, "/hooks/build", { name: "green" }, headers)).status;
    };
    // At the same moment both may take it for new; what is stored is one.
    for (const status of await Promise.all(edges.map(tell))) expect([200, 202]).toContain(status);
    expect(await tell(edges[1])).toBe(200);
    await eventually(
      () => f.world.answers(5).some(({ text }) => text === "echo: Build green"),
      10_000,
      "the answer",
    );
    expect(f.world.answers(5).filter(({ text }) => text.includes("green"))).toHaveLength(1);
  });
});
