import fc from "fast-check";
import { systemClock, systemIds } from "@parley/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { chatSession, type ChatSession } from "../src/session/chat-session.ts";
import { storedToken } from "../src/session/credential.ts";
import { storedOutbox } from "../src/session/outbox.ts";
import { emptyChat, type ChatState } from "../src/session/state.ts";
import { fakeGateway, memoryStorage, type FakeGateway } from "./fake-gateway.ts";

interface Page {
  readonly session: ChatSession;
  readonly storage: Storage;
  chat(): ChatState;
  /** Texts as a person sees them: what arrived, then what is on its way. */
  shown(): string[];
  /** Waits until it holds; does not sit through the waits between two attempts to connect. */
  until(holds: (chat: ChatState) => boolean): Promise<void>;
}

/** Opens the page: with the storage of an earlier one it is a reload. */
function openPage(
  gateway: FakeGateway,
  storage = memoryStorage(),
  code: string | null = null,
  clock = systemClock(),
): Page {
  let chat = emptyChat;
  const session = chatSession({
    base: gateway.origin,
    token: storedToken(storage),
    outbox: storedOutbox(storage),
    clock,
    ids: systemIds(),
    onChange: (next) => {
      chat = next;
    },
  });
  onTestFinished(() => session.end());
  session.start(code);
  return {
    session,
    storage,
    chat: () => chat,
    shown: () => [
      ...chat.messages.map(({ text }) => text),
      ...chat.outgoing.filter((each) => each.echoed === undefined).map(({ text }) => text),
    ],
    async until(holds) {
      while (!holds(chat)) {
        session.hurry();
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    },
  };
}

function loggedIn(): Storage {
  const storage = memoryStorage();
  storedToken(storage).keep("device-token");
  return storage;
}

const isOnline = ({ connection }: ChatState): boolean => connection.kind === "online";
const isLoggedOut = ({ connection }: ChatState): boolean => connection.kind === "logged-out";
const allSent = ({ outgoing }: ChatState): boolean => outgoing.length === 0;

describe("logging in", () => {
  test("a link's code is traded once for a token that stays", async () => {
    const gateway = await fakeGateway();
    gateway.codes.add("CODE");
    const page = openPage(gateway, memoryStorage(), "CODE");
    await page.until(isOnline);
    expect(storedToken(page.storage).read()).toBe("device-token");
    page.session.end();
    await openPage(gateway, page.storage).until(isOnline);
    expect(gateway.requests.at(-2)).toMatchObject({
      method: "connect",
      params: { auth: { token: "device-token" } },
    });
  });

  test("a link whose first answer was lost is not lost with it", async () => {
    const gateway = await fakeGateway();
    gateway.codes.add("CODE");
    let isFirst = true;
    gateway.beforeAnswer = () => {
      const answer = isFirst ? "cut" : undefined;
      isFirst = false;
      return answer;
    };
    await openPage(gateway, memoryStorage(), "CODE").until(isOnline);
    expect(gateway.requests[1]).toEqual(gateway.requests[0]);
  });

  test("the gateway's token is typed but never kept", async () => {
    const gateway = await fakeGateway();
    const page = openPage(gateway);
    await page.until(isLoggedOut);
    page.session.login(" gateway-token ");
    await page.until(isOnline);
    expect(storedToken(page.storage).read()).toBe("device-token");
  });

  test("a revoked token is forgotten and the person told; nobody keeps knocking", async () => {
    const gateway = await fakeGateway();
    gateway.tokens.clear();
    const page = openPage(gateway, loggedIn());
    await page.until(isLoggedOut);
    expect(page.chat().connection).toEqual({ kind: "logged-out", reason: "the token is wrong" });
    expect(storedToken(page.storage).read()).toBeNull();
    expect(gateway.requests).toHaveLength(1);
  });

  test("a revoked token does not stand in the way of a fresh link", async () => {
    const gateway = await fakeGateway();
    gateway.tokens.clear();
    gateway.codes.add("CODE");
    await openPage(gateway, loggedIn(), "CODE").until(isOnline);
  });
});

describe("a message", () => {
  test("is shown at once, kept until it is answered, and then shown once", async () => {
    const gateway = await fakeGateway();
    const page = openPage(gateway, loggedIn());
    page.session.send("hi");
    expect(page.shown()).toEqual(["hi"]);
    expect(storedOutbox(page.storage).list()).toMatchObject([{ text: "hi" }]);
    await page.until((chat) => allSent(chat) && chat.messages.length === 1);
    expect(page.shown()).toEqual(["hi"]);
    expect(storedOutbox(page.storage).list()).toEqual([]);
  });

  test("whose answer was lost is repeated under the same key, and stored and shown once", async () => {
    const gateway = await fakeGateway();
    let cuts = 2;
    gateway.beforeAnswer = ({ method }) => (method === "chat.send" && (cuts -= 1) >= 0 ? "cut" : undefined);
    const page = openPage(gateway, loggedIn());
    page.session.send("hi");
    await page.until(allSent);
    const sends = gateway.requests.filter(({ method }) => method === "chat.send");
    expect(sends).toHaveLength(3);
    expect(new Set(sends.map(({ params }) => JSON.stringify(params))).size).toBe(1);
    await page.until((chat) => chat.messages.length === 1);
    expect(page.shown()).toEqual(["hi"]);
  });

  test("survives a reload while the gateway is away", async () => {
    const gateway = await fakeGateway();
    gateway.beforeAnswer = () => "cut";
    const page = openPage(gateway, loggedIn());
    page.session.send("one");
    page.session.send("two");
    page.session.end();
    gateway.beforeAnswer = () => undefined;
    const reloaded = openPage(gateway, page.storage);
    await reloaded.until((chat) => allSent(chat) && chat.messages.length === 2);
    expect(gateway.log.map(({ text }) => text)).toEqual(["one", "two"]);
  });

  test("that is too long says so at once and goes nowhere", async () => {
    const gateway = await fakeGateway();
    const page = openPage(gateway, loggedIn());
    page.session.send("x".repeat(200_001));
    page.session.send("good");
    await page.until((chat) => chat.messages.length === 1 && chat.outgoing.length === 1);
    expect(page.chat().outgoing).toMatchObject([
      { refused: "it has 200,001 characters, and 200,000 can be sent at once" },
    ]);
    expect(gateway.log.map(({ text }) => text)).toEqual(["good"]);
    expect(storedOutbox(page.storage).list()).toEqual([]);
  });

  test("that is refused for good says why, does not hold back the next, and can be taken away", async () => {
    const gateway = await fakeGateway();
    gateway.beforeAnswer = ({ params }) =>
      (params as { text?: string }).text === "bad" ? { code: "invalid", message: "too long" } : undefined;
    const page = openPage(gateway, loggedIn());
    page.session.send("bad");
    page.session.send("good");
    await page.until((chat) => chat.messages.length === 1 && chat.outgoing.length === 1);
    expect(page.chat().outgoing).toMatchObject([{ text: "bad", refused: "too long" }]);
    page.session.discard(page.chat().outgoing[0]?.key ?? "");
    expect(page.shown()).toEqual(["good"]);
    expect(storedOutbox(page.storage).list()).toEqual([]);
  });
});

test("wherever the line breaks, everything is said once, in order, and seen once, in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("send", "answer", "cut", "cut at the next answer", "wait", "reload"), {
        minLength: 1,
        maxLength: 14,
      }),
      async (steps) => {
        const gateway = await fakeGateway();
        let page = openPage(gateway, loggedIn());
        const said: string[] = [];
        for (const step of steps) {
          if (step === "send") {
            said.push(`m${said.length}`);
            page.session.send(said.at(-1) ?? "");
          } else if (step === "answer") gateway.say("assistant", `a${gateway.log.length}`);
          else if (step === "cut") gateway.cut();
          else if (step === "wait") await new Promise((resolve) => setTimeout(resolve, 3));
          else if (step === "reload") {
            page.session.end();
            page = openPage(gateway, page.storage);
          } else {
            let cuts = 1;
            gateway.beforeAnswer = () => ((cuts -= 1) >= 0 ? "cut" : undefined);
          }
        }
        await page.until(
          (chat) => isOnline(chat) && allSent(chat) && chat.messages.length === gateway.log.length,
        );
        page.session.end();
        expect(page.chat().messages).toEqual(gateway.log);
        expect(gateway.log.filter(({ role }) => role === "user").map(({ text }) => text)).toEqual(said);
      },
    ),
    { numRuns: 40 },
  );
});

