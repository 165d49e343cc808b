// Asks the people of a turn and takes their answer. The question is written with its call's first step; an
// answer is durable before anybody is told, counts once, and wakes the parked turn by a row under the
// question's ticket. However the turn ends, its questions end with it.
import { type PlaceOf } from "@parley/access";
import {
  accountKey,
  conversationKey,
  Fault,
  parseConversationKey,
  type Address,
  type Inbound,
  type Log,
} from "@parley/protocol";
import type { Cells, Inbox, NewRow, Outbox, Turns } from "@parley/store";
import type { AskUser } from "@parley/tools";
import { internalRow } from "../internal-row.ts";
import { answerer, endedCards, questionCard } from "./question-card.ts";
import { newQuestion, type AskingOptions } from "./new-question.ts";
import { questionStore, type KeptQuestion, type QuestionEnd } from "./question-store.ts";
import { chosenAnswer, questionId, type Question } from "./question.ts";

/** Who answers: `<channel>:<id>`, the name that is shown, and whether it is an owner now. */
interface Answerer {
  readonly person: string;
  readonly name: string;
  readonly owner: boolean;
}

export interface Questions extends AskUser {
  /**
   * Stores the answer and wakes the turn. Returns the words for whoever answered. Throws Fault: "missing",
   * "denied", "invalid" for an empty one, or "conflict" when the question has ended before.
   */
  answer(id: string, text: string, by: Answerer): Promise<string>;
  /**
   * The id of the open question that a bare number from this person answers here; null when there is none.
   */
  numbered(inbound: Inbound): Promise<string | null>;
  /** Shows open questions of the person in `from` also where their conversation goes on now. */
  follow(session: string, from: Address): Promise<void>;
  /** Ends the open questions of one turn or of a whole session. */
  stop(of: { readonly turn: string } | { readonly session: string }): Promise<number>;
  /** Newest first. */
  list(): Promise<readonly Question[]>;
  /** Finishes what a process left undone when it died between an answer and its row. */
  heal(): Promise<void>;
}

export interface QuestionsOptions extends AskingOptions {
  readonly cells: Pick<Cells, "get" | "put" | "list">;
  readonly inbox: Pick<Inbox, "accept" | "find">;
  readonly outbox: Pick<Outbox, "post">;
  readonly turns: Pick<Turns, "find">;
  readonly placeOf: PlaceOf;
  readonly log: Log;
}

/** The store keeps rows longer than this, so it still recognizes a repeated row. */
const healWithinMs = 86_400_000;
const mostAnswerChars = 8_000;

