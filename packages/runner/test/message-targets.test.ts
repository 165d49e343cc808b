// Who reaches what with which spelling: a stranger's turn its own conversation only, an owner's what the
// agent knows.
import type { Place } from "@parley/access";
import {
  accountKey,
  conversationKey,
  formatRowPayload,
  sessionKeyOf,
  type Address,
  type SessionKey,
} from "@parley/protocol";
import type { DeliveryView, NewRow, SqliteStore } from "@parley/store";
import { laterAnswerTable, virtualClock, type VirtualClock } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { knownPlaces } from "../src/messages/known-places.ts";
import { openedPlaces } from "../src/messages/opened-threads.ts";
import { targetOf } from "../src/messages/targets.ts";
import { memoryStore } from "./store.ts";

const telegram = (kind: Address["kind"], peer: string, thread?: string): Address => ({
  channel: "telegram",
  account: "default",
  kind,
  peer,
  ...(thread === undefined ? {} : { thread }),
});
const discord = (kind: Address["kind"], peer: string, thread?: string): Address => ({
  ...telegram(kind, peer, thread),
  channel: "discord",
});

const places = {
  olga: telegram("dm", "1"),
  stranger: telegram("dm", "9"),
  group: telegram("group", "-100"),
  topic: telegram("group", "-100", "7"),
  general: discord("channel", "500"),
  thread: discord("channel", "500", "501"),
  olgaThere: discord("dm", "11"),
} as const;
const names: { readonly [place: string]: string } = {
  olga: "Olga",
  stranger: "Eve",
  olgaThere: "Olga",
  general: "Bert",
};

const titles: { readonly [place: string]: string } = {
  group: "Tea room",
  topic: "Kettles",
  general: "general",
  thread: "Eve",
};

const sessionOf = (address: Address, agent = "main"): SessionKey =>
  sessionKeyOf(address, { agent, dmScope: "per-channel-peer", identityLinks: {} });

let store: SqliteStore;
let rows = 0;

async function wrote(
  address: Address,
  name: string,
  more: Partial<NewRow> = {},
  agent = "main",
  title?: string,
): Promise<void> {
  rows += 1;
  const id = `row-${rows}`;
  const lane = sessionOf(address, agent);
  await store.sessions.open(lane);
  const inbound = {
    id,
    channel: address.channel,
    account: address.account,
    address,
    sender: { id: address.peer, name, isBot: false },
    messageId: id,
    kind: "message" as const,
    text: "hi",
    attachments: [],
    mentions: [],
    addressed: true,
    ...(address.channel === "discord" && address.kind !== "dm" ? { guild: "77" } : {}),
    ...(title === undefined ? {} : { title }),
    atMs: 0,
  };
  const row: NewRow = {
    id,
    pool: "main",
    lane,
    conversation: conversationKey(address),
    authority: "owner",
    as: { kind: "work" },
    payload: formatRowPayload({ v: 1, inbound, owner: true }),
    ...more,
  };
  await store.inbox.accept([row]);
}

beforeEach(async () => {
  rows = 0;
  store = await memoryStore(virtualClock());
  for (const [place, address] of Object.entries(places))
    await wrote(address, names[place] ?? "", {}, "main", titles[place]);
  // Refused, of another agent, and not written by a person: none of them is known.
  await wrote(telegram("dm", "66"), "Mallory", {
    as: { kind: "closed", outcome: "refused", reason: "not listed" },
  });
  await wrote(telegram("dm", "88"), "Otto", {}, "other");
});
afterEach(() => store.close());

type CrossContext = Parameters<typeof targetOf>[2]["crossContext"];

const reach = (
  to: string | undefined,
  from: Address,
  owner: boolean,
  crossContext: CrossContext = "owner",
  refusing: (place: Place) => string | null = () => null,
): Promise<string> =>
  targetOf(
    to,
    {
      session: sessionOf(from),
      agent: "main",
      conversation: conversationKey(from),
      by: { owner, senders: [] },
    },
    {
      crossContext,
      known: () => knownPlaces(store, "main"),
      opened: async () => [],
      reach: async (place) => refusing(place),
    },
  ).then(
    ({ conversation, here, address }) => {
      expect(here).toBe(conversation === conversationKey(from));
      expect(accountKey(address)).toBe(`${address.channel}:default`);
      return conversation;
    },
    (error: unknown) => `refused: ${(error as Error).message}`,
  );

