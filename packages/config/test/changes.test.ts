import { expect, test } from "vitest";
import { changedKeys, loadConfig, restartKeys, type Config } from "../src/index.ts";

async function config(file: object, files: { readonly [path: string]: string } = {}): Promise<Config> {
  const all: { readonly [path: string]: string } = { "/home/parley.json5": JSON.stringify(file), ...files };
  return (await loadConfig({ env: {}, home: "/home", readFile: async (path) => all[path] ?? null })).config;
}

test("the same file in other words changes nothing", async () => {
  expect(changedKeys(await config({}), await config({ logging: { level: "info" } }))).toEqual([]);
});

test("the smallest blocks that differ are named; a list is one; an account that came or went is one", async () => {
  const before = await config({
    channels: { telegram: { botToken: "1:a", allowFrom: ["7"] } },
    agents: { list: [{ id: "main" }] },
  });
  const after = await config({
    channels: {
      telegram: { botToken: "1:a", allowFrom: ["7", "8"], accounts: { two: { botToken: "2:b" } } },
    },
    messages: { queue: { cap: 3 } },
    agents: { list: [{ id: "main" }, { id: "other" }] },
  });
  expect(changedKeys(before, after).toSorted()).toEqual([
    "agents.list",
    "channels.telegram.default.allowFrom",
    "channels.telegram.default.groupAllowFrom",
    "channels.telegram.two",
    "messages.queue.cap",
  ]);
});

test("a secret that a file holds is compared by its value and never told", async () => {
  const file = { channels: { telegram: { botToken: { file: "token" } } } };
  const [old, fresh] = [
    await config(file, { "/home/token": "1:aaa" }),
    await config(file, { "/home/token": "1:bbb\n" }),
  ];
  const keys = changedKeys(old, fresh);
  expect(keys).toEqual(["channels.telegram.default.botToken"]);
  expect(JSON.stringify(keys)).not.toContain("bbb");
  expect(changedKeys(old, await config(file, { "/home/token": "1:aaa\n" }))).toEqual([]);
});

test("what was opened at the start waits for the next one", () => {
  expect(
    restartKeys([
      "gateway.port",
      "gateway.portal",
      "store.driver",
      "messages.queue.cap",
      "gateway.auth.token",
    ]),
  ).toEqual(["gateway.port", "store.driver", "gateway.auth.token"]);
});

test("the files that a config came from are told", async () => {
  const files: { readonly [path: string]: string } = {
    "/home/parley.json5": "{ channels: { telegram: { botToken: { file: 'token' } } } }",
    "/home/token": "1:a",
  };
  const { reads } = await loadConfig({
    env: {},
    home: "/home",
    readFile: async (path) => files[path] ?? null,
  });
  expect(reads).toEqual(["/home/parley.json5", "/home/token"]);
});
