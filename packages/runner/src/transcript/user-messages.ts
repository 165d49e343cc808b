// Builds from durable rows what the model reads of them. It depends on the rows alone, so that a resumed turn
// builds the same words again.
import { createHash } from "node:crypto";
import { disarmedLine, userMessage, type ToldMessage } from "@parley/agent";
import {
  parseConversationKey,
  parseRowPayload,
  parseSessionKey,
  wordsOf,
  type Inbound,
  type UserEntry,
} from "@parley/protocol";
import type { Row, Turn } from "@parley/store";
import type { StartupNotes } from "../memory/startup-memory.ts";
import { isBacklog } from "../queue/backlog.ts";
import { readDirectives } from "../models/directives.ts";
import type { ReadMessage } from "../media/attachments.ts";
import type { Shortened } from "../queue/overflow.ts";
import { skillWords } from "../skills/skill-call.ts";
import { openingContext, openingRows, speakersOf, wholeRows } from "../turn-rows.ts";
import type { Services } from "../turn-scope.ts";

/** Inputs for the model beside the words of the rows. */
export interface ToldBeside {
  /** Beyond this many opening rows, each of the oldest is told in one line while there is room. */
  readonly cap: number;
  /** Parley's own words to the agent for this turn. */
  readonly notes: readonly string[];
  /** Recent daily notes, for the first message of a new conversation; null for any other. */
  readonly startup: StartupNotes | null;
  /** Returns a message with its files. */
  readonly read: (row: Row) => ReadMessage;
  /** SKILL.md texts by the name of the called skill, where the agent has no tool to read them. */
  readonly skillBodies: ReadonlyMap<string, string>;
}

/** Adds nothing, so that files are told by the platform's description. */
export const toldAlone: Omit<ToldBeside, "cap"> = {
  notes: [],
  startup: null,
  read: (row) => ({ inbound: parseRowPayload(row.payload).inbound, images: [] }),
  skillBodies: new Map(),
};

export interface TurnMessages {
  /** Built on first use, because the files are there by then. */
  readonly opening: readonly UserEntry[];
  /** Counts the opening rows that it shortens; null when it holds all of them whole. */
  readonly shortened: Shortened | null;
  /** For rows that are absorbed later. */
  entryOf(row: Row): UserEntry;
}

/** All lines of a flood together, some eight thousand tokens. */
const earlierChars = 32_000;
/** A line is never shorter than this. */
const leastLineChars = 160;

