// Looks once through everything that is stored and gathers what belongs to one person: their sessions, turns
// and messages, the names they went by, and the words that others may have quoted.
import {
  parseRowPayload,
  parseSessionKey,
  type Entry,
  type InternalRow,
  type SessionKeyParts,
} from "@parley/protocol";
import type { StoredRecord } from "@parley/store";
import { cutSaidBy, labelOf } from "./said-by.ts";
import type { PersonMarks } from "./person.ts";

export interface Survey {
  /** Sessions that are theirs alone, with the sub-agents and jobs that came of them. */
  readonly sessions: ReadonlySet<string>;
  /** Turns that answered nobody else, wherever they ran. */
  readonly turns: ReadonlySet<string>;
  readonly rows: ReadonlySet<string>;
  readonly jobs: ReadonlySet<string>;
  /** Places of several people in which they wrote. */
  readonly spokeIn: ReadonlySet<string>;
  /** The conversations of these places, as far as rows still say. */
  readonly spokeAt: ReadonlySet<string>;
  /** Names that no other person there bears. */
  readonly names: ReadonlySet<string>;
  /** Their messages word for word, the longest first. */
  readonly words: readonly string[];
  /** References of their attachments, by `<channel>:<account>`. */
  readonly attachments: readonly { readonly account: string; readonly ref: string }[];
  /** What still works on something of theirs. */
  readonly busy: ReadonlySet<string>;
  /** Entries of sessions that several people share in private, too old to know whose they are. */
  readonly unknownEntries: number;
}

interface Turn {
  theirs: number;
  others: number;
}

const leastWordChars = 6;
const taskHead = /Task from session (agent:\S+?):? /;
/** What Parley writes there is no person's, and others are told the same. */
const parleysWords: ReadonlySet<string> = new Set<InternalRow["kind"]>(["approval", "heartbeat", "restart"]);
const parleysEntry = /^\[System Message\] /;

