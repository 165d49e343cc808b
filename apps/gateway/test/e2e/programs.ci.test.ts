// Programs over plain HTTP: the chat API and webhooks, against the real daemon. What neither ends it nor
// troubles its model shares one.
import { createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, type Daemon } from "./daemon.ts";
import { world, type World } from "./world.ts";

let w: World;
async function end(): Promise<void> {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
}

type Headers = { readonly [name: string]: string };

function post(daemon: Daemon, path: string, body: unknown, headers: Headers = {}): Promise<Response> {
  const url = new URL(path, daemon.url);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(url, {
    method: "POST",
    body: text,
    headers: { "content-type": "application/json", ...headers },
  });
}

const asOperator = (daemon: Daemon): Headers => ({ authorization: `Bearer ${daemon.token}` });

async function completed(
  daemon: Daemon,
  body: object,
  headers: Headers = {},
): Promise<{ content: string; usage: object; status: number }> {
  const response = await post(daemon, "/v1/chat/completions", body, { ...asOperator(daemon), ...headers });
  const answer = (await response.json()) as { choices?: { message: { content: string } }[]; usage: object };
  return {
    content: answer.choices?.[0]?.message.content ?? "",
    usage: answer.usage,
    status: response.status,
  };
}

const says = (content: string, more: object = {}): object => ({
  model: "main",
  messages: [{ role: "user", content }],
  ...more,
});

/** The user's words of the last request that the model saw. */
const heard = (): string => w.models.requests().at(-1)?.lastUserText ?? "";

const secret = "hook-secret";
const signed = (body: string): Headers => ({
  "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
});
const config = {
  hooks: {
    token: "shared-token",
    endpoints: {
      build: {
        message: "Build {{result.name}} of {{repo}}: {{missing}}",
        deliver: "telegram:default:dm:77",
      },
      signed: { secret },
      raw: { token: "t", message: "{{body}}" },
    },
  },
};

