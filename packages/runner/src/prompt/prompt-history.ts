// Stores every turn's prompt, so that an old one can be shown exactly: texts and reports once by their hash,
// and only hashes for each turn. The turn's own commit writes them; a text is rewritten only when half of its
// lifetime is over. Entries are bounded by time and number (I9).
import { hashOf, type CompiledPrompt, type PromptExplanation } from "@parley/agent";
import { conversationKey, type Clock, type Json } from "@parley/protocol";
import type { Cells, CellWrite, Session } from "@parley/store";
import type { Place } from "@parley/access";

/** The hashes of one turn's prompt. */
export interface PromptRecord {
  /** The turn's number in its session, from 1. */
  readonly n: number;
  readonly turn: string;
  readonly atMs: number;
  readonly conversation?: string;
  readonly guild?: string;
  readonly parent?: string;
  readonly stable: string;
  readonly volatile: string;
  readonly report: string;
}

/** The session's record of its last turn's prompt. */
interface LastPrompt {
  readonly n: number;
  readonly stable: string;
  readonly tools: string;
  readonly volatile: string;
  readonly report: string;
  /** When these texts were last written. */
  readonly keptAtMs: number;
}

/** The part of a turn's commit that stores its prompt. */
export interface PromptNote {
  readonly cells: readonly CellWrite[];
  readonly patch: { readonly [field: string]: Json };
  /** The caller calls this once the commit is durable. */
  committed(): void;
}

export interface PromptHistory {
  note(
    turn: string,
    place: Place,
    session: Session,
    prompt: CompiledPrompt,
    explanation: PromptExplanation,
  ): PromptNote;
  /** Returns the last turn's record; null before the first. */
  last(session: Session): LastPrompt | null;
  /** Returns the oldest first; records past the bounds are gone. */
  turns(session: string): Promise<readonly PromptRecord[]>;
  /** Returns null when the text expired. */
  text(
    record: Pick<PromptRecord, "stable" | "volatile">,
  ): Promise<{ readonly stable: string; readonly volatile: string } | null>;
  explanation(record: Pick<PromptRecord, "report">): Promise<PromptExplanation | null>;
}

const dayMs = 86_400_000;
/** The store keeps rows and turns as long. */
const recordTtlMs = 5 * dayMs;
/**
 * More than twice that, so that a text written half of its lifetime ago outlives the records that name it.
 */
const textTtlMs = 14 * dayMs;
const renewAfterMs = 7 * dayMs;
/** Turns of one session that can be shown. */
export const turnsKept = 500;
/** Hashes that this process remembers having written. */
const mostKnown = 4_096;

const field = "prompt";
const textKey = (hash: string): string => `prompt:text:${hash}`;
/** A session key contains no "/", so a prefix never finds another session's turns. */
const turnPrefix = (session: string): string => `prompt:turn:${session}/`;
const turnKey = (session: string, n: number): string => `${turnPrefix(session)}${String(n).padStart(9, "0")}`;

export function promptHistory(cells: Pick<Cells, "get" | "list">, clock: Clock): PromptHistory {
  const written = new Map<string, number>();

  function isFresh(hash: string, last: LastPrompt | null): boolean {
    const bySession =
      last !== null && [last.stable, last.volatile, last.report].includes(hash) ? last.keptAtMs : 0;
    return clock.now() - Math.max(written.get(hash) ?? 0, bySession) < renewAfterMs;
  }

  function remember(hash: string): void {
    written.delete(hash);
    written.set(hash, clock.now());
    const [oldest] = written.keys();
    if (written.size > mostKnown && oldest !== undefined) written.delete(oldest);
  }

  async function read(hash: string): Promise<string | null> {
    return hash === "" ? "" : ((await cells.get(textKey(hash)))?.value ?? null);
  }

  return {
    note(turn, { address, guild, parent }, session, prompt, explanation) {
      const last = lastOf(session);
      const n = (last?.n ?? 0) + 1;
      const reportText = JSON.stringify(explanation);
      const hashes = {
        stable: prompt.stableHash,
        volatile: volatileHash(prompt),
        report: hashOf(reportText),
      };
      const texts = [
        { text: prompt.stable, hash: hashes.stable },
        { text: prompt.volatile, hash: hashes.volatile },
        { text: reportText, hash: hashes.report },
      ].filter(({ text }) => text !== "");
      const fresh = texts.filter(({ hash }) => !isFresh(hash, last));
      // The three share one time of writing, that of the oldest.
      const unwritten = texts.filter((text) => !fresh.includes(text));
      const keptAtMs = Math.min(
        clock.now(),
        ...unwritten.map(({ hash }) => written.get(hash) ?? last?.keptAtMs ?? 0),
      );
      const record: PromptRecord = {
        n,
        turn,
        atMs: clock.now(),
        conversation: conversationKey(address),
        ...(guild === undefined ? {} : { guild }),
        ...(parent === undefined ? {} : { parent }),
        ...hashes,
      };
      return {
        cells: [
          ...fresh.map(({ text, hash }) => ({ key: textKey(hash), value: text, ttlMs: textTtlMs })),
          { key: turnKey(session.key, n), value: JSON.stringify(record), ttlMs: recordTtlMs },
          ...(n > turnsKept ? [{ key: turnKey(session.key, n - turnsKept), value: null }] : []),
        ],
        patch: { [field]: { n, tools: toolsHash(explanation), ...hashes, keptAtMs } },
        committed: () => fresh.forEach(({ hash }) => remember(hash)),
      };
    },
    last: lastOf,
    async turns(session) {
      const found = await cells.list(turnPrefix(session), turnsKept + 1);
      return found.map(({ value }) => JSON.parse(value) as PromptRecord);
    },
    async text({ stable, volatile }) {
      const [before, after] = await Promise.all([read(stable), read(volatile)]);
      return before === null || after === null ? null : { stable: before, volatile: after };
    },
    async explanation({ report }) {
      const text = await read(report);
      return text === null ? null : (JSON.parse(text) as PromptExplanation);
    },
  };
}

/** Hashes all schemas that a request carries. */
export function toolsHash({ tools }: Pick<PromptExplanation, "tools">): string {
  return hashOf(tools.map(({ name, hash }) => `${name}:${hash}`).join("\n"));
}

function volatileHash({ volatile }: CompiledPrompt): string {
  return volatile === "" ? "" : hashOf(volatile);
}

function lastOf({ fields }: Session): LastPrompt | null {
  const found = fields[field];
  return typeof found === "object" && found !== null && "stable" in found
    ? (found as unknown as LastPrompt)
    : null;
}
