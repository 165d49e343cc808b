import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type FakeModels, fakeModels, toolCallStep } from "../../src/index.ts";

let server: FakeModels;
beforeAll(async () => {
  server = await fakeModels();
});
beforeEach(() => server.reset());
afterAll(() => server.close());

const ask = (url: string, text: string, more: object = {}): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "m",
      stream: true,
      messages: [
        { role: "system", content: "be kind" },
        { role: "user", content: text },
      ],
      ...more,
    }),
  });

/** The texts of a chat stream, joined. */
async function textOf(response: Response): Promise<string> {
  const deltas = [...(await response.text()).matchAll(/"content":("(?:[^"\\]|\\.)*")/g)];
  return deltas.map((match) => JSON.parse(match[1] ?? '""') as string).join("");
}

describe("the fake model servers", () => {
  it("say back what was said, and what a tool said, when nothing is scripted", async () => {
    expect(await textOf(await ask(server.url, "two words"))).toBe("echo: two words");
    const messages = [
      { role: "user", content: "go" },
      { role: "tool", tool_call_id: "c", content: "done" },
    ];
    expect(await textOf(await ask(server.url, "", { messages }))).toBe("tool said: done");
  });

  it("play one step per request, then answer by what is asked", async () => {
    server.script({ text: "first" }, toolCallStep("look", { at: 1 }, "c9"));
    server.reply((call) => `you asked ${call.lastUserText} of ${call.model}, told to ${call.system}`);
    expect(await textOf(await ask(server.url, "a"))).toBe("first");
    const second = await (await ask(server.url, "b")).text();
    expect(second).toContain('"id":"c9"');
    expect(second).toContain('"finish_reason":"tool_calls"');
    expect(await textOf(await ask(server.url, "c"))).toBe("you asked c of m, told to be kind");
    expect(server.requests().map((call) => call.lastUserText)).toEqual(["a", "b", "c"]);
  });

  it("cut the body at the byte that is named", async () => {
    server.script({ text: "hello", cutAtByte: 100 });
    expect((await (await ask(server.url, "a")).arrayBuffer()).byteLength).toBe(100);
  });

  it("refuse a step that they do not understand, in the answer", async () => {
    server.reply(() => ({ txt: "typo" }) as object);
    const response = await ask(server.url, "a");
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("txt");
  });

  it("run as a program that other programs control over HTTP", async () => {
    const program = spawn(
      process.execPath,
      [path.resolve(import.meta.dirname, "../../src/models/main.ts"), "--port", "0"],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    try {
      const [printed] = (await once(program.stdout, "data")) as [Buffer];
      const url = printed.toString().trim();
      await fetch(`${url}/_control/script`, {
        method: "POST",
        body: JSON.stringify([{ text: "from outside" }]),
      });
      expect(await textOf(await ask(url, "hi"))).toBe("from outside");
      const calls = (await (await fetch(`${url}/_control/requests`)).json()) as { lastUserText: string }[];
      expect(calls.map((call) => call.lastUserText)).toEqual(["hi"]);
      program.kill("SIGTERM");
      expect(await once(program, "exit")).toEqual([0, null]);
    } finally {
      program.kill("SIGKILL");
    }
  });
});
