// Decides of every stored record whether it goes with a person, stays, or stays without them. Pure: looking
// and forgetting decide the same.
import type { Entry, ImageContent, TextContent } from "@parley/protocol";
import { holdsPersonName, holdsWords, isIdentifier, isOneToken } from "@parley/memory";
import { addUsed, noneUsed, type Used } from "@parley/runner";
import type { StoredRecord, Verdict } from "@parley/store";
import { removedMark, type PersonMarks } from "./person.ts";
import { cutSaidBy } from "./said-by.ts";
import { inboundIn, jsonIn, keyIn, type Survey } from "./survey.ts";

/** Quoted words of this length are theirs wherever they stand; shorter ones only where they spoke. */
const tellingChars = 24;
/** Cells of running processes, and of the store itself. */
const machinery = /^(?:leader|node|menu|move):/;

export function belongings(marks: PersonMarks, survey: Survey, mediaCells: ReadonlySet<string>) {
  const telling = survey.words.filter((each) => each.length >= tellingChars);
  const ownTurn = (turn: string): boolean => survey.turns.has(turn) || survey.rows.has(turn);
  const ownLane = (lane: string): boolean =>
    survey.sessions.has(lane) || marks.ownsSession(lane) || marks.ownsPlace(lane);

  const spokeNear = (conversation: string, cause: string): boolean =>
    survey.spokeAt.has(conversation) || survey.spokeIn.has(cause.split("#")[0] ?? "");

  /**
   * `spoke`: they wrote in that place, so their names and short words there mean them. Whoever wrote
   * "message" there, or is called so, takes no name of a field or a kind along.
   */
  const cleaning =
    (spoke: boolean) =>
    (text: string, holds: Holds): string => {
      let clean = text;
      if (holds === "words" || (holds === "any" && !isOneToken(text)))
        for (const words of spoke ? survey.words : telling) clean = clean.replaceAll(words, removedMark);
      if (spoke && holds !== "field" && (holds !== "any" || !isIdentifier(text)))
        for (const name of survey.names) clean = clean.replace(wholeWord(name), removedMark);
      return marks.without(clean);
    };

  const cleanedTexts = (texts: StoredRecord["texts"], spoke: boolean): Verdict => {
    const after = Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, cleanedJson(text, cleaning(spoke))]),
    );
    return Object.entries(after).some(([name, text]) => text !== texts[name]) ? after : "keep";
  };

  const row = ({ id, lane, conversation, turn, texts }: StoredRecord): Verdict => {
    if (survey.rows.has(id) || ownLane(lane) || marks.ownsPlace(conversation) || ownTurn(turn))
      return "remove";
    const inbound = inboundIn(texts["payload"] ?? "");
    if (inbound === null && marks.names(texts["payload"] ?? "")) return "remove";
    return cleanedTexts(texts, survey.spokeIn.has(lane));
  };

  const entry = ({ lane, turn, texts }: StoredRecord): Verdict => {
    if (ownLane(lane)) return "remove";
    const spoke = survey.spokeIn.has(lane);
    const body = texts["body"] ?? "";
    const read = jsonIn(body) as Entry | null;
    // A summary is made anew from the entries that are left.
    if (spoke && read?.type === "summary") return "remove";
    const parts = keyIn(lane);
    if (read?.type === "user" && parts !== null && "channel" in parts && parts.kind !== "dm") {
      const channel = parts.channel;
      let isLeft = false;
      const content = read.content.flatMap((part): readonly (TextContent | ImageContent)[] => {
        if (part.type !== "text") return ownTurn(turn) ? [] : [part];
        const cut = cutSaidBy(part.text, (id) => marks.isId(channel, id), survey.names);
        isLeft ||= /^\[from "/m.test(cut.text);
        return [{ ...part, text: cut.text }];
      });
      if (ownTurn(turn) && !isLeft) return "remove";
      const after = cleanedJson(JSON.stringify({ ...read, content }), cleaning(spoke));
      return after === body ? "keep" : { body: after };
    }
    if (ownTurn(turn)) return "remove";
    return cleanedTexts(texts, spoke);
  };

  const delivery = ({ lane, turn, texts }: StoredRecord): Verdict => {
    if (ownLane(lane) || ownTurn(turn)) return "remove";
    return cleanedTexts(texts, spokeNear(lane, turn));
  };

  const cell = ({ id, texts }: StoredRecord): Verdict => {
    const text = texts["value"] ?? "";
    if (machinery.test(id)) return "keep";
    // Ids there may be too short, or written in other signs, to be known among other words.
    if (/^pair(?:ed|ing):/.test(id)) {
      const { channel = "", senderId = "" } = (jsonIn(text) ?? {}) as { [name: string]: string | undefined };
      return marks.isId(channel, senderId) ? "remove" : "keep";
    }
    const isOfTurn = [...textsOf(jsonIn(text), "turn")].some(ownTurn);
    if (marks.names(id) || [...survey.sessions].some((key) => id.includes(key)) || mediaCells.has(id))
      return "remove";
    if (/^(?:cronrun|cronhook|job):/.test(id) && survey.jobs.has(id.split(":")[1] ?? "")) return "remove";
    if (id.startsWith("prompt:text:"))
      return marks.names(text) || cleaning(false)(text, "words") !== text ? "remove" : "keep";
    if (isOfTurn) return "remove";
    if (id.startsWith("auth:")) {
      const [peer] = textsOf(jsonIn(text), "peer");
      return peer !== undefined && marks.isId("web", peer) ? "remove" : "keep";
    }
    if (id.startsWith("usage/")) return usageWithout(text, marks);
    if (id.startsWith("memory-note:")) return noteWithout(text, marks);
    if (id.startsWith("approval:") || id.startsWith("question:")) {
      const [session] = textsOf(jsonIn(text), "session");
      const value = jsonIn(text) as { askedBy?: readonly string[] } | null;
      if (survey.sessions.has(session ?? "") || value?.askedBy?.every((by) => marks.names(by)) === true)
        return "remove";
    }
    if (marks.namesPlace(text) || [...survey.sessions].some((key) => text.includes(key))) return "remove";
    if (id === "owner:first" && marks.names(text)) return "remove";
    return cleanedTexts(texts, false);
  };

  const session = ({ id, texts }: StoredRecord): Verdict => {
    if (ownLane(id)) return "remove";
    const fields = jsonIn(texts["fields"]) as { [name: string]: unknown } | null;
    if (fields === null) return "keep";
    const kept = Object.fromEntries(
      Object.entries(fields).filter(([, value]) => !marks.namesPlace(JSON.stringify(value))),
    );
    const before = texts["fields"] ?? "";
    const after = cleanedJson(JSON.stringify(kept), cleaning(survey.spokeIn.has(id)));
    return after === before ? "keep" : { fields: after };
  };

  return (record: StoredRecord): Verdict => {
    switch (record.kind) {
      case "session":
        return session(record);
      case "row":
        return row(record);
      case "turn":
        return ownLane(record.lane) || marks.ownsPlace(record.conversation) || ownTurn(record.id)
          ? "remove"
          : "keep";
      case "step":
        return ownLane(record.lane) || ownTurn(record.turn)
          ? "remove"
          : cleanedTexts(record.texts, survey.spokeIn.has(record.lane));
      case "entry":
        return entry(record);
      case "delivery":
      case "part":
        return delivery(record);
      case "event":
        if (ownLane(record.lane) || marks.namesPlace(record.texts["body"] ?? "")) return "remove";
        return cleanedTexts(record.texts, false);
      case "cell":
        return cell(record);
      case "lane":
        return ownLane(record.id) ? "remove" : "keep";
    }
  };
}

