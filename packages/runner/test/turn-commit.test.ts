// What the end of a turn writes, whole: how its rows ended and why, what is sent in place of what, the
// entries, the session's fields and the cells; and how a stopped turn is closed.
import { Fault, formatRowPayload, noUsage, silentLog, type Inbound, type SessionKey } from "@parley/protocol";
import { withShortValues } from "@parley/delivery";
import type { Commit, NewDelivery, Row, SqliteStore } from "@parley/store";
import { directMessage, virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { closeStoppedTurn } from "../src/close-stopped-turn.ts";
import { commitTurn } from "../src/commit-turn.ts";
import { runningTurns } from "../src/running-turns.ts";
import { wasToldOfLimit } from "../src/usage/told-once.ts";
import { memoryStore } from "./store.ts";

const lane = "agent:main:telegram:dm:5" as SessionKey;
const conversation = "telegram:work:dm:5";
const address = { channel: "telegram", account: "work", kind: "dm", peer: "5" } as const;
const id = `${lane}#1`;
const usage = { ...noUsage, inputTokens: 10, outputTokens: 2 };

let clock: VirtualClock;
let store: SqliteStore;
beforeEach(async () => {
  clock = virtualClock();
  store = await memoryStore(clock);
  onTestFinished(() => store.close());
});

function row(name: string, inbound: Partial<Inbound> = {}, payload: object = {}, seq = 1): Row {
  return {
    id: name,
    seq,
    acceptedAtMs: 7,
    conversation,
    authority: "owner",
    payload: formatRowPayload({
      v: 1,
      inbound: { ...directMessage({ messageId: name }), address, account: "work", id: name, ...inbound },
      owner: true,
      ...payload,
    } as never),
  } as unknown as Row;
}
const heartbeat = (name: string): Row =>
  row(name, {}, { internal: { kind: "heartbeat", id: "h", turn: "" } });
const answer = (text: string, more: object = {}) => ({
  type: "assistant",
  content: [{ type: "text", text }],
  model: "a/b",
  stop: "stop",
  usage,
  atMs: 1,
  ...more,
});
const text = (markdown: string): object => ({ kind: "text", markdown });
const reply = (...parts: readonly object[]): object => ({ kind: "reply", parts });

interface Situation {
  readonly end?: object;
  readonly said?: object;
  readonly thinking?: string;
  readonly rows?: readonly Row[];
  /** Rows that joined the turn. */
  readonly joined?: readonly Row[];
  readonly unheard?: readonly object[];
  /** What the turn's calls sent here already. */
  readonly saidHere?: readonly string[];
  readonly previewed?: { readonly open: string | null; readonly said: string };
  readonly turn?: object;
  readonly scope?: object;
  readonly prepared?: object;
  readonly settles?: boolean;
  readonly patch?: object;
  readonly fields?: object;
  readonly refusalKey?: string | null;
  readonly signal?: AbortSignal;
  /** Answers to the first commits. */
  readonly commits?: readonly (() => void)[];
}

async function ended(what: Situation = {}) {
  const { rows = [row("m1")], joined = [], previewed = { open: null, said: "" }, commits = [] } = what;
  const did: string[] = [];
  const written: Commit[] = [];
  const logged: unknown[] = [];
  let tries = 0;
  const turn = { id, lane, conversation, rows, context: [], log: [], tickets: [], stop: null, ...what.turn };
  const done = commitTurn(
    {
      turns: {
        park: async (_turn: object, how: object) => void did.push(`parked ${JSON.stringify(how)}`),
        commit: async (_turn: object, of: string, commit: Commit) => {
          expect(of).toBe(id);
          commits[tries++]?.();
          did.push("written");
          written.push(commit);
        },
      },
      cells: store.cells,
      config: { messages: { answerMaxChars: 1_000, tts: { auto: "off", maxTextLength: 10 } } },
      redaction: { secrets: ["hunter2-secret"], stateDirs: [], workspaces: [] },
      mediaFolder: {},
      speech: undefined,
      clock,
    } as never,
    {
      turn,
      lease: { signal: what.signal ?? new AbortController().signal },
      session: { key: lane, fields: what.fields ?? {} },
      address,
      channel: what.settles === true ? { capabilities: {}, settle: () => {} } : { capabilities: {} },
      opening: rows,
      prepared: {
        model: { id: "a/b" },
        reasoning: "off",
        tellsEmptyInGroups: false,
        promptNote: (of: string) => ({
          patch: { prompt: of },
          cells: [{ key: "prompt-cell", value: "p" }],
          committed: () => did.push("prompt kept"),
        }),
        ...what.prepared,
      },
      spending: {
        refusalKey: () => what.refusalKey ?? null,
        note: async (_end: object, model: { readonly id: string }) => [
          { key: `spent ${model.id}`, value: "s" },
        ],
        committed: () => did.push("spent"),
      },
      signal: new AbortController().signal,
      timedOut: () => false,
      log: { ...silentLog, info: (fields: unknown, message: string) => void logged.push([message, fields]) },
      ...what.scope,
    } as never,
    {
      end: {
        type: "end",
        stop: "done",
        entries: [answer("Hello.")],
        finalText: "Hello.",
        usage,
        ...what.end,
      },
      journal: {
        rows: () => [...rows, ...joined],
        saidHere: () => what.saidHere ?? [],
        unheard: () => what.unheard ?? [],
      },
      previewed,
      answer: { outcome: what.said ?? reply(text("Hello.")), thinking: what.thinking ?? "", voice: false },
      patch: what.patch ?? {},
    } as never,
  );
  return { done: await done, did, logged, commit: written.at(-1) ?? ({} as Commit) };
}
const sent = ({ deliveries = [] }: Pick<Commit, "deliveries">): readonly object[] =>
  deliveries.map(({ parts, ...delivery }: NewDelivery) => ({
    ...delivery,
    parts: parts.map(({ content, into }) => [JSON.parse(content), into]),
  }));
const at = { pool: "telegram:work", lane: conversation, cause: id };

describe("the commit of a turn", () => {
  test("has the answer, the entries, the context read, the fields and the cells, and what counts comes after it", async () => {
    const context = [row("c0", {}, {}, 0), row("c1", {}, {}, 5)];
    const { done, commit, did, logged } = await ended({
      rows: [row("m1", {}, {}, 6)],
      joined: [row("m2", {}, {}, 9)],
      unheard: [{ type: "user", content: [], rows: ["m2"], atMs: 2 }],
      turn: { context },
      patch: { from: "the context" },
      fields: { usage: { inputTokens: 100, outputTokens: 1 } },
    });
    expect(done).toEqual({ settled: true });
    expect({
      ...commit,
      deliveries: sent(commit),
      entries: commit.entries.map((each) => JSON.parse(each)),
    }).toEqual({
      outcome: "answered",
      reason: "done",
      entries: [answer("Hello."), { type: "user", content: [], rows: ["m2"], atMs: 2 }],
      deliveries: [{ id: `${id}/0`, ...at, parts: [[{ v: 1, ...reply(text("Hello.")) }, undefined]] }],
      patch: {
        prompt: id,
        from: "the context",
        usage: expect.objectContaining({ inputTokens: 110, outputTokens: 3 }),
      },
      contextThrough: 5,
      cells: [
        { key: "prompt-cell", value: "p" },
        { key: "spent a/b", value: "s" },
      ],
    });
    expect(did).toEqual(["written", "prompt kept", "spent"]);
    expect(logged).toEqual([
      ["turn committed", { joined: ["m2"], outcome: "reply", stop: "done", steps: 1, usage }],
    ]);
  });

  test("replaces and closes what grew; after a wait it takes it away and comes anew, below", async () => {
    const previewed = { open: "p1", said: "" };
    const remove = { v: 1, kind: "remove" };
    const hello = { v: 1, ...reply(text("Hello.")) };
    const silent = { said: { kind: "silent", reason: "asked" }, prepared: { tellsEmptyInGroups: false } };
    const beat = { rows: [heartbeat("h")] };
    const of = async (what: Situation) => sent((await ended(what)).commit);
    expect(await of({ previewed })).toEqual([
      { id: `${id}/0`, ...at, closes: "p1", parts: [[hello, "p1/0"]] },
    ]);
    expect(await of({ previewed, turn: { tickets: ["t"] } })).toEqual([
      { id: `${id}/removed`, ...at, closes: "p1", parts: [[remove, "p1/0"]] },
      { id: `${id}/0`, ...at, parts: [[hello, undefined]] },
    ]);
    expect(await of({ turn: { tickets: ["t"] } })).toEqual([
      { id: `${id}/0`, ...at, parts: [[hello, undefined]] },
    ]);
    expect(await of({ ...silent, ...beat, previewed })).toEqual([
      { id: `${id}/0`, ...at, closes: "p1", parts: [[remove, "p1/0"]] },
    ]);
    expect(await of({ ...silent, ...beat })).toEqual([]);
  });

  test("tells a platform that shows who waits that nothing comes, unless something did", async () => {
    const command = row("cmd", { kind: "command", addressed: false });
    const of = async (what: Situation) =>
      sent(
        (
          await ended({
            said: { kind: "silent", reason: "asked" },
            scope: { address: { ...address, kind: "group" } },
            ...what,
          })
        ).commit,
      ).length;
    expect([
      await of({ rows: [command], settles: true }),
      await of({ rows: [row("m1", { addressed: false })], joined: [command], settles: true }),
      await of({ rows: [command], settles: false }),
      await of({ rows: [row("m1", { addressed: false })], settles: true }),
      await of({ rows: [command], settles: true, previewed: { open: null, said: "Hello." } }),
    ]).toEqual([1, 1, 0, 0, 0]);
  });

  test("gives each button of an answer a short name, whose meaning is written with it, and shows all else as it is", async () => {
    const button = { label: "Yes, please", value: "x".repeat(200), allowed: ["telegram:5"] };
    const said = {
      kind: "reply",
      parts: [
        text("A?"),
        { ...text("B?"), buttons: [[button, { label: "No" }, { label: "Open", url: "https://x" }]] },
      ],
      replyTo: "m1",
    };
    const { commit } = await ended({ said });
    const [buttons] = (
      sent(commit) as { parts: [{ parts: { buttons?: { value?: string }[][] }[] }][] }[]
    ).map(({ parts }) => parts[0]?.[0].parts[1]?.buttons?.[0] ?? []);
    const names = (buttons ?? []).flatMap(({ value }) => value ?? []);
    expect([names.length, names.every((name) => /^~[\w-]{22}$/.test(name)), buttons?.[2]]).toEqual([
      2,
      true,
      { label: "Open", url: "https://x" },
    ]);
    // The names are those of this very delivery's place and turn, whoever presses.
    const pressed = withShortValues(said.parts as never, { id, to: address });
    expect([sent(commit), commit.cells]).toEqual([
      [{ id: `${id}/0`, ...at, parts: [[{ v: 1, ...said, parts: pressed.parts }, undefined]] }],
      [...pressed.cells, { key: "prompt-cell", value: "p" }, { key: "spent a/b", value: "s" }],
    ]);
  });

  test("sends no answer that a call sent already, and owes none then; to programs an answer is never cut", async () => {
    const of = async (what: Situation) => {
      const { outcome, reason, deliveries = [] } = (await ended(what)).commit;
      return [outcome, reason, deliveries.length];
    };
    const empty = { said: { kind: "silent", reason: "empty" } };
    const asked = { said: { kind: "silent", reason: "asked" } };
    expect([
      await of(empty),
      await of({ ...empty, saidHere: ["It is done."] }),
      await of(asked),
      await of({ ...asked, saidHere: ["It is done."] }),
      await of({ said: reply(text("It is done.")), saidHere: ["*It* is done."] }),
      await of({ said: reply(text("It is late.")), saidHere: ["It is done."] }),
    ]).toEqual([
      ["dead", "the model gave no answer", 1],
      ["silent", "empty", 0],
      ["dead", "the model gave no answer", 1],
      ["silent", "asked", 0],
      ["silent", "it was said with the message tool", 0],
      ["answered", "done", 1],
    ]);
    const long = reply(text("x".repeat(1_001)));
    const chars = async (what: Situation) => {
      const [delivery] = (await ended({ said: long, ...what })).commit.deliveries ?? [];
      return delivery?.parts[0]?.content.includes("was cut here");
    };
    const program = { channel: "api", account: "default", kind: "dm", peer: "u" };
    expect([await chars({}), await chars({ scope: { address: program } })]).toEqual([true, false]);
    expect(await of({ said: long, previewed: { open: null, said: "x".repeat(500) } })).toEqual([
      "answered",
      "done",
      1,
    ]);
    expect(await chars({ previewed: { open: null, said: "x".repeat(500) } })).toBe(false);
  });

  test("says how the rows ended and why: answered, silent, stopped at a limit, or dead", async () => {
    const of = async (what: Situation) => {
      const { outcome, reason, deliveries } = (await ended(what)).commit;
      return [outcome, reason, deliveries?.length];
    };
    const group = {
      scope: { address: { ...address, kind: "group" } },
      rows: [row("m1", { addressed: false })],
    };
    expect([
      await of({}),
      await of({ end: { stop: "length" } }),
      await of({ ...group, said: { kind: "silent", reason: "asked" } }),
      await of({ rows: [heartbeat("h")], said: { kind: "heartbeatOk" } }),
      await of({ end: { stop: "capped", reason: "The day's limit" } }),
      await of({ end: { stop: "error", error: { kind: "auth", message: "wrong key" } } }),
      await of({ end: { stop: "aborted" }, scope: { timedOut: () => true } }),
    ]).toEqual([
      ["answered", "done", 1],
      ["answered", "length", 1],
      ["silent", "asked", 0],
      ["silent", "done", 0],
      ["refused", "The day's limit", 1],
      ["dead", "auth: wrong key", 1],
      ["dead", "the turn took too long", 1],
    ]);
  });

  test("leaves no entries of a heartbeat that found nothing and did nothing", async () => {
    const beat = { rows: [heartbeat("h")], said: { kind: "heartbeatOk" } };
    const result = { type: "toolResult", callId: "c", name: "n", content: [], atMs: 1 };
    const entries = async (what: Situation) => (await ended(what)).commit.entries.length;
    expect([
      await entries(beat),
      await entries({ ...beat, end: { entries: [answer("x"), result] } }),
      await entries({ ...beat, joined: [row("m2")] }),
      await entries({ rows: [heartbeat("h")] }),
    ]).toEqual([0, 2, 1, 1]);
  });

  test("shows thoughts before the answer where the session shows them, and no secret in them", async () => {
    const prepared = { reasoning: "on" };
    const parts = async (what: Situation): Promise<readonly string[]> => {
      const [delivery] = (await ended(what)).commit.deliveries ?? [];
      const { parts: all } = JSON.parse(delivery?.parts[0]?.content ?? "{}") as {
        readonly parts: readonly { readonly markdown: string }[];
      };
      return all.map(({ markdown }) => markdown);
    };
    const thinking = "because hunter2-secret";
    const [thoughts, words] = await parts({ prepared, thinking });
    expect([thoughts?.startsWith("Thinking\n\n> because "), thoughts?.includes("hunter2"), words]).toEqual([
      true,
      false,
      "Hello.",
    ]);
    expect(await parts({ thinking })).toEqual(["Hello."]);
    expect(await parts({ prepared: { reasoning: "stream" }, thinking })).toEqual(["Hello."]);
  });

  test("is tried again while the store is away; a turn that was told to stop or lost its lease is given back", async () => {
    const away = () => {
      throw new Fault("unavailable", "no store");
    };
    const trying = ended({ commits: [away, away] });
    await clock.advance(60_000);
    expect((await trying).did).toEqual(["written", "prompt kept", "spent"]);
    const lost = ended({
      commits: [
        () => {
          throw new Fault("conflict", "another holds it");
        },
      ],
    });
    await expect(lost).rejects.toMatchObject({ code: "conflict", message: "another holds it" });
    await expect(ended({ end: { stop: "aborted" } })).rejects.toMatchObject({
      code: "conflict",
      message: "the turn was told to stop",
    });
    const drained = new AbortController();
    drained.abort(new Fault("aborted", "the process ends"));
    await expect(ended({ end: { stop: "aborted" }, signal: drained.signal })).rejects.toMatchObject({
      code: "aborted",
      message: "the process ends",
    });
  });

  test("parks a turn that waits, with all of its tickets and until when, and writes nothing else", async () => {
    const end = { stop: "parked", tickets: ["a", "b"], untilMs: 99 };
    const { done, did, logged } = await ended({ end });
    expect([done, did, logged]).toEqual([
      { settled: true },
      ['parked {"tickets":["a","b"],"wake":"any","untilMs":99}'],
      [["turn parked", { tickets: ["a", "b"] }]],
    ]);
    expect((await ended({ end: { stop: "parked" } })).did).toEqual([
      `parked {"tickets":[],"wake":"any","untilMs":${clock.now()}}`,
    ]);
  });

  test("whoever reached a limit is told once an hour; the message that was told keeps its words", async () => {
    const capped = { end: { stop: "capped", reason: "Your limit", entries: [] }, refusalKey: "limit-told:x" };
    const of = async (name: string, more: Situation = {}) => {
      const { outcome, reason, deliveries } = (await ended({ rows: [row(name)], ...capped, ...more })).commit;
      return [outcome, reason, deliveries?.length];
    };
    const told = ["refused", "Your limit", 1];
    const silent = ["refused", "Your limit", 0];
    expect([
      await of("m1"),
      await of("m1"),
      await of("m2"),
      await of("m3", { refusalKey: "limit-told:y" }),
    ]).toEqual([told, told, silent, told]);
    await clock.advance(3_600_000 - 1);
    expect(await of("m4")).toEqual(silent);
    await clock.advance(1);
    expect([await of("m5"), await of("m6", { refusalKey: null })]).toEqual([told, told]);
  });

  test("a limit is told again to programs, to Parley's own work, and to a turn that had begun to answer", async () => {
    await store.cells.put("limit-told:x", "another", {});
    const was = (more: {
      readonly rows?: readonly Row[];
      readonly address?: object;
      readonly end?: object;
    }) =>
      wasToldOfLimit(
        { cells: store.cells },
        {
          turn: { rows: more.rows ?? [row("m1")] },
          address: more.address ?? address,
          spending: { refusalKey: () => "limit-told:x" },
        } as never,
        { stop: "capped", entries: [], usage: noUsage, ...more.end } as never,
      );
    expect([
      await was({}),
      await was({ end: { entries: [{ type: "user" }] } }),
      await was({ end: { entries: [{ type: "user" }, { type: "assistant" }] } }),
      await was({ end: { stop: "done" } }),
      await was({ rows: [] }),
      await was({ address: { ...address, channel: "hook" } }),
      await was({ rows: [row("m1"), heartbeat("h")] }),
    ]).toEqual([true, true, false, false, false, false, false]);
  });
});

describe("the close of a stopped turn", () => {
  async function closed(what: {
    readonly stop?: string;
    readonly log?: readonly object[];
    readonly row?: Row;
    readonly at?: string;
    readonly settles?: boolean;
    readonly left?: string;
  }) {
    const did: string[] = [];
    const written: Commit[] = [];
    const running = runningTurns();
    if (what.left !== undefined) running.leave(id, what.left);
    const end = await closeStoppedTurn({
      turns: { commit: async (_turn: object, _id: string, commit: Commit) => void written.push(commit) },
      config: {
        channels: { telegram: { work: { ackReaction: "👀", ackReactionScope: "all" } } },
        messages: { removeAckAfterReply: true },
      },
      outbox: { find: async () => [] },
      running,
      moreTools: [],
      bootAtMs: 0,
      ledger: {
        forTurn: () => ({
          note: async (_end: object, { id: model }: { readonly id: string }) => [
            { key: `spent ${model}`, value: "s" },
          ],
          committed: () => did.push("spent"),
        }),
      },
      approvals: { stop: async (of: object) => did.push(`approvals ${JSON.stringify(of)}`) },
      questions: { stop: async (of: object) => did.push(`questions ${JSON.stringify(of)}`) },
      channel: () => ({
        capabilities: { reactions: true },
        actions: ["react"],
        act: async (
          _to: object,
          { emoji, messageId }: { readonly emoji: string | null; readonly messageId: string },
        ) => void did.push(`reaction ${emoji} on ${messageId}`),
        ...(what.settles === true ? { settle: () => {} } : {}),
      }),
      clock,
      log: { ...silentLog, info: (_fields: unknown, message: string) => void did.push(message) },
    } as never)(
      {
        id,
        lane,
        conversation: what.at ?? conversation,
        rows: [what.row ?? row("m1")],
        context: [],
        log: what.log ?? [],
        tickets: [],
        stop: what.stop ?? "/stop",
        attempt: 1,
        epoch: 1,
      } as never,
      { signal: new AbortController().signal } as never,
    );
    expect(end).toEqual({ settled: true });
    await clock.advance(0);
    const [commit] = written;
    if (commit === undefined || written.length > 1) throw new Error("it is written once");
    return { did, commit: { ...commit, entries: commit.entries.map((each) => JSON.parse(each)) } };
  }

  test("keeps the words of its rows and marks it as stopped; its requests and questions end with it", async () => {
    const { commit, did } = await closed({});
    expect(commit).toMatchObject({
      outcome: "stopped",
      reason: "/stop",
      entries: [
        { type: "user", rows: ["m1"] },
        {
          type: "assistant",
          content: [{ text: "[stopped by the user]" }],
          stop: "aborted",
          atMs: clock.now(),
        },
      ],
      cells: [{ key: "spent unknown" }],
      deliveries: [],
    });
    expect(did).toEqual([
      `approvals ${JSON.stringify({ turn: id })}`,
      `questions ${JSON.stringify({ turn: id })}`,
      "spent",
      "turn stopped",
      "reaction null on m1",
    ]);
    const left = await closed({ left: "so far ", stop: "a new conversation" });
    expect([left.commit.reason, left.commit.entries.at(-1)]).toMatchObject([
      "a new conversation",
      { content: [{ text: "so far\n\n[stopped: a new conversation]" }] },
    ]);
  });

  test("of a command leaves no entries, one that a newer message interrupted has no mark, and who is shown waiting is told", async () => {
    const command = row("cmd", { kind: "command" }, { command: { name: "status", args: "" } });
    const one = await closed({ row: command, settles: true });
    expect([one.commit.entries, sent(one.commit)]).toEqual([
      [],
      [{ id: `${id}/stopped`, ...at, parts: [[{ v: 1, kind: "remove" }, undefined]] }],
    ]);
    const other = await closed({ stop: "interrupted by a newer message", left: "half" });
    expect([other.commit.entries.map(({ type }) => type), other.commit.deliveries]).toEqual([["user"], []]);
    // Of what grew the newest is taken away, and the answer that it grew into is over.
    const previews = ["t/0", "t/1"].map((delivery) => ({
      kind: "preview",
      body: JSON.stringify({ delivery }),
    }));
    const grew = await closed({ log: previews });
    expect(sent(grew.commit)).toEqual([
      { id: `${id}/stopped`, ...at, closes: "t/1", parts: [[{ v: 1, kind: "remove" }, "t/1/0"]] },
    ]);
    const web = await closed({ at: "web:default:dm:p1", left: "half" });
    expect(sent(web.commit)).toMatchObject([{ id: `${id}/stopped`, lane: "web:default:dm:p1" }]);
  });
});
