// Whom an import lets in: each person for their own channel and account, once, and one owner where only one
// person was let in at all.
import { expect, test } from "vitest";
import { readPeople } from "../../src/import/people.ts";
import type { Source } from "../../src/import/source.ts";

interface Given {
  readonly files?: { readonly [name: string]: unknown };
  readonly rows?: readonly (readonly [channel: string, account: string, entry: string])[];
  readonly config?: object;
  readonly isHome?: boolean;
  readonly unread?: "files" | "database";
}

function read({ files = {}, rows, config = {}, isHome = true, unread }: Given) {
  const source = {
    folder: "/o",
    isHome,
    config,
    files: {
      names: (folder: string) => (folder === "/o/credentials" ? Object.keys(files) : []),
      value: (path: string) => files[path.slice("/o/credentials/".length)],
      told: (folder: string) => (unread === "files" && folder === "/o/credentials" ? [{}] : []),
    },
    databases: {
      hasTable: (_path: string, table: string) =>
        rows !== undefined && table === "channel_pairing_allow_entries",
      rows: () =>
        (rows ?? []).map(([channel_key, account_id, entry]) => ({ channel_key, account_id, entry })),
      told: () =>
        unread === "database" ? [{ name: "/o/state/openclaw.sqlite" }] : [{ name: "/o/other.sqlite" }],
    },
  } as unknown as Source;
  const { pairings, owners, met } = readPeople(source);
  return {
    let: pairings.map(({ channel, account, senderId }) => `${channel}:${account}:${senderId}`),
    owners,
    refused: met.map(({ what, name, why = "" }) => `${what} ${name}: ${why}`),
  };
}

test("each file is of one channel and one account, and the same person is let in once for each", () => {
  const { let: all, refused } = read({
    files: {
      "telegram-allowFrom.json": ["1", 2, "tg:3", "1"],
      "telegram-work-allowFrom.json": { allowFrom: ["1", "user:4"] },
      "discord-my-guild-allowFrom.json": { entries: [{ id: "1" }, { id: "discord:5" }, "TELEGRAM:6"] },
      "telegram-pairing.json": ["8"],
      "telegram-work-pairing.json": ["8"],
      "whatsapp-allowFrom.json": ["9"],
      "oauth.json": ["10"],
    },
    rows: [
      ["telegram", "", "1"],
      ["Telegram", "work", "11"],
      ["discord", "default", "1"],
      ["signal", "", "12"],
    ],
  });
  expect(all).toEqual([
    "telegram:default:1",
    "telegram:default:2",
    "telegram:default:3",
    "telegram:work:1",
    "telegram:work:4",
    "discord:my-guild:1",
    "discord:my-guild:5",
    "discord:my-guild:6",
    "telegram:work:11",
    "discord:default:1",
  ]);
  const codes = "codes end after an hour: whoever waits gets a new one";
  expect(refused).toEqual([
    `file /o/credentials/telegram-pairing.json: ${codes}`,
    `file /o/credentials/telegram-work-pairing.json: ${codes}`,
    "person whatsapp:default:9: Parley does not speak on whatsapp",
    "file /o/credentials/oauth.json: credentials of this kind are not used by Parley",
    "person signal:default:12: Parley does not speak on signal",
  ]);
});

test.each(["@name", "0", "012", "-5", "1x", "", "9".repeat(21)])("%j is no person's id", (id) => {
  const { let: all, refused, owners } = read({ files: { "telegram-a-allowFrom.json": [id] } });
  expect([all, owners]).toEqual([[], []]);
  expect(refused).toEqual([`person telegram:a:${id}: people are known by their numeric id`]);
});

test("a folder that is no home let nobody in", () => {
  const { let: all } = read({
    isHome: false,
    files: { "telegram-allowFrom.json": ["1"] },
    rows: [["telegram", "", "2"]],
  });
  expect(all).toEqual([]);
});

const one = { "telegram-allowFrom.json": ["7"] };
const telegram = (more: object) => ({ channels: { telegram: more } });
test.each<[string, Given, readonly string[]]>([
  ["the only one who was paired", { files: one }, ["telegram:7"]],
  ["the only one whom the config names", { config: telegram({ allowFrom: ["tg:8"] }) }, ["telegram:8"]],
  ["who is both", { files: one, config: telegram({ allowFrom: [7] }) }, ["telegram:7"]],
  ["who is allowed in private", { config: telegram({ dm: { allowFrom: ["9"] } }) }, ["telegram:9"]],
  [
    "one on each of two channels",
    { files: { ...one, "discord-allowFrom.json": ["5"] } },
    ["telegram:7", "discord:5"],
  ],
  ["nobody where two were let in", { files: { "telegram-allowFrom.json": ["7", "8"] } }, []],
  ["nobody where one channel has two", { files: { ...one, "discord-allowFrom.json": ["5", "6"] } }, []],
  [
    "nobody where one was paired and another is named",
    { files: one, config: telegram({ allowFrom: ["8"] }) },
    [],
  ],
  ["nobody where everybody may write", { config: telegram({ allowFrom: ["*"] }) }, []],
  [
    "nobody where accounts have people of their own",
    { files: one, config: telegram({ accounts: { a: {} } }) },
    [],
  ],
  [
    "nobody where the config names owners",
    { files: one, config: { commands: { ownerAllowFrom: ["telegram:1"] } } },
    [],
  ],
  [
    "one where that list is empty",
    { files: one, config: { commands: { ownerAllowFrom: [] } } },
    ["telegram:7"],
  ],
  ["nobody where a file could not be read", { files: one, unread: "files" }, []],
  ["nobody where the database could not be read", { files: one, unread: "database" }, []],
])("the owner is %s", (_who, given, owners) => {
  expect(read(given).owners).toEqual(owners);
});