/** What a text of a stored document is: words, what somebody is called, the name of a field, or not known. */
type Holds = "words" | "name" | "field" | "any";

/**
 * Changes the texts of a stored document, and of documents inside it. `inArgs`: with these a model called a
 * tool, which may hand on any word as it was said.
 */
function cleanedJson(
  stored: string,
  clean: (text: string, holds: Holds) => string,
  inArgs: boolean = false,
): string {
  const document = jsonIn(stored);
  if (typeof document !== "object" || document === null) return clean(stored, inArgs ? "words" : "any");
  let isChanged = false;
  const within = (value: unknown, holds: Holds, isArg: boolean): unknown => {
    if (typeof value === "string") {
      const after = /^\s*[[{]/.test(value)
        ? cleanedJson(value, clean, isArg)
        : clean(value, isArg ? "words" : holds);
      isChanged ||= after !== value;
      return after;
    }
    if (Array.isArray(value)) return value.map((each) => within(each, holds, isArg));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([field, each]) => {
        const after = clean(field, "field");
        isChanged ||= after !== field;
        return [after, within(each, heldBy(field, value), isArg || field === "args")];
      }),
    );
  };
  const after = within(document, "any", inArgs);
  return isChanged ? JSON.stringify(after) : stored;
}

function heldBy(field: string, holder: object): Holds {
  if (holdsWords(field)) return "words";
  // The name of a call is its tool's.
  return holdsPersonName(field) && !("type" in holder) ? "name" : "any";
}

function wholeWord(name: string): RegExp {
  const plain = name.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  return new RegExp(String.raw`(?<![\p{L}\p{N}_])${plain}(?![\p{L}\p{N}_])`, "gu");
}

/** Values of this field anywhere in a document. */
function* textsOf(value: unknown, field: string): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, each] of Object.entries(value)) {
    if (name === field && typeof each === "string") yield each;
    else yield* textsOf(each, field);
  }
}

type Line = Used & { readonly channel: string; readonly person: string; readonly model: string };

/** What was spent stays, because the caps count it; for whom does not. */
function usageWithout(text: string, marks: PersonMarks): Verdict {
  const value = jsonIn(text) as { readonly lines?: readonly Line[] } | null;
  if (value?.lines?.some(({ person }) => marks.names(person)) !== true) return "keep";
  const sums = new Map<string, Line>();
  for (const line of value.lines) {
    const { channel, model } = line;
    const person = marks.names(line.person) ? "others" : line.person;
    const key = JSON.stringify([channel, person, model]);
    sums.set(key, { channel, person, model, ...addUsed(sums.get(key) ?? noneUsed, line) });
  }
  return { value: JSON.stringify({ ...value, lines: [...sums.values()] }) };
}

/** Who had a line of the notes written. */
function noteWithout(text: string, marks: PersonMarks): Verdict {
  const value = jsonIn(text) as { readonly by?: readonly string[]; readonly session?: string } | null;
  if (value?.by === undefined) return "keep";
  const by = value.by.filter((each) => !marks.names(each));
  if (by.length === value.by.length) return marks.namesPlace(text) ? "remove" : "keep";
  return by.length === 0 || marks.namesPlace(text) ? "remove" : { value: JSON.stringify({ ...value, by }) };
}