export function turnMessages(
  { bootAtMs }: Pick<Services, "bootAtMs">,
  turn: Turn,
  { cap, notes, startup, read, skillBodies }: ToldBeside,
): TurnMessages {
  const rows = openingRows(turn);
  const [told, others] = apart(openingContext(turn));
  const context = withoutShown(others, rows);
  const shared = parseConversationKey(turn.conversation).kind !== "dm";
  const isOfMany = !shared && parseSessionKey(turn.lane).kind === "main";
  const mark = createHash("sha256").update(turn.id).digest("hex").slice(0, 12);
  const inboundOf = (row: Row): Inbound => parseRowPayload(row.payload).inbound;

  const asCalled = (row: Row): ReadMessage => {
    const message = read(row);
    const { inbound, skill } = parseRowPayload(row.payload);
    // When the skill's command runs a tool, no model reads the message before the tool has answered.
    if (skill === undefined || skill.tool !== undefined) return message;
    const words = skillWords(skill, skillBodies.get(skill.name));
    return {
      ...message,
      inbound: { ...message.inbound, text: `${words}${message.inbound.text.slice(inbound.text.length)}` },
    };
  };

  const entry = (rows: readonly Row[], more: Partial<Parameters<typeof userMessage>[0]>): UserEntry => {
    const messages = rows.map(asCalled);
    const images = messages.flatMap((message) => message.images);
    const documents = messages.flatMap((message) => message.documents ?? []);
    const announced = new Set(rows.flatMap((row) => (isInternal(row) ? [inboundOf(row).id] : [])));
    const { content } = userMessage({
      rows: messages.map((message) => asFirstRead(message.inbound)),
      images,
      documents,
      announced,
      shared,
      mark,
      ...more,
    });
    // These are the ids of the rows, because a message edited while it waited has the id of the edit.
    const by = isOfMany ? speakersOf(rows).senders : [];
    const source = rows.map(untrustedIn).find((each) => each !== undefined);
    return {
      type: "user",
      content,
      rows: rows.map((row) => row.id),
      ...(by.length === 0 ? {} : { by }),
      ...(source === undefined ? {} : { untrusted: source }),
      atMs: rows.at(-1)?.acceptedAtMs ?? 0,
    };
  };

  const whole = wholeRows(rows, cap);
  const earlier = rows.flatMap((row) => {
    if (whole.includes(row)) return [];
    const inbound = inboundOf(row);
    const words = [wordsOf(inbound), ...inbound.attachments.map(({ kind }) => `[${kind}]`)].join(" ");
    return [{ inbound, words }];
  });
  const lineChars = Math.max(leastLineChars, Math.floor(earlierChars / Math.max(1, earlier.length)));
  const cut = earlier.filter(
    ({ inbound, words }) => words.length > lineChars || inbound.attachments.length > 0,
  ).length;

  let opening: readonly UserEntry[] | null = null;
  const openingEntries = (): readonly UserEntry[] => {
    const away = rows.some((row) => isBacklog(inboundOf(row), bootAtMs, row.acceptedAtMs));
    const built = entry([...told, ...whole], {
      ...(context.length === 0 ? {} : { context: context.map(inboundOf) }),
      ...(away ? { away: true } : {}),
      ...(startup === null ? {} : { startup: startup.text }),
      notes,
      earlier: earlier.map(({ inbound, words }) => ({
        name: inbound.sender.name,
        words: disarmedLine(words, lineChars),
      })),
    });
    const untrusted = built.untrusted ?? startup?.untrusted;
    return [{ ...built, rows: rows.map((row) => row.id), ...(untrusted === undefined ? {} : { untrusted }) }];
  };

  return {
    shortened: cut === 0 ? null : { cut, chars: lineChars, whole: cap },
    get opening() {
      return (opening ??= openingEntries());
    },
    entryOf: (row) => entry([row], {}),
  };
}

/**
 * Hides that a message was edited, because an edit joins a turn only in place of unread words. Directives are
 * for Parley and not for the model.
 */
function asFirstRead(inbound: ToldMessage): ToldMessage {
  const { text } = readDirectives(inbound.text);
  const isBare = inbound.attachments.length === 0 && inbound.enclosed === undefined;
  const said = text.trim() === "" && isBare ? inbound.text : text;
  return { ...inbound, text: said, ...(inbound.kind === "edit" ? { kind: "message" as const } : {}) };
}

/** Rows that Parley wrote, which begin no turn, and what people wrote to others. */
function apart(context: readonly Row[]): readonly [readonly Row[], readonly Row[]] {
  return [context.filter(isInternal), context.filter((row) => !isInternal(row))];
}

/** Without the wordless parts of an album whose files the message that called the agent brings. */
function withoutShown(context: readonly Row[], rows: readonly Row[]): readonly Row[] {
  const filesOf = ({ payload }: Row): Inbound["attachments"] => parseRowPayload(payload).inbound.attachments;
  const brought = new Set(rows.flatMap(filesOf).map(({ ref }) => ref));
  return context.filter((row) => {
    const files = filesOf(row);
    const { text, groupId } = parseRowPayload(row.payload).inbound;
    const isShown = files.length > 0 && files.every(({ ref }) => brought.has(ref));
    return groupId === undefined || text !== "" || !isShown;
  });
}

function isInternal({ payload }: Row): boolean {
  return parseRowPayload(payload).internal !== undefined;
}

/** Where text of strangers in a row is from; undefined for people's own words. */
function untrustedIn(row: Row): string | undefined {
  const { inbound, internal } = parseRowPayload(row.payload);
  // A webhook's sender is named by its agent and itself.
  return internal?.untrusted ?? (inbound.channel === "hook" ? `the webhook ${inbound.sender.id}` : undefined);
}
