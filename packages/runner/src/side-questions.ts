// Answers questions beside a conversation (/btw): one model call that sees what was said so far, without
// tools and without a trace in the transcript. The question is stored before anybody waits for it, so that a
// process that dies leaves it to the next one; spending caps count it like a turn.
import type { Speakers } from "@parley/access";
import { liveHistory, offeredSchemas, replyParser, viewOf, type Redaction } from "@parley/agent";
import {
  conversationKey,
  deadline,
  formatRowPayload,
  isFault,
  noUsage,
  type Clock,
  type Inbound,
  type Log,
  type SessionKey,
} from "@parley/protocol";
import { senderId } from "@parley/access";
import { textDelivery } from "@parley/delivery";
import type { Cells, Outbox, Row, Sessions } from "@parley/store";
import { sessionHistory } from "./transcript/history.ts";
import type { TurnPreparer } from "./prepare-turn.ts";
import { storeSpent } from "./usage/beside-turn.ts";
import type { SpendLimits } from "./usage/spend-limits.ts";

interface SideQuestion {
  readonly inbound: Inbound;
  readonly args: string;
  readonly route: { readonly agent: string; readonly session: SessionKey };
  readonly owner: boolean;
  readonly authority: string;
}

export interface SideQuestions {
  /** Returns what is said at once: null when the answer comes later, else why there is none. */
  ask(question: SideQuestion): Promise<string | null>;
  /** Answers what a process that died left. */
  heal(): Promise<void>;
}

export interface SideQuestionsOptions {
  readonly cells: Pick<Cells, "get" | "put" | "list" | "remove">;
  readonly outbox: Pick<Outbox, "post">;
  readonly sessions: Sessions;
  readonly turnPreparer: Pick<TurnPreparer, "forTurn">;
  readonly ledger: SpendLimits;
  readonly redaction: Redaction;
  readonly clock: Clock;
  readonly log: Log;
}

interface Stored extends SideQuestion {
  /** Processes that began to answer it. */
  readonly tries: number;
}

const prefix = "btw:";
const lifeMs = 3_600_000;
const timeoutMs = 180_000;
/** A question in which processes die is not tried for ever. */
const mostTries = 2;
const mostAtOnce = 8;

export function createSideQuestions(options: SideQuestionsOptions): SideQuestions {
  const { cells, outbox, sessions, turnPreparer, ledger, clock, log } = options;
  /** Sessions whose side question is being answered here. */
  const busy = new Set<string>();

  function begin(question: Stored): void {
    const { inbound, route } = question;
    busy.add(route.session);
    answer(question)
      .catch((error: unknown) => {
        // The cell is still there, so the next start answers.
        log.warn({ rows: [inbound.id], error }, "a side question could not be answered");
      })
      .finally(() => busy.delete(route.session));
  }

  async function answer(question: Stored): Promise<void> {
    const { inbound, tries } = question;
    const key = prefix + inbound.id;
    const isHopeless = tries >= mostTries;
    if (!isHopeless)
      await cells.put(key, JSON.stringify({ ...question, tries: tries + 1 }), { ttlMs: lifeMs });
    const words = isHopeless ? "⚠️ I could not answer that." : await asked(question);
    const delivery = textDelivery(key, inbound.address, `💭 ${words}`, inbound.id);
    await outbox.post([{ ...delivery, passes: true }]);
    await cells.remove(key);
  }

  async function asked({ inbound, args, route, owner, authority }: Stored): Promise<string> {
    const { address, guild, parent } = inbound;
    const by: Speakers = { owner, senders: [senderId(inbound)] };
    const payload = formatRowPayload({ v: 1, inbound, owner });
    const lane = route.session;
    const conversation = conversationKey(address);
    const row: Row = {
      id: inbound.id,
      seq: 0,
      conversation,
      authority,
      version: 0,
      acceptedAtMs: 0,
      payload,
    };
    const spending = ledger.forTurn(
      { id: prefix + inbound.id, lane, conversation, rows: [row] },
      { beside: true },
    );
    const timeout = deadline(clock, timeoutMs, "a side question");
    try {
      const verdict = await spending.mayCall(noUsage);
      if (!verdict.ok) return verdict.reason;
      const session = await sessions.open(lane);
      const [history, prepared] = await Promise.all([
        sessionHistory(sessions, session, session.epoch),
        turnPreparer.forTurn({
          agent: route.agent,
          session,
          by,
          address,
          ...(guild === undefined ? {} : { guild }),
          ...(parent === undefined ? {} : { parent }),
        }),
      ]);
      const { model, system, tools, thinking } = prepared;
      const text = `A question beside the conversation. Answer it briefly, in words only; it is not remembered.\n\n${args}`;
      const content = [{ type: "text" as const, text }];
      const told = { entry: { type: "user" as const, content, rows: [], atMs: clock.now() } };
      // The summary stands behind the newest entries, which it left word for word.
      const { summary, tail } = liveHistory(history);
      const request = {
        system,
        messages: viewOf([...(summary === null ? [] : [summary]), ...tail, told].map(({ entry }) => entry)),
        tools: offeredSchemas(tools),
        toolChoice: "none" as const,
        thinking,
        cacheKey: lane,
      };
      for await (const event of spending.sideModel(model).stream(request, timeout.signal)) {
        if (event.type !== "end") continue;
        await storeSpent(cells, () => spending.note({ entries: [], usage: event.usage }, model));
        spending.committed();
        if (event.error !== undefined)
          return event.error.kind === "refused" && event.error.message !== ""
            ? event.error.message
            : "⚠️ The model gave no answer.";
        const parser = replyParser({ redaction: options.redaction, finalOnly: prepared.finalOnly() });
        parser.push(event.content.map((part) => (part.type === "text" ? part.text : "")).join(""));
        const outcome = parser.end();
        const parts = outcome.kind === "reply" ? outcome.parts : [];
        const said = parts.flatMap((part) => (part.kind === "text" ? [part.markdown] : [])).join("\n\n");
        return said === "" ? "I have nothing to say to that." : said;
      }
      return "⚠️ The model gave no answer.";
    } catch (error) {
      if (isFault(error, "unavailable") || isFault(error, "ambiguous")) throw error;
      log.error({ rows: [inbound.id], error }, "a side question failed");
      return "⚠️ I could not answer that. The operator can see why in the log.";
    } finally {
      timeout.cancel();
      spending.close();
    }
  }

  return {
    async ask({ inbound, args, route, owner, authority }) {
      if (busy.has(route.session)) return "One question at a time: I am still at the last one.";
      if (busy.size >= mostAtOnce) return "Too many such questions are being answered just now; try again.";
      const question: Stored = { inbound, args, route, owner, authority, tries: 0 };
      await cells.put(prefix + inbound.id, JSON.stringify(question), { expect: 0, ttlMs: lifeMs });
      begin(question);
      return null;
    },
    async heal() {
      for (const { value } of await cells.list(prefix, 100)) {
        const question = JSON.parse(value) as Stored;
        if (!busy.has(question.route.session)) begin(question);
      }
    },
  };
}