describe("a line that died without a word", () => {
  const { after, ...rest } = systemClock();
  const hasty = { ...rest, after: (afterMs: number, run: () => void) => after(afterMs / 100, run) };

  /** Whoever is connected hears nothing any more; who connects anew is served. */
  const goDead = (gateway: FakeGateway): void => {
    let isDead = true;
    gateway.beforeAnswer = ({ method }) => {
      if (method === "connect") isDead = false;
      return isDead ? "silence" : undefined;
    };
  };

  test("is noticed by what is not answered, and that goes over a new one", async () => {
    const gateway = await fakeGateway();
    const page = openPage(gateway, loggedIn(), null, hasty);
    await page.until(isOnline);
    goDead(gateway);
    page.session.send("hi");
    await page.until((chat) => allSent(chat) && chat.messages.length === 1);
    expect(page.shown()).toEqual(["hi"]);
  });

  test("is noticed while nobody writes, so that an answer does not wait behind it", async () => {
    const gateway = await fakeGateway();
    const page = openPage(gateway, loggedIn(), null, hasty);
    await page.until(isOnline);
    goDead(gateway);
    gateway.log.push({ seq: 1, role: "assistant", text: "told to nobody", html: "", atMs: 0 });
    while (page.chat().messages.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(page.shown()).toEqual(["told to nobody"]);
  });

  test("before it was open is given up", async () => {
    const gateway = await fakeGateway();
    let isFirst = true;
    gateway.beforeAnswer = () => {
      const answer = isFirst ? "silence" : undefined;
      isFirst = false;
      return answer;
    };
    await openPage(gateway, loggedIn(), null, hasty).until(isOnline);
  });
});

describe("what is shown at the moment", () => {
  test("grows, and gives way to the final message", async () => {
    const gateway = await fakeGateway();
    const page = openPage(gateway, loggedIn());
    page.session.send("hi");
    await page.until((chat) => chat.messages.length === 1);
    gateway.tell("chat.typing", { working: true });
    gateway.tell("chat.delta", { turn: "t", text: "Hel" });
    await page.until(({ draft }) => draft?.text === "Hel");
    expect(page.chat().working).toBe(true);
    gateway.say("assistant", "Hello");
    await page.until((chat) => chat.messages.length === 2);
    expect(page.chat().draft).toBeNull();
    gateway.tell("chat.typing", { working: false });
    await page.until(({ working }) => !working);
  });

  test("goes when the turn ends without an answer, and when the line breaks", async () => {
    const gateway = await fakeGateway();
    const page = openPage(gateway, loggedIn());
    page.session.send("hi");
    await page.until((chat) => chat.messages.length === 1);
    for (const end of [() => gateway.tell("chat.typing", { working: false }), () => gateway.cut()]) {
      await page.until(isOnline);
      gateway.tell("chat.delta", { turn: "t", text: "Hel" });
      await page.until(({ draft }) => draft !== null);
      end();
      await page.until(({ draft }) => draft === null);
    }
  });
});

test("a page that lagged too far behind asks for the history again", async () => {
  const gateway = await fakeGateway();
  const page = openPage(gateway, loggedIn());
  page.session.send("hi");
  await page.until((chat) => chat.messages.length === 1);
  gateway.log.push({ seq: 2, role: "assistant", text: "missed", html: "", atMs: 0 });
  gateway.tell("resync", {}, 2);
  await page.until((chat) => chat.messages.length === 2);
  expect(page.shown()).toEqual(["hi", "missed"]);
});

test("what was said long ago is read when it is asked for, as far back as the gateway tells", async () => {
  const gateway = await fakeGateway();
  for (let n = 1; n <= 450; n += 1)
    gateway.log.push({ seq: n, role: "assistant", text: `t${n}`, html: "", atMs: 0 });
  const page = openPage(gateway, loggedIn());
  for (const shown of [200, 400, 450]) {
    await page.until((chat) => isOnline(chat) && chat.messages.length === shown);
    expect(page.chat().hasEarlier).toBe(shown < 450);
    page.session.earlier();
  }
  expect(page.chat().messages).toEqual(gateway.log);
});

test("more than a history's worth, missed while the line was down, is all replayed", async () => {
  const gateway = await fakeGateway();
  const page = openPage(gateway, loggedIn());
  await page.until(isOnline);
  gateway.cut();
  for (let n = 1; n <= 300; n += 1)
    gateway.log.push({ seq: n, role: "assistant", text: `t${n}`, html: "", atMs: 0 });
  await page.until((chat) => isOnline(chat) && chat.messages.length === 300);
  expect(page.chat().messages).toEqual(gateway.log);
});

test("a very long conversation keeps its newest part for one who reads there, and what went is read again", async () => {
  const gateway = await fakeGateway();
  for (let at = 1; at <= 2_300; at += 1) gateway.say("assistant", `m${at}`);
  const page = openPage(gateway, loggedIn());
  await page.until(isOnline);
  const readAll = async (): Promise<void> => {
    while (page.chat().hasEarlier) {
      const { length } = page.chat().messages;
      page.session.earlier();
      await page.until(({ messages }) => messages.length > length);
    }
  };
  await readAll();
  expect(page.chat().messages).toHaveLength(2_300);
  page.session.forgetEarlier();
  expect(page.chat().messages[0]?.text).toBe("m1301");
  page.session.forgetEarlier();
  expect(page.chat().messages).toHaveLength(1_000);
  gateway.say("assistant", "the newest");
  await page.until(({ messages }) => messages.at(-1)?.text === "the newest");
  await readAll();
  expect(page.shown()).toEqual([...Array.from({ length: 2_300 }, (_, at) => `m${at + 1}`), "the newest"]);
});