describe("at one daemon", () => {
  let daemon: Daemon;
  beforeAll(async () => {
    w = await world();
    daemon = await w.start({ config });
  });
  afterAll(end);

  /** How many requests the model has had since this was said. */
  function requestsFromNow(): () => number {
    const before = w.models.requests().length;
    return () => w.models.requests().length - before;
  }

  describe("the chat API", () => {
    test("answers as the agent, in Markdown as it was written, with what it used", async () => {
      w.models.script({ text: "**bold** and\n\n| a | b |\n|---|---|\n| 1 | 2 |" });
      const answer = await completed(daemon, says("hello"));
      expect(answer).toMatchObject({
        status: 200,
        content: "**bold** and\n\n| a | b |\n|---|---|\n| 1 | 2 |",
      });
      expect(answer.usage).toMatchObject({
        prompt_tokens: expect.any(Number),
        completion_tokens: expect.any(Number),
      });
      expect(heard()).toBe("hello");
      const models = await fetch(new URL("/v1/models", daemon.url), { headers: asOperator(daemon) });
      expect(await models.json()).toMatchObject({ object: "list", data: [{ id: "main", object: "model" }] });
    });

    test("streams: the role, the words as they grow, the end; put together they are the answer", async () => {
      w.models.script({ text: "one two three four five six", betweenMs: 100 });
      const response = await post(
        daemon,
        "/v1/chat/completions",
        says("count", { stream: true, stream_options: { include_usage: true } }),
        asOperator(daemon),
      );
      expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
      const events = (await response.text())
        .split("\n\n")
        .filter((line) => line.startsWith("data: "))
        .map((line) => line.slice("data: ".length));
      expect(events.at(-1)).toBe("[DONE]");
      const chunks = events.slice(0, -1).map(
        (text) =>
          JSON.parse(text) as {
            choices: { delta: { content?: string; role?: string }; finish_reason: string | null }[];
            usage?: object;
          },
      );
      expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe(
        "one two three four five six",
      );
      expect(chunks.filter(({ choices }) => (choices[0]?.delta.content ?? "") !== "").length).toBeGreaterThan(
        1,
      );
      expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
      expect(chunks.at(-1)?.usage).toMatchObject({ completion_tokens: expect.any(Number) });
    });

    test("keeps a user's conversation; a request without a user brings its own", async () => {
      const control = await controlClient(daemon);
      const keys = async (): Promise<readonly string[]> => {
        const listed = (await control.call("sessions.list", { prefix: "agent:main:api:" })) as {
          sessions: { key: string }[];
        };
        return listed.sessions.map(({ key }) => key);
      };
      const before = await keys();
      await completed(daemon, says("my name is Ada", { user: "u1" }));
      await completed(daemon, says("what is my name?", { user: "u1" }));
      const messages = JSON.stringify(w.models.requests().at(-1)?.body["messages"]);
      expect(messages).toContain("my name is Ada");
      expect(heard()).toBe("what is my name?");
      await completed(daemon, {
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "I am Bob" },
          { role: "assistant", content: "Hello Bob" },
          { role: "user", content: [{ type: "text", text: "who am I?" }] },
        ],
      });
      expect(heard()).toMatch(/Be brief\.[\s\S]*user: I am Bob[\s\S]*assistant: Hello Bob[\s\S]*who am I\?$/);
      expect(JSON.stringify(w.models.requests().at(-1)?.body["messages"])).not.toContain("Ada");
      const made = (await keys()).filter((key) => !before.includes(key));
      expect(made).toContain(`agent:main:api:${control.peer}:u1`);
      expect(made).toHaveLength(2);
      control.close();
    });

    test("is refused with its reason, and no model is asked", async () => {
      const asked = requestsFromNow();
      const refused = [
        ["without a token", says("x"), {}, 401, "invalid_api_key"],
        ["with a wrong one", says("x"), { authorization: "Bearer nonsense" }, 401, "invalid_api_key"],
        ["to an agent that is not there", says("x", { model: "gpt-9" }), null, 404, "missing"],
        ["with no messages", { messages: [] }, null, 400, "invalid"],
        ["that is not JSON", "{", null, 400, "invalid"],
        [
          "that ends with the agent's words",
          { messages: [{ role: "assistant", content: "x" }] },
          null,
          400,
          "invalid",
        ],
        [
          "with a picture",
          { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }] },
          null,
          400,
          "unsupported",
        ],
        ["with tools of its own", says("x", { tools: [{}] }), null, 400, "unsupported"],
        ["that is too large", "x".repeat(4_194_305), null, 413, "too_large"],
      ] as const;
      for (const [what, body, headers, status, code] of refused) {
        const response = await post(daemon, "/v1/chat/completions", body, headers ?? asOperator(daemon));
        expect([what, response.status]).toEqual([what, status]);
        expect(await response.json()).toMatchObject({ error: { code, message: expect.any(String) } });
      }
      expect(asked()).toBe(0);
    });

    test("a device needs its scope, and is let in no more once it was revoked", async () => {
      const control = await controlClient(daemon);
      const reader = (await control.call("devices.mint", { name: "r", scopes: ["read"] })) as {
        id: string;
        token: string;
      };
      const as = { authorization: `Bearer ${reader.token}` };
      expect((await post(daemon, "/v1/chat/completions", says("x"), as)).status).toBe(403);
      expect((await fetch(new URL("/v1/models", daemon.url), { headers: as })).status).toBe(200);
      await control.call("devices.revoke", { id: reader.id });
      expect((await fetch(new URL("/v1/models", daemon.url), { headers: as })).status).toBe(401);
      control.close();
    });
  });

  describe("a webhook", () => {
    test("tells the agent in a session of its own, and the answer goes where the config says", async () => {
      w.telegram.as(77).says("hi");
      await w.answered(77, 1);
      const response = await post(
        daemon,
        "/hooks/build",
        { repo: "parley", result: { name: "green" } },
        { authorization: "Bearer shared-token" },
      );
      expect(response.status).toBe(202);
      expect((await w.answered(77, 2)).at(-1)).toBe("echo: Build green of parley: [no missing]");
      const control = await controlClient(daemon);
      const { sessions } = (await control.call("sessions.list", {})) as { sessions: { key: string }[] };
      expect(sessions.map(({ key }) => key)).toContain("agent:main:hook:build");
      const working = async (): Promise<number> =>
        ((await control.call("sessions.list", {})) as { sessions: { working: boolean }[] }).sessions.filter(
          (each) => each.working,
        ).length;
      await eventually(async () => (await working()) === 0, 5_000, "the sessions' coming to rest");
      control.close();
    });

    test("is no command and no directive, whatever it brings", async () => {
      const asked = requestsFromNow();
      await post(daemon, "/hooks/raw", "/new", { "x-parley-token": "t" });
      await eventually(() => asked() === 1, 10_000, "the model to be asked");
      expect(heard()).toBe("/new");
    });

    test("is refused without the right token or signature, and no model is asked", async () => {
      const asked = requestsFromNow();
      const refused = [
        ["no credential", {}],
        ["a wrong token", { authorization: "Bearer wrong" }],
        [
          "a signature of something else",
          { "x-hub-signature-256": signed("other")["x-hub-signature-256"] ?? "" },
        ],
        ["half a signature", { "x-hub-signature-256": "sha256=00" }],
        ["the shared token where a secret is set", { authorization: "Bearer shared-token" }],
      ] as const;
      for (const [what, headers] of refused)
        expect([what, (await post(daemon, "/hooks/signed", "{}", headers)).status]).toEqual([what, 401]);
      expect((await post(daemon, "/hooks/signed?token=shared-token", "{}")).status).toBe(401);
      const shared = { authorization: "Bearer shared-token" };
      for (const name of ["nothing", "constructor"])
        expect((await post(daemon, `/hooks/${name}`, "{}", shared)).status).toBe(404);
      expect(asked()).toBe(0);
    });

    test("that sends too much, or promises less than it sends, is cut", async () => {
      const large = "x".repeat(262_145);
      expect(
        (await post(daemon, "/hooks/build", large, { authorization: "Bearer shared-token" })).status,
      ).toBe(413);
      const status = await new Promise<number>((resolve) => {
        const call = httpRequest(
          new URL("/hooks/build", daemon.url),
          {
            method: "POST",
            headers: { authorization: "Bearer shared-token", "transfer-encoding": "chunked" },
          },
          (response) => resolve(response.statusCode ?? 0),
        );
        call.on("error", () => resolve(0));
        for (let nth = 0; nth < 100; nth += 1) call.write("y".repeat(10_000));
        call.end();
      });
      expect(status).toBe(413);
      expect((await fetch(new URL("/healthz", daemon.url))).status).toBe(200);
    });
  });
});