export function surveyor(marks: PersonMarks) {
  const rows = new Set<string>();
  const turns = new Map<string, Turn>();
  const ownTurns = new Set<string>();
  const keys = new Set<string>();
  const parents = new Map<string, string>();
  const jobs = new Set<string>();
  const spokeIn = new Set<string>();
  const spokeAt = new Set<string>();
  const names = new Set<string>();
  const otherNames = new Set<string>();
  const words = new Set<string>();
  const attachments: { account: string; ref: string }[] = [];
  const busy = new Set<string>();
  /** Answers that are still to go out, by the turn that gave them. */
  const leaving = new Map<string, string>();
  /** Who used a session that several may share in private. */
  const users = new Map<string, { theirs: number; others: number }>();
  const unknown = new Map<string, { turn: string }[]>();

  const count = (map: Map<string, Turn>, key: string, isTheirs: boolean): void => {
    const at = map.get(key) ?? { theirs: 0, others: 0 };
    if (isTheirs) at.theirs += 1;
    else at.others += 1;
    map.set(key, at);
  };

  const row = ({ id, lane, conversation, turn, open, texts }: StoredRecord): void => {
    const inbound = inboundIn(texts["payload"] ?? "");
    const isTheirs =
      (inbound !== null && marks.wrote(inbound)) || marks.ownsSession(lane) || marks.ownsPlace(conversation);
    const internal = inbound?.internal ?? null;
    if (turn !== "" && internal === null) count(turns, turn, isTheirs);
    if (internal === null) count(users, lane, isTheirs);
    if (!isTheirs) {
      if (inbound !== null) otherNames.add(labelOf(inbound.sender.name));
      return;
    }
    rows.add(id);
    if (!marks.ownsSession(lane)) spokeIn.add(lane);
    if (!marks.ownsPlace(conversation)) spokeAt.add(conversation);
    if (open && texts["payload"] !== undefined) busy.add(lane);
    if (inbound === null || !marks.wrote(inbound)) return;
    // What Parley does in their name bears its own.
    if (internal === null) names.add(labelOf(inbound.sender.name));
    if (internal === null || !parleysWords.has(internal))
      for (const text of [inbound.text, ...inbound.enclosed]) words.add(text.trim());
    for (const { ref } of inbound.attachments)
      attachments.push({ account: `${inbound.channel}:${inbound.account}`, ref });
  };

  const entry = ({ lane, turn, texts }: StoredRecord): void => {
    const read = jsonIn(texts["body"]) as Entry | null;
    if (read?.type !== "user") return;
    const text = read.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    const parts = keyIn(lane);
    if (parts?.kind === "subagent") {
      const parent = taskHead.exec(text)?.[1];
      if (parent !== undefined && !parents.has(lane)) parents.set(lane, parent);
    }
    if (marks.ownsSession(lane)) {
      if (!parleysEntry.test(text)) words.add(text.trim());
      return;
    }
    if (read.by !== undefined) {
      for (const id of read.by) {
        const isTheirs = marks.names(id);
        count(turns, turn, isTheirs);
        count(users, lane, isTheirs);
      }
      if (read.by.some((id) => marks.names(id))) spokeIn.add(lane);
      return;
    }
    if (parts === null || (parts.kind !== "group" && parts.kind !== "channel")) {
      if (parts?.kind === "main") unknown.set(lane, [...(unknown.get(lane) ?? []), { turn }]);
      return;
    }
    const cut = cutSaidBy(text, (id) => marks.isId(parts.channel, id), names);
    if (cut.isShared) count(turns, turn, false);
    if (cut.said.length === 0) return;
    spokeIn.add(lane);
    for (const name of cut.names) names.add(name);
    for (const each of cut.said) words.add(each);
    if (!cut.isShared) count(turns, turn, true);
  };

  const cell = ({ id, texts }: StoredRecord): void => {
    const value = jsonIn(texts["value"]);
    if (value === null || typeof value !== "object") return;
    if (id.startsWith("child:")) {
      const { session, parent } = value as { session?: string; parent?: string };
      if (typeof session === "string" && typeof parent === "string") parents.set(session, parent);
    } else if (id.startsWith("paired:") || id.startsWith("pairing:")) {
      const { channel, senderId, senderName } = value as { [name: string]: string | undefined };
      const isTheirs = marks.isId(channel ?? "", senderId ?? "");
      if (senderName !== undefined) (isTheirs ? names : otherNames).add(labelOf(senderName));
    } else if (id.startsWith("usage/")) {
      const session = id.split("/")[2] ?? "";
      const { lines = [] } = value as { lines?: readonly { person?: string }[] };
      for (const { person } of lines) if (person !== undefined) count(users, session, marks.names(person));
    } else if (id.startsWith("job:")) {
      const { owner } = value as { owner?: { sender?: string | null; session?: string | null } };
      if (marks.names(owner?.sender ?? "") || marks.ownsSession(owner?.session ?? ""))
        jobs.add(id.slice("job:".length));
    }
  };

  return {
    see(record: StoredRecord): "keep" {
      if (record.kind === "row") row(record);
      else if (record.kind === "session") keys.add(record.id);
      else if (record.kind === "entry") entry(record);
      else if (record.kind === "cell") cell(record);
      else if (record.kind === "turn") {
        if (marks.ownsSession(record.lane) || marks.ownsPlace(record.conversation)) {
          ownTurns.add(record.id);
          if (record.open) busy.add(record.lane);
        }
      } else if (record.kind === "delivery" && record.open) {
        if (marks.ownsPlace(record.lane)) busy.add(record.lane);
        else leaving.set(record.turn, record.lane);
      }
      return "keep";
    },
    end(): Survey {
      const sessions = new Set<string>();
      const isOwn = (key: string, depth = 0): boolean => {
        if (marks.ownsSession(key)) return true;
        const parts = keyIn(key);
        if (parts?.kind === "cron") return jobs.has(parts.job);
        const used = users.get(key);
        // A session that all private chats may share is theirs when nobody else ever wrote in it.
        if (parts?.kind === "main") return used !== undefined && used.theirs > 0 && used.others === 0;
        const parent = parents.get(key);
        return parent !== undefined && depth < 8 && isOwn(parent, depth + 1);
      };
      for (const key of [...keys, ...parents.keys()]) if (isOwn(key)) sessions.add(key);
      const answered = [...turns].filter(([, { theirs, others }]) => theirs > 0 && others === 0);
      for (const [turn] of answered) {
        const lane = leaving.get(turn);
        if (lane !== undefined) busy.add(lane);
      }
      let unknownEntries = 0;
      for (const [lane, found] of unknown) {
        if (sessions.has(lane) || (users.get(lane)?.theirs ?? 0) === 0) continue;
        unknownEntries += found.filter(({ turn }) => !turns.has(turn) && !ownTurns.has(turn)).length;
      }
      return {
        sessions,
        turns: new Set([...ownTurns, ...answered.map(([turn]) => turn)]),
        rows,
        jobs,
        spokeIn: new Set([...spokeIn].filter((lane) => !sessions.has(lane))),
        spokeAt,
        names: new Set([...names].filter((name) => name.length > 2 && !otherNames.has(name))),
        words: [...words]
          .filter((each) => each.length >= leastWordChars)
          .toSorted((a, b) => b.length - a.length),
        attachments,
        busy,
        unknownEntries,
      };
    },
  };
}

export interface InboundSeen {
  readonly channel: string;
  readonly account: string;
  readonly sender: { readonly id: string; readonly name: string; readonly isBot: boolean };
  readonly text: string;
  readonly enclosed: readonly string[];
  readonly attachments: readonly { readonly ref: string }[];
  /** Null for what a person or program sent. */
  readonly internal: InternalRow["kind"] | null;
}

/** Null for a payload of another version, or of an event that could not be read. */
export function inboundIn(payload: string): InboundSeen | null {
  try {
    const { inbound, internal } = parseRowPayload(payload);
    return {
      ...inbound,
      enclosed: (inbound.enclosed ?? []).flatMap(({ words }) => words),
      internal: internal?.kind ?? null,
    };
  } catch {
    // Then only its lane and conversation say whose it is.
    return null;
  }
}

export function jsonIn(text: string | undefined): unknown {
  try {
    return text === undefined ? null : (JSON.parse(text) as unknown);
  } catch {
    // Some cells hold plain words.
    return null;
  }
}

export function keyIn(text: string): SessionKeyParts | null {
  try {
    return parseSessionKey(text);
  } catch {
    return null;
  }
}
