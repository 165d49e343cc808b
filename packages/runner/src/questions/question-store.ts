// Stores each question in a cell. Every change of state is a compare-and-set, so that of two people who
// answer at once one is first and the other is told so. Entries are bounded by time (I9).
import type { Clock, ConversationKey } from "@parley/protocol";
import type { Cell, Cells, CellWrite } from "@parley/store";
import { formatQuestion, idAlphabet, parseQuestion, type Question } from "./question.ts";

export interface KeptQuestion {
  readonly question: Question;
  readonly version: number;
}

export interface QuestionStore {
  get(id: string): Promise<KeptQuestion | null>;
  /** The write that stores a new question, as part of a call's effects. */
  asking(question: Question): CellWrite;
  /** The same for the end of a question, which the store refuses when it has ended meanwhile. */
  ending(kept: KeptQuestion, end: QuestionEnd): CellWrite;
  /** Notes another place where the question is shown. Returns null when it has ended meanwhile. */
  follow(kept: KeptQuestion, place: ConversationKey): Promise<KeptQuestion | null>;
  /** Returns null when the question has ended meanwhile. */
  end(kept: KeptQuestion, end: QuestionEnd): Promise<KeptQuestion | null>;
  /** Newest first. */
  list(): Promise<readonly KeptQuestion[]>;
}

export interface QuestionEnd {
  readonly state: Exclude<Question["state"], "open">;
  readonly answer?: Question["answer"];
}

const prefix = "question:";
/** Operators may ask this long afterwards who answered what. */
const lifeMs = 7 * 86_400_000;
/** What a store gives at once; more are listed by the letters that their ids begin with. */
const mostListed = 1_000;

export function questionStore(cells: Pick<Cells, "get" | "put" | "list">, clock: Clock): QuestionStore {
  const read = (cell: { readonly value: string; readonly version: number }): KeptQuestion => ({
    question: parseQuestion(cell.value),
    version: cell.version,
  });
  const under = async (start: string): Promise<readonly Cell[]> => {
    const found = await cells.list(start, mostListed);
    if (found.length < mostListed) return found;
    return (await Promise.all(idAlphabet.split("").map((letter) => under(start + letter)))).flat();
  };
  const replace = async ({ version }: KeptQuestion, question: Question): Promise<KeptQuestion | null> => {
    const written = { expect: version, ttlMs: lifeMs };
    const cell = await cells.put(prefix + question.id, formatQuestion(question), written);
    return cell === null ? null : read(cell);
  };
  const ended = ({ question }: KeptQuestion, end: QuestionEnd): Question => ({
    ...question,
    ...end,
    endedAtMs: clock.now(),
  });

  return {
    async get(id) {
      const cell = await cells.get(prefix + id);
      return cell === null ? null : read(cell);
    },
    asking: (question) => ({
      key: prefix + question.id,
      value: formatQuestion(question),
      ttlMs: lifeMs,
      expect: 0,
    }),
    ending: (kept, end) => ({
      key: prefix + kept.question.id,
      value: formatQuestion(ended(kept, end)),
      ttlMs: lifeMs,
      expect: kept.version,
    }),
    follow: (kept, place) =>
      replace(kept, { ...kept.question, followed: [...(kept.question.followed ?? []), place] }),
    end: (kept, end) => replace(kept, ended(kept, end)),
    async list() {
      const found = (await under(prefix)).map(read);
      return found.toSorted((a, b) => b.question.createdAtMs - a.question.createdAtMs);
    },
  };
}
