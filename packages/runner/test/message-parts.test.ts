// What people see of a message that a tool sends is without secrets, in every word of it; and which places an
// agent knows, by what was written there.
import { formatRowPayload, parseConversationKey } from "@parley/protocol";
import { directMessage, groupMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { knownPlaces, spellingOf } from "../src/messages/known-places.ts";
import { partsOf } from "../src/messages/parts.ts";

const redaction = { secrets: ["hunter2-secret"], stateDirs: [], workspaces: [] } as never;
const of = (more: object) =>
  partsOf({ action: "send", files: [], voice: false, text: "t", ...more } as never, redaction);

test("labels, values, choices, fields, questions and options hold no secret", () => {
  const word = "is hunter2-secret";
  const button = {
    label: word,
    value: word,
    choices: [{ label: `${word} 1`, value: `${word} 2` }],
    form: [{ name: "n", label: word, long: true }],
  };
  const poll = { question: word, options: [`${word} a`, "b"], multiple: false };
  const parts = of({ text: word, buttons: [[button]], poll });
  const shown = "is [secret]";
  expect(parts).toEqual([
    {
      kind: "text",
      markdown: shown,
      buttons: [
        [
          {
            label: shown,
            value: shown,
            choices: [{ label: `${shown} 1`, value: `${shown} 2` }],
            form: [{ name: "n", label: shown, long: true }],
          },
        ],
      ],
    },
    { kind: "poll", multiple: false, anonymous: true, question: shown, options: [`${shown} a`, "b"] },
  ]);
  expect(() => of({ poll: { ...poll, question: " " } })).toThrow(
    "a poll needs a question that people can read",
  );
});

test("a place is known by who wrote there, newest first; not by what was refused, is Parley's own or cannot be read", async () => {
  const row = (atMs: number, inbound: object, more: object = {}, payload: object = {}) => ({
    lane: "agent:main:telegram:group:-7",
    conversation: "telegram:default:group:-7",
    outcome: null,
    acceptedAtMs: atMs,
    payload: formatRowPayload({ v: 1, inbound, owner: false, ...payload } as never),
    ...more,
  });
  const said = (name: string, more: object = {}) =>
    groupMessage({ sender: { id: name, name }, ...more } as never);
  const dm = { lane: "agent:main:telegram:dm:5", conversation: "telegram:default:dm:5" };
  const rows: { readonly [lane: string]: readonly object[] } = {
    "agent:main:telegram:group:-7": [
      row(9, said("Ann")),
      row(8, said(" Bob ", { title: " Tea \n room " })),
      row(7, said("Ann", { title: "Old" })),
      row(6, said("Eve"), { outcome: "refused" }),
      row(5, said("Parley"), {}, { internal: { kind: "task", id: "x", turn: "" } }),
      row(4, said("  ")),
    ],
    "agent:main:telegram:dm:5": [
      row(20, directMessage({ sender: { id: "5", name: "Olga" } } as never), dm),
      { ...row(19, said("x"), dm), payload: '{"v":0}' },
    ],
  };
  const asked: unknown[] = [];
  const keys = [...Object.keys(rows), "agent:main:cron:j", "agent:main:subagent:0123456789ab-1"];
  const found = await knownPlaces(
    {
      sessions: { list: async (what: object) => (asked.push(what), keys.map((key) => ({ key }))) },
      inbox: {
        find: async ({ lane, limit }: { lane: string; limit: number }) => (
          asked.push([lane, limit]),
          rows[lane]
        ),
      },
    } as never,
    "main",
  );
  expect(found.map(({ session, names, title, lastAtMs }) => [session, names, title, lastAtMs])).toEqual([
    ["agent:main:telegram:dm:5", ["Olga"], null, 20],
    ["agent:main:telegram:group:-7", ["Ann", "Bob"], "Tea room", 9],
  ]);
  expect(asked).toEqual([
    { prefix: "agent:main:", limit: 300 },
    ["agent:main:telegram:group:-7", 40],
    ["agent:main:telegram:dm:5", 40],
  ]);
});

test("a place is spelled as shortly as the tool takes it, and whole where that would mean another", () => {
  const keys = [
    "telegram:default:dm:5",
    "telegram:default:group:-7",
    "telegram:default:group:-7:9",
    "telegram:work:dm:5",
    "discord:default:dm:11",
    "discord:default:channel:500",
    "discord:default:channel:500:501",
    "discord:work:channel:500",
    "web:default:dm:p1",
  ];
  expect(keys.map((key) => spellingOf(parseConversationKey(key)))).toEqual([
    "telegram:5",
    "telegram:-7",
    "telegram:-7:topic:9",
    "telegram:work:dm:5",
    "discord:user:11",
    "discord:channel:500",
    "discord:channel:501",
    "discord:work:channel:500",
    "web:default:dm:p1",
  ]);
});

test("a place keeps its server and category, a long title is cut, and a place of two sessions is one", async () => {
  const row = (lane: string, atMs: number, name: string, more: object) => ({
    lane,
    conversation: "discord:default:channel:500",
    outcome: "answered",
    acceptedAtMs: atMs,
    payload: formatRowPayload({
      v: 1,
      inbound: groupMessage({ sender: { id: name, name }, ...more } as never),
      owner: false,
    } as never),
  });
  const rows: { readonly [lane: string]: readonly object[] } = {
    "agent:main:main": [row("agent:main:main", 12, "Ann", { guild: "77", parent: "88" })],
    "agent:main:discord:channel:500": [
      row("agent:main:discord:channel:500", 9, "Bob", { title: "t".repeat(129), guild: "78", parent: "89" }),
    ],
  };
  const found = await knownPlaces(
    {
      sessions: { list: async () => Object.keys(rows).map((key) => ({ key })) },
      inbox: { find: async ({ lane }: { lane: string }) => rows[lane] },
    } as never,
    "main",
  );
  expect(found).toEqual([
    {
      address: { channel: "discord", account: "default", kind: "channel", peer: "500" },
      conversation: "discord:default:channel:500",
      session: "agent:main:main",
      names: ["Ann", "Bob"],
      title: "t".repeat(128),
      lastAtMs: 12,
      guild: "77",
      parent: "88",
    },
  ]);
});

test("two buttons that mean the same are refused, and a link is none of them", () => {
  const twice = (buttons: object) => () => of({ buttons });
  expect(twice([[{ label: "a" }], [{ label: "b", value: "a" }]])).toThrow(
    'two buttons have the value "a": give each its own',
  );
  expect(twice([[{ label: "a", value: "x" }], [{ label: "a", value: "y" }]])).not.toThrow();
  expect(twice([[{ label: "a", url: "https://x" }, { label: "a" }]])).not.toThrow();
});