/** Every way to name a place, and the place. */
const spellings: readonly (readonly [to: string, place: keyof typeof places])[] = [
  ["telegram:1", "olga"],
  ["Telegram:1", "olga"],
  [" telegram:1 ", "olga"],
  ["telegram:default:dm:1", "olga"],
  ["agent:main:telegram:dm:1", "olga"],
  ["agent:main:telegram:direct:1", "olga"],
  ["telegram:-100", "group"],
  ["telegram:default:group:-100", "group"],
  ["agent:main:telegram:group:-100", "group"],
  ["telegram:-100:topic:7", "topic"],
  ["agent:main:telegram:group:-100:topic:7", "topic"],
  ["discord:channel:500", "general"],
  ["discord:channel:501", "thread"],
  ["discord:thread:501", "thread"],
  ["discord:default:channel:500:501", "thread"],
  ["discord:user:11", "olgaThere"],
  ["agent:main:discord:channel:500", "general"],
];

const named: typeof spellings = [
  ["#general", "general"],
  ["General", "general"],
  ["tea room", "group"],
  ["kettles", "topic"],
  ["#eve", "thread"],
];

describe("an owner's turn", () => {
  test.each([...spellings, ...named])("reaches %j as %s", async (to, place) => {
    expect(await reach(to, places.olga, true)).toBe(conversationKey(places[place]));
    expect(await reach(to, places.general, true)).toBe(conversationKey(places[place]));
  });

  test.each([
    [
      "a name of several",
      "Olga",
      /"Olga" may mean (?=.*telegram:1 \(Olga\))(?=.*discord:user:11 \(Olga\)).*: say which/,
    ],
    [
      "a name of a person and of a thread",
      "Eve",
      /"Eve" may mean (?=.*telegram:9 \(Eve\))(?=.*discord:channel:501 \(#Eve\)).*: say which/,
    ],
    ["a person's name with a channel's sign", "#olga", /"#olga" is no place that this agent knows/],
    [
      "a title that is nearly one, with those like it first",
      "#generall",
      /is no place that this agent knows; known are discord:channel:500 \(#general\), /,
    ],
    ["nobody", "Nobody", /"Nobody" is no place that this agent knows; known are .*telegram:1 \(Olga\)/],
    ["who was refused", "telegram:66", /no place that this agent knows/],
    ["who was refused, by name", "Mallory", /no place that this agent knows/],
    ["another agent's conversation", "agent:other:telegram:dm:88", /no place that this agent knows/],
    ["another agent's person", "telegram:88", /no place that this agent knows/],
    ["somebody of a group, who is no person in private", "Bert", /no place that this agent knows/],
    ["an account that is not there", "telegram:second:dm:1", /no place that this agent knows/],
    ["no session key", "agent:main", /malformed/],
    ["a topic that nobody wrote in", "telegram:-100:topic:8", /no place that this agent knows/],
  ])("is refused %s", async (_what, to, reason) => {
    const refused = await reach(to, places.olga, true);
    expect(refused).toMatch(/^refused: /);
    expect(refused).toMatch(reason);
  });

  test("reaches a place by its newest title, and another one by the old", async () => {
    await wrote(places.general, "Bert", {}, "main", "lounge");
    expect(await reach("#lounge", places.olga, true)).toBe(conversationKey(places.general));
    expect(await reach("#general", places.olga, true)).toMatch(/no place that this agent knows/);
    await wrote(places.group, "Bert", {}, "main", "Lounge");
    expect(await reach("#lounge", places.olga, true)).toMatch(
      /(?=.*telegram:-100 \(#Lounge\))(?=.*discord:channel:500 \(#lounge\)).*: say which/,
    );
  });

  test("stays here with crossContext off, whatever it names", async () => {
    for (const [to, place] of spellings) {
      const got = await reach(to, places.olga, true, "off");
      if (place === "olga") expect(got).toBe(conversationKey(places.olga));
      else expect(got).toMatch(/^refused: messages go to this conversation only/);
    }
  });

  test("is refused where the access rules refuse, and the rules are told the server", async () => {
    const asked: Place[] = [];
    const refusing = (place: Place): string => {
      asked.push(place);
      return "the config does not serve this place";
    };
    expect(await reach("discord:channel:500", places.olga, true, "owner", refusing)).toBe(
      'refused: nothing can be sent to "discord:channel:500": the config does not serve this place',
    );
    expect(asked).toMatchObject([{ address: places.general, guild: "77" }]);
    // Its own conversation was admitted already.
    expect(await reach(undefined, places.general, true, "owner", refusing)).toBe(
      conversationKey(places.general),
    );
  });
});

describe("a stranger's turn", () => {
  const froms = ["stranger", "group", "topic", "general", "thread"] as const;

  test.each(froms)(
    "reaches from %s its own conversation, however it is spelled, and nothing else",
    async (from) => {
      const own = conversationKey(places[from]);
      for (const to of [undefined, "here"]) expect(await reach(to, places[from], false)).toBe(own);
      for (const [to, place] of spellings) {
        const got = await reach(to, places[from], false);
        if (place === from && !/^eve$/i.test(to)) expect(got).toBe(own);
        else
          expect(got).toBe(
            "refused: only an owner's turn may write elsewhere: leave out `to` and say it here",
          );
      }
    },
  );

  test("is told the same of what is there and what is not", async () => {
    const words = await Promise.all(
      ["Olga", "Nobody", "telegram:1", "telegram:4711", "agent:main:main", "discord:user:1"].map((to) =>
        reach(to, places.stranger, false),
      ),
    );
    expect(new Set(words).size).toBe(1);
  });
});

describe("with crossContext all", () => {
  test("every turn reaches what the access rules serve, also where nobody wrote yet", async () => {
    expect(await reach("telegram:4711", places.stranger, false, "all")).toBe("telegram:default:dm:4711");
    expect(await reach("telegram:-5:topic:3", places.olga, true, "all")).toBe("telegram:default:group:-5:3");
    expect(await reach("discord:user:12", places.olga, true, "all")).toBe("discord:default:dm:12");
    expect(await reach("telegram:1", places.stranger, false, "all", () => "no")).toMatch(/^refused: .*: no$/);
  });
});

test("tg: means Telegram, as people of this field write it", async () => {
  expect(await reach("tg:-100", places.olga, true)).toBe(conversationKey(places.group));
});

test("a thread that the agent opened is found by its id before anybody wrote in it, with the rules of its channel", async () => {
  const at = {
    address: places.general,
    conversation: conversationKey(places.general),
    session: sessionOf(places.general),
    names: [],
    title: "general",
    lastAtMs: 0,
    guild: "9",
  };
  const lane = conversationKey(at.address);
  const receipt = JSON.stringify({ messageId: "1", extra: { thread: "777" } });
  const sent = (cause: string) =>
    ({
      id: `${cause}/c/message`,
      cause,
      lane,
      parts: [{ state: "sent", receipt }],
    }) as unknown as DeliveryView;
  const opened = (cause: string) =>
    openedPlaces({ find: async () => [sent(cause)] }, { id: "777", agent: "main" }, [at]);
  expect(await opened("agent:main:discord:channel:5#1")).toEqual([
    { address: { ...places.general, thread: "777" }, parent: "500", guild: "9" },
  ]);
  expect(await opened("agent:other:discord:channel:5#1")).toEqual([]);
});

describe("with a second account, shared names and many places", () => {
  let clock: VirtualClock;
  /**
   * A second account, people who changed their name, several of one title, and more places than are named.
   */
  beforeEach(async () => {
    await store.close();
    clock = virtualClock();
    store = await memoryStore(clock);
    const writes = async (...what: Parameters<typeof wrote>) => {
      await clock.advance(1_000);
      await wrote(...what);
    };
    for (const [place, address] of Object.entries(places))
      await writes(address, names[place] ?? "", {}, "main", titles[place]);
    const at = (address: Address, account: string): Address => ({ ...address, account });
    await writes(at(places.olga, "second"), "Olga the second");
    await writes(at(places.group, "second"), "Bert", {}, "main", "Tea room");
    for (const name of ["Stevie", "Steven", "Steve", "Stephen", "Steven"])
      await writes(telegram("dm", "30"), name);
    await writes(discord("channel", "600"), "Bert", {}, "main", "general");
    await writes(discord("channel", "600", "601"), "Bert", {}, "main", "# sign");
    await writes({ ...telegram("dm", "web-1"), channel: "web" }, "Ada");
    for (let more = 0; more < 13; more += 1)
      await writes(telegram("group", `-${200 + more}`), "Zoe", {}, "main", "Many");
  });

  const words = [
    undefined,
    "here",
    " HERE ",
    "",
    "#",
    "x".repeat(81),
    ...[...spellings, ...named].map(([to]) => to),
    "agent:main:telegram:second:dm:1",
    "agent:other:telegram:dm:88",
    "agent:main",
    "telegram:second:dm:1",
    "telegram:third:dm:1",
    "telegram:second:group:-100",
    "tg:-100:topic:7",
    "TG:1",
    "tg:default:dm:1",
    "telegram:-100:topic:8",
    "telegram:-100:topic:x",
    "telegram:-100:thread:7",
    "telegram:1:topic:7",
    "telegram:30",
    "telegram:-1",
    "telegram:100",
    "discord:channel:600",
    "discord:channel:601",
    "discord:thread:600",
    "discord:user:500",
    "discord:channel:11",
    "discord:role:500",
    "discord:channel:x",
    "discord:500",
    "discord:default:channel:600:601",
    "web:default:dm:web-1",
    "web:web-1",
    "Steve",
    "stevie",
    "Stev",
    "#general",
    "# general",
    "general",
    "# sign",
    "#sign",
    "sign",
    "many",
    "Tea rooms",
    "Olga the second",
    "Zoe",
  ] as const;

  const reached = (from: Address, owner: boolean, crossContext: CrossContext) =>
    laterAnswerTable(words, async (to) => {
      const found = await targetOf(
        to,
        {
          session: sessionOf(from),
          agent: "main",
          conversation: conversationKey(from),
          by: { owner, senders: [] },
        },
        {
          crossContext,
          known: () => knownPlaces(store, "main"),
          opened: async (id) =>
            id === "501" || id === "8" ? [{ address: telegram("group", "-100", "8"), guild: "g" }] : [],
          reach: async ({ address: asked, guild, parent }) =>
            asked.account === "second" ? `not ${conversationKey(asked)} ${guild} ${parent}` : null,
        },
      ).catch((error: unknown) => {
        // All that are known are told once, below.
        const [said, known] = (error as Error).message.split("; known are ");
        if (known === undefined) throw error;
        return said + "; first of the known is " + known.split(", ")[0];
      });
      return typeof found === "string" ? found : [found.conversation, found.here, found.address];
    });

  test("what every spelling means from a private chat, from a topic, from a second account and from another channel", async () => {
    const table = [
      await reached(places.olga, true, "owner"),
      await reached(places.topic, false, "all"),
      await reached({ ...places.olga, account: "second" }, false, "all"),
      await reached(places.thread, true, "all"),
      await reached(places.group, false, "owner"),
      await reached(places.thread, true, "off"),
    ];
    await expect(table.join("\n")).toMatchFileSnapshot("tables/message-targets.txt");
  });

  test("twelve of those that are known are told, the newest first, by three names at most or the title", async () => {
    expect(await reach("n".repeat(81), places.olga, true)).toBe(
      `refused: "${"n".repeat(80)}" is no place that this agent knows; known are ${Array.from(
        { length: 12 },
        (_, at) => `telegram:-${212 - at} (#Many)`,
      ).join(", ")}`,
    );
  });

  test("what two accounts share is asked for by spellings that each mean one", async () => {
    const said = await reach("tea room", places.olga, true);
    expect(said).toBe(
      'refused: "tea room" may mean telegram:second:group:-100 (#Tea room) or telegram:default:group:-100 (#Tea room): say which',
    );
    for (const account of ["default", "second"])
      expect(
        await targetOf(
          `telegram:${account}:group:-100`,
          {
            session: sessionOf(places.olga),
            agent: "main",
            conversation: conversationKey(places.olga),
            by: { owner: true, senders: [] },
          },
          {
            crossContext: "owner",
            known: () => knownPlaces(store, "main"),
            opened: async () => [],
            reach: async () => null,
          },
        ),
      ).toEqual({
        address: { ...places.group, account },
        conversation: `telegram:${account}:group:-100`,
        here: false,
      });
  });
});
