// What every channel must keep, run against a platform that the caller plays. A driver is not done before
// this suite is called on it. A case that a channel cannot have is skipped by name, with the reason in the
// test's title.
import {
  type Address,
  type ChannelEvent,
  conversationKey,
  Fault,
  type Inbound,
  parseConversationKey,
  type RenderedPart,
} from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Channel, SendOptions } from "@parley/channels";

const contractCases = [
  "an event is acknowledged only after receive resolved",
  "an event whose receive rejected is not acknowledged and comes again",
  "events come in the platform's order",
  "the channel's own messages do not come back as events",
  "an event's address survives its conversation key and an answer to it arrives where it came from",
  "a direct message is addressed",
  "an exact mention is addressed",
  "a bystander's message in a group is not addressed",
  "a text at the limit is sent whole",
  "a text over the limit is Fault invalid and nothing is sent",
  "a rate limit is Fault rate_limited with the wait, and nothing is sent",
  "a token that is refused rejects start with Fault denied",
  "stop waits for a receive in flight and may be called again",
  "nothing is received after stop",
  "an answer that was lost after the request went out is Fault ambiguous",
  "a send that is aborted before it begins is Fault aborted and nothing is sent",
  "actions are offered exactly when act exists, and each capability has its action",
  "an edit changes the message, and the same edit again succeeds",
  "a removed message is gone, and removing it again succeeds",
  "a pin is set and taken back, and the same again succeeds",
  "a reaction is set and taken back, and the same again succeeds",
  "an action on what is gone is Fault missing",
  "a poll at its limits is sent, and one beyond them is Fault invalid and not sent",
  "typing resolves",
  "an attachment is downloaded whole, and not beyond the limit",
] as const;
type ContractCase = (typeof contractCases)[number];

interface ContractPlatform {
  readonly channel: Channel;
  /**
   * A person writes. `dm`: privately; `mention`: in a group, naming the bot; `bystander`: in a group, to
   * nobody.
   */
  says(how: "dm" | "mention" | "bystander", text: string): void;
  /** How many events the platform has seen acknowledged. */
  acknowledged(): number;
  /** Texts of the product's messages that people see in the private chat, oldest first. */
  shown(): readonly string[];
  /** Moves the channel's clock: what waits for another attempt goes on. */
  advance(byMs: number): Promise<void>;
  /** The next send is refused for `waitMs`. */
  limitsNextSend?(waitMs: number): void;
  /** The next send is carried out, and its answer is lost. */
  losesNextAnswer?(): void;
  /** A channel of the same kind whose credentials the platform refuses. */
  denied?(): Promise<Channel>;
  /** A person sends a file of these bytes privately. */
  sendsFile?(bytes: Uint8Array): void;
  close(): Promise<void>;
}

export interface ContractOptions {
  readonly name: string;
  open(): Promise<ContractPlatform>;
  readonly skip: readonly { readonly case: ContractCase; readonly reason: string }[];
}