describe("at a daemon of its own", () => {
  beforeEach(async () => {
    w = await world();
  });
  afterEach(end);

  describe("the chat API", () => {
    test("one key is asked once, also across a kill: the answer is the same and no model is called again", async () => {
      const daemon = await w.start();
      const key = { "idempotency-key": "k-1" };
      const first = await completed(daemon, says("hello"), key);
      daemon.kill("SIGKILL");
      await daemon.exited;
      const again = await w.start({ home: daemon.home });
      expect(await completed(again, says("hello"), key)).toEqual(first);
      expect(w.models.requests()).toHaveLength(1);
      expect((await completed(again, says("something else"), key)).status).toBe(409);
    });

    test("killed while it works, it is answered under the same key after the restart", async () => {
      const daemon = await w.start();
      let release = (): void => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      w.models.reply(async () => held.then(() => "late"));
      const lost = completed(daemon, says("hello"), { "idempotency-key": "k" }).catch(() => null);
      await eventually(() => w.models.requests().length === 1, 10_000, "the model to be asked");
      daemon.kill("SIGKILL");
      expect(await lost).toBeNull();
      release();
      const again = await w.start({ home: daemon.home });
      expect(await completed(again, says("hello"), { "idempotency-key": "k" })).toMatchObject({
        status: 200,
        content: "late",
      });
    });

    test("a model that fails is an error, not an answer", async () => {
      const daemon = await w.start();
      w.models.script({ status: 401, body: { error: { message: "no" } } });
      const { status, content } = await completed(daemon, says("x"));
      expect({ status, content }).toEqual({ status: 503, content: "" });
    });
  });

  describe("a webhook", () => {
    test("is told once, by the name of its delivery or by what was signed, also across a restart", async () => {
      const daemon = await w.start({ config });
      const body = JSON.stringify({ a: 1 });
      const named = { ...signed(body), "x-github-delivery": "d-1" };
      expect((await post(daemon, "/hooks/signed", body, named)).status).toBe(202);
      expect((await post(daemon, "/hooks/signed", body, named)).status).toBe(200);
      expect((await post(daemon, "/hooks/signed", body, signed(body))).status).toBe(202);
      await daemon.stop();
      const again = await w.start({ home: daemon.home, config });
      expect(await (await post(again, "/hooks/signed", body, named)).json()).toMatchObject({
        ok: true,
        duplicate: true,
      });
      expect((await post(again, "/hooks/signed", body, signed(body))).status).toBe(200);
      await eventually(() => w.models.requests().length === 2, 10_000, "both to be answered");
      expect(heard()).toContain('"a": 1');
    });

    test("gives work that is answered in a chat the agent knows, once, also when it comes again after a restart", async () => {
      const daemon = await w.start({ config });
      w.telegram.as(77).says("hi");
      await w.answered(77, 1);
      const caller = { authorization: "Bearer shared-token", "idempotency-key": "night" };
      const work = { message: "look at the alerts", channel: "telegram", to: "77" };
      expect((await post(daemon, "/hooks/agent", work, caller)).status).toBe(202);
      expect((await w.answered(77, 2)).at(-1)).toContain("look at the alerts");
      await daemon.stop();
      const again = await w.start({ home: daemon.home, config });
      const repeat = await post(again, "/hooks/agent", work, caller);
      expect([repeat.status, await repeat.json()]).toMatchObject([200, { duplicate: true }]);
      const other = await post(again, "/hooks/agent", { ...work, message: "another" }, caller);
      expect(other.status).toBe(409);
      expect((await post(again, "/hooks/wake", { text: "x".repeat(1_100_000) }, caller)).status).toBe(413);
    });
  });
});