export function createQuestions(options: QuestionsOptions): Questions {
  const { inbox, outbox, turns, sessions, clock, log } = options;
  const book = questionStore(options.cells, clock);

  const mayAnswer = ({ people, owner }: Question, by: Answerer): boolean =>
    people.includes(by.person) || (owner && by.owner);

  async function end(kept: KeptQuestion, how: QuestionEnd): Promise<KeptQuestion | null> {
    const ended = await book.end(kept, how);
    if (ended !== null) await outbox.post(endedCards(ended.question));
    return ended;
  }

  /** Marks an open question whose time is over as expired. */
  async function current(kept: KeptQuestion): Promise<KeptQuestion> {
    const { question } = kept;
    if (question.state !== "open" || clock.now() < question.expiresAtMs) return kept;
    return (await end(kept, { state: "expired" })) ?? (await book.get(question.id)) ?? kept;
  }

  /** Ends a question whose turn is over, or whose conversation has begun anew. */
  async function stillMeant(kept: KeptQuestion): Promise<KeptQuestion> {
    const { question } = kept;
    if (question.state !== "open") return kept;
    const [turn, session] = await Promise.all([turns.find(question.turn), sessions.open(question.session)]);
    const waits = turn !== null && turn.state !== "done" && turn.stop === null;
    if (waits && session.epoch === question.epoch) return kept;
    return (await end(kept, { state: "stopped" })) ?? (await book.get(question.id)) ?? kept;
  }

  async function finish(question: Question): Promise<void> {
    const row = await wakingRow(question);
    if (row !== null) await inbox.accept([row]);
    await outbox.post(endedCards(question));
  }

  async function wakingRow(question: Question): Promise<NewRow | null> {
    const { id, turn, answer } = question;
    const [began] = await inbox.find({ turn, limit: 1 });
    if (began === undefined || answer === undefined) return null;
    const text = `The question ${JSON.stringify(question.question)} was answered by ${answerer(answer)}: ${answer.text}`;
    const row = internalRow(began, `question:${id}`, text, { kind: "question", id, turn }, clock.now());
    return { ...row, subject: `ticket:${id}`, as: { kind: "work", ticket: id } };
  }

  return {
    async ask(scope, request) {
      const id = questionId(scope.turn, scope.callId);
      const ticket = { ticket: id, untilMs: clock.now() + request.minutes * 60_000 };
      const found = await book.get(id);
      if (found === null) {
        const question = await newQuestion(options, scope, request, { id, untilMs: ticket.untilMs });
        const asked = await shown(question);
        return { text: written(question), effects: asked, waitsFor: ticket };
      }
      const kept = await current(found);
      const { question } = kept;
      const { state, answer } = question;
      if (state === "answered" && answer !== undefined)
        return { text: `Answered by ${answerer(answer)}: ${answer.text}` };
      if (state === "expired") return { text: "Nobody answered in time. Go on without the answer, or end." };
      if (state !== "open") return { text: "The question was withdrawn before anybody answered." };
      return {
        text: written(question),
        effects: {
          cells: [book.ending(kept, { state: "written" })],
          deliveries: endedCards({ ...question, state: "written" }),
        },
        waitsFor: { ...ticket, untilMs: question.expiresAtMs },
      };

      async function shown(question: Question) {
        const address = parseConversationKey(question.conversation);
        const channel = options.channel(accountKey(address));
        const { delivery, cells } = questionCard(
          question,
          { forms: channel?.capabilities.forms === true },
          await previewIn(scope.turn),
        );
        return { deliveries: [delivery], cells: [book.asking(question), ...cells] };
      }
    },
    async answer(id, text, by) {
      const found = await book.get(id.trim().toLowerCase());
      if (found === null)
        throw new Fault("missing", `there is no question ${JSON.stringify(id.slice(0, 40))}`);
      if (!mayAnswer(found.question, by)) {
        log.info({ question: found.question.id, by: by.person }, "somebody answered a question for others");
        throw new Fault("denied", "this question is not for you");
      }
      const kept = await stillMeant(await current(found));
      const { question } = kept;
      const said = chosenAnswer(question, text);
      if (question.state !== "open") {
        // A platform repeats a press when our answer may have been lost, so the follow-up is done again.
        if (question.answer?.by !== by.person || question.answer.text !== said)
          throw new Fault("conflict", endedWords(question));
        await finish(question);
        return "Thank you, noted.";
      }
      if (said === "") throw new Fault("invalid", `write the answer behind the id: /answer ${question.id} …`);
      if (said.length > mostAnswerChars)
        throw new Fault("invalid", `an answer has at most ${mostAnswerChars} characters`);
      const answer = { text: said, by: by.person, name: by.name };
      const ended = await book.end(kept, { state: "answered", answer });
      if (ended === null)
        throw new Fault("conflict", endedWords((await book.get(question.id))?.question ?? question));
      log.info({ question: question.id, session: question.session, by: by.person }, "question answered");
      await finish(ended.question);
      return "Thank you, noted.";
    },
    async numbered({ kind, text, channel, sender, address }) {
      if (kind !== "message" || !/^\s*\d{1,2}\s*$/.test(text)) return null;
      if (options.channel(accountKey(address))?.capabilities.inlineButtons !== false) return null;
      const person = `${channel}:${sender.id}`;
      const place = (at: Address): string => JSON.stringify([at.channel, at.account, at.peer, at.thread]);
      const here = place(address);
      const found = (await book.list()).find(({ question }) => {
        const shownIn = [...(question.numbered ? [question.conversation] : []), ...(question.followed ?? [])];
        return (
          question.state === "open" &&
          Number(text) >= 1 &&
          Number(text) <= question.options.length &&
          question.people.includes(person) &&
          shownIn.some((key) => place(parseConversationKey(key)) === here)
        );
      });
      return found?.question.id ?? null;
    },
    async follow(session, from) {
      const to = options.placeOf(session, from);
      const channel = to === null ? null : options.channel(accountKey(to));
      if (to === null || channel === null) return;
      const place = conversationKey(to);
      for (const found of await book.list()) {
        if (found.question.session !== session) continue;
        const kept = await stillMeant(await current(found));
        const { question } = kept;
        const isThere = question.conversation === place || question.followed?.includes(place) === true;
        // What others were asked in a session that people share is not shown to this one (I6).
        const isTheirs = options.placeOf(session, parseConversationKey(question.conversation)) !== null;
        if (question.state !== "open" || question.conversation === place || !isTheirs) continue;
        const moved = isThere ? kept : await book.follow(kept, place);
        if (moved === null) continue;
        const { capabilities } = channel;
        const copy = { ...moved.question, conversation: place };
        const { delivery, cells } = questionCard(copy, { forms: capabilities.forms }, null);
        for (const { key, value, ttlMs } of cells)
          await options.cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
        await outbox.post([delivery]);
      }
    },
    async stop(of) {
      let stopped = 0;
      for (const kept of await book.list()) {
        const { question } = kept;
        const isMeant = "turn" in of ? question.turn === of.turn : question.session === of.session;
        if (question.state !== "open" || !isMeant) continue;
        if ((await end(kept, { state: "stopped" })) !== null) stopped += 1;
      }
      return stopped;
    },
    async list() {
      return (await Promise.all((await book.list()).map(current))).map(({ question }) => question);
    },
    async heal() {
      for (const kept of await book.list()) {
        const { question } = await stillMeant(await current(kept));
        const isFresh = clock.now() - (question.endedAtMs ?? 0) < healWithinMs;
        if (!isFresh || question.state === "open") continue;
        if (question.state === "answered") await finish(question);
        else await outbox.post(endedCards(question));
      }
    },
  };

  /** The delivery of the turn's growing answer, whose place the question takes; null when there is none. */
  async function previewIn(turn: string): Promise<string | null> {
    const view = await turns.find(turn);
    const marks = (view?.log ?? []).flatMap((step) =>
      step.kind === "preview"
        ? [JSON.parse(step.body) as { readonly delivery: string; readonly said?: string }]
        : [],
    );
    return marks.findLast(({ said }) => said === undefined)?.delivery ?? null;
  }
}

/** What the model is told when somebody writes to the conversation while the question is open. */
function written({ options }: Question): string {
  const numbers = options.map((option, index) => `${index + 1}. ${option}`).join("; ");
  return `Nobody chose, and somebody wrote a message, which follows: read it as the answer if it is one. The question is closed.${numbers === "" ? "" : ` The options were: ${numbers}.`}`;
}

function endedWords({ state, answer }: Question): string {
  if (state === "answered" && answer !== undefined)
    return `this was answered before by ${answerer(answer)}: ${answer.text}`;
  const words = {
    open: "it is being answered by somebody else just now",
    answered: "it was answered before",
    expired: "the time to answer is over",
    stopped: "what asked this has ended",
    written: "this was answered by a message",
  } as const;
  return words[state];
}