export function channelContract({ name, open, skip }: ContractOptions): void {
  describe(`channel contract: ${name}`, () => {
    let platform: ContractPlatform;
    let events: Inbound[];
    let sends = 0;
    beforeEach(async () => {
      platform = await open();
      events = [];
    });
    afterEach(async () => {
      await platform.channel.stop();
      await platform.close();
    });

    const receive = async (batch: readonly ChannelEvent[]): Promise<void> => {
      events.push(...batch.filter((event) => "address" in event));
    };
    const received = async (count: number): Promise<Inbound[]> => {
      await expect.poll(() => events.length, { timeout: 5000 }).toBeGreaterThanOrEqual(count);
      return events;
    };
    /** The private chat's address, learned as the gateway learns it: from an event. */
    const privateChat = async (): Promise<Address> => {
      await platform.channel.start(receive);
      platform.says("dm", "hello");
      const [event] = await received(1);
      if (event === undefined) throw new Error("no event came");
      return event.address;
    };
    const send = (to: Address, part: RenderedPart, options: Partial<SendOptions> = {}) =>
      platform.channel.send(to, part, {
        idempotencyKey: `key-${++sends}`,
        signal: new AbortController().signal,
        ...options,
      });
    const act: NonNullable<Channel["act"]> = (to, action, options) => {
      if (platform.channel.act === undefined) throw new Error("the channel has no act");
      return platform.channel.act(to, action, options);
    };
    const options = (): SendOptions => ({ idempotencyKey: "act", signal: new AbortController().signal });

    const runs: Readonly<Record<ContractCase, () => Promise<void>>> = {
      async "an event is acknowledged only after receive resolved"() {
        const gate = Promise.withResolvers<void>();
        let offered = 0;
        await platform.channel.start(async (batch) => {
          offered += batch.length;
          await gate.promise;
        });
        platform.says("dm", "hello");
        await expect.poll(() => offered).toBe(1);
        await platform.advance(5_000);
        expect(platform.acknowledged()).toBe(0);
        gate.resolve();
        await expect.poll(() => platform.acknowledged()).toBe(1);
      },
      async "an event whose receive rejected is not acknowledged and comes again"() {
        const seen: string[] = [];
        await platform.channel.start(async (batch) => {
          seen.push(...batch.map((event) => event.id));
          if (seen.length === 1) throw new Error("the disk is full");
        });
        platform.says("dm", "hello");
        await expect.poll(() => platform.channel.health().state).toBe("degraded");
        expect(platform.acknowledged()).toBe(0);
        await expect
          .poll(async () => {
            await platform.advance(5_000);
            return platform.acknowledged();
          })
          .toBe(1);
        expect(new Set(seen).size).toBe(1);
        expect(seen.length).toBeGreaterThan(1);
        await expect.poll(() => platform.channel.health().state).toBe("ok");
      },
      async "events come in the platform's order"() {
        await platform.channel.start(receive);
        const texts = Array.from({ length: 20 }, (_, index) => `message ${index}`);
        for (const text of texts) platform.says("dm", text);
        expect((await received(20)).map((event) => event.text)).toEqual(texts);
      },
      async "the channel's own messages do not come back as events"() {
        const to = await privateChat();
        await send(to, text("mine"));
        platform.says("dm", "after");
        expect((await received(2)).map((event) => event.text)).toEqual(["hello", "after"]);
      },
      async "an event's address survives its conversation key and an answer to it arrives where it came from"() {
        const to = await privateChat();
        expect(to.channel).toBe(platform.channel.name);
        expect(to.account).toBe(platform.channel.account);
        const again = parseConversationKey(conversationKey(to));
        expect(again).toEqual(to);
        expect((await send(again, text("answer"))).messageId).not.toBe("");
        expect(platform.shown()).toEqual(["answer"]);
      },
      async "a direct message is addressed"() {
        await platform.channel.start(receive);
        platform.says("dm", "hello");
        expect((await received(1))[0]).toMatchObject({
          addressed: true,
          address: { kind: "dm" },
          text: "hello",
        });
      },
      async "an exact mention is addressed"() {
        await platform.channel.start(receive);
        platform.says("mention", "hello");
        expect((await received(1))[0]).toMatchObject({ addressed: true });
      },
      async "a bystander's message in a group is not addressed"() {
        await platform.channel.start(receive);
        platform.says("bystander", "hello all");
        expect((await received(1))[0]).toMatchObject({ addressed: false, text: "hello all" });
      },
      async "a text at the limit is sent whole"() {
        const to = await privateChat();
        const whole = "x".repeat(platform.channel.capabilities.textChars);
        await send(to, text(whole));
        expect(platform.shown()).toEqual([whole]);
      },
      async "a text over the limit is Fault invalid and nothing is sent"() {
        const to = await privateChat();
        await expectFault("invalid", send(to, text("x".repeat(platform.channel.capabilities.textChars + 1))));
        expect(platform.shown()).toEqual([]);
      },
      async "a rate limit is Fault rate_limited with the wait, and nothing is sent"() {
        const to = await privateChat();
        platform.limitsNextSend?.(3_000);
        const fault = await expectFault("rate_limited", send(to, text("soon")));
        expect(fault.retryAfterMs).toBe(3_000);
        expect(platform.shown()).toEqual([]);
      },
      async "a token that is refused rejects start with Fault denied"() {
        const channel = await platform.denied?.();
        if (channel === undefined) throw new Error("skip this case or give denied()");
        await expectFault("denied", channel.start(receive));
        expect(channel.health().state).toBe("down");
        await channel.stop();
      },
      async "stop waits for a receive in flight and may be called again"() {
        const gate = Promise.withResolvers<void>();
        const order: string[] = [];
        await platform.channel.start(async () => {
          order.push("began");
          await gate.promise;
          order.push("durable");
        });
        platform.says("dm", "hello");
        await expect.poll(() => order).toEqual(["began"]);
        const stopping = platform.channel.stop().then(() => order.push("stopped"));
        await platform.advance(1_000);
        gate.resolve();
        await stopping;
        expect(order).toEqual(["began", "durable", "stopped"]);
        await platform.channel.stop();
        expect(platform.channel.health().state).toBe("stopped");
      },
      async "nothing is received after stop"() {
        await privateChat();
        const before = platform.acknowledged();
        await platform.channel.stop();
        platform.says("dm", "too late");
        await platform.advance(60_000);
        expect(events).toHaveLength(1);
        expect(platform.acknowledged() - before).toBeLessThanOrEqual(1);
      },
      async "an answer that was lost after the request went out is Fault ambiguous"() {
        const to = await privateChat();
        platform.losesNextAnswer?.();
        await expectFault("ambiguous", send(to, text("perhaps")));
      },
      async "a send that is aborted before it begins is Fault aborted and nothing is sent"() {
        const to = await privateChat();
        await expectFault("aborted", send(to, text("never"), { signal: AbortSignal.abort() }));
        expect(platform.shown()).toEqual([]);
      },
      async "actions are offered exactly when act exists, and each capability has its action"() {
        const { channel } = platform;
        const actions = channel.actions ?? [];
        expect(channel.act !== undefined).toBe(actions.length > 0);
        expect(actions.includes("edit")).toBe(channel.capabilities.edits);
        expect(actions.includes("remove")).toBe(channel.capabilities.removals);
        expect(actions.includes("react")).toBe(channel.capabilities.reactions);
        expect(actions.includes("pin")).toBe(channel.capabilities.pins);
        if (actions.includes("createThread")) expect(channel.capabilities.threads).toBe(true);
        expect(channel.typing !== undefined).toBe(channel.capabilities.typing);
      },
      async "an edit changes the message, and the same edit again succeeds"() {
        const to = await privateChat();
        const { messageId } = await send(to, text("first"));
        const edit = {
          kind: "edit",
          messageId,
          text: { text: "second", entities: [], plain: "second" },
        } as const;
        await act(to, edit, options());
        await act(to, edit, options());
        expect(platform.shown()).toEqual(["second"]);
      },
      async "a removed message is gone, and removing it again succeeds"() {
        const to = await privateChat();
        const { messageId } = await send(to, text("gone soon"));
        await act(to, { kind: "remove", messageId }, options());
        await act(to, { kind: "remove", messageId }, options());
        expect(platform.shown()).toEqual([]);
      },
      async "a pin is set and taken back, and the same again succeeds"() {
        const to = await privateChat();
        const { messageId } = await send(to, text("keep"));
        for (const pinned of [true, true, false, false])
          await act(to, { kind: "pin", messageId, pinned }, options());
        expect(platform.shown()).toEqual(["keep"]);
      },
      async "a reaction is set and taken back, and the same again succeeds"() {
        const to = await privateChat();
        const { messageId } = await send(to, text("well"));
        for (const emoji of ["👍", "👍", null, null])
          await act(to, { kind: "react", messageId, emoji }, options());
        expect(platform.shown()).toEqual(["well"]);
      },
      async "an action on what is gone is Fault missing"() {
        const to = await privateChat();
        const { messageId } = await send(to, text("gone soon"));
        await act(to, { kind: "remove", messageId }, options());
        const words = { text: "x", entities: [], plain: "x" };
        await expectFault("missing", act(to, { kind: "edit", messageId, text: words }, options()));
        await expectFault("missing", act(to, { kind: "react", messageId, emoji: "👍" }, options()));
        await expectFault("missing", act(to, { kind: "pin", messageId, pinned: true }, options()));
      },
      async "a poll at its limits is sent, and one beyond them is Fault invalid and not sent"() {
        const to = await privateChat();
        const limits = platform.channel.capabilities.pollLimits;
        if (limits === undefined) throw new Error("skip this case or say the limits");
        const { questionChars, fewestOptions, mostOptions, optionChars } = limits;
        const options = (count: number): string[] =>
          Array.from({ length: count }, (_, n) => String(n).padEnd(optionChars, "x"));
        const poll = {
          kind: "poll",
          question: "?".repeat(questionChars),
          options: options(mostOptions),
          multiple: false,
          anonymous: limits.anonymous,
        } as const;
        expect((await send(to, poll)).messageId).not.toBe("");
        await send(to, { ...poll, options: options(fewestOptions) });
        const before = platform.shown().length;
        await expectFault("invalid", send(to, { ...poll, question: `${poll.question}?` }));
        await expectFault("invalid", send(to, { ...poll, options: options(mostOptions + 1) }));
        await expectFault("invalid", send(to, { ...poll, options: options(fewestOptions - 1) }));
        expect(platform.shown()).toHaveLength(before);
      },
      async "typing resolves"() {
        const to = await privateChat();
        await platform.channel.typing?.(to);
      },
      async "an attachment is downloaded whole, and not beyond the limit"() {
        await platform.channel.start(receive);
        const bytes = new TextEncoder().encode("a small file");
        platform.sendsFile?.(bytes);
        const ref = (await received(1))[0]?.attachments[0]?.ref;
        const { download } = platform.channel;
        if (ref === undefined || download === undefined)
          throw new Error("skip this case or give sendsFile() and download()");
        const { signal } = new AbortController();
        expect([...(await download(ref, bytes.length, signal)).bytes]).toEqual([...bytes]);
        await expectFault("invalid", download(ref, bytes.length - 1, signal));
      },
    };

    for (const title of contractCases) {
      const skipped = skip.find((entry) => entry.case === title);
      if (skipped === undefined) test(title, runs[title]);
      else test.skip(`${title} (${skipped.reason})`, runs[title]);
    }
  });
}

export function text(words: string): RenderedPart {
  return { kind: "text", text: words, entities: [], plain: words };
}

export async function expectFault(code: Fault["code"], work: Promise<unknown>): Promise<Fault> {
  const error = await work.then(
    () => new Error("it succeeded"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Fault);
  const fault = error as Fault;
  expect(`${fault.code}: ${fault.message}`).toMatch(new RegExp(`^${code}: `));
  return fault;
}
