// The way over an HTTP proxy: everything goes through it, and what it does not let through was certainly not
// sent.
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { alice, dm, type Rig, telegramRig } from "./telegram/rig.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

interface Proxy {
  readonly address: string;
  /** What came: the credentials, and the path that was asked for. */
  readonly seen: (readonly [credentials: string | undefined, path: string])[];
}

async function proxy(): Promise<Proxy> {
  const seen: (readonly [string | undefined, string])[] = [];
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? "");
    seen.push([request.headers["proxy-authorization"], url.pathname]);
    const onward = http.request(url, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ close: () => (server.closeAllConnections(), server.close()) });
  return { address: `http://ann:secret@127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

async function rigBehind(address: string): Promise<Rig> {
  const rig = await telegramRig({ proxy: address });
  open.push(rig);
  return rig;
}

const part = { kind: "text", text: "hello", entities: [], plain: "hello" } as const;

test("polls and sends go through the proxy, with its name and password", async () => {
  const { address, seen } = await proxy();
  const rig = await rigBehind(address);
  const heard: string[] = [];
  await rig.channel.start(async (events) => void heard.push(...events.map((event) => event.kind)));
  rig.fake.as(alice).says("hi");
  await expect.poll(() => heard).toEqual(["message"]);
  await rig.channel.send(dm, part, { idempotencyKey: "k", signal: new AbortController().signal });
  expect(new Set(seen.map(([credentials]) => credentials))).toEqual(new Set([`Basic ${btoa("ann:secret")}`]));
  expect(new Set(seen.map(([, path]) => path.split("/").at(-1)))).toEqual(
    new Set(["getMe", "getUpdates", "sendMessage"]),
  );
  expect(rig.fake.calls()).toHaveLength(seen.length);
});

test("a proxy that is down sends nothing", async () => {
  const rig = await rigBehind("http://127.0.0.1:1");
  const sending = rig.channel.send(dm, part, { idempotencyKey: "k", signal: new AbortController().signal });
  await expect(sending).rejects.toMatchObject({ code: "unavailable" });
  expect(rig.fake.calls()).toEqual([]);
});
