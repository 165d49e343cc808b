// The session key: an address whose structure is the isolation policy. Only this file builds or parses one.
// Keeps I14: two different (agent, channel, account, kind, peer, thread) never share a key unless the scope
// or an identity link says so.
import type { Address } from "./address.ts";
import { Fault } from "./fault.ts";
import { decodeKeyPart, encodeKeyPart } from "./key-part.ts";

export type SessionKey = string & { readonly __brand: "SessionKey" };

/**
 * A `dm` without a channel has the scope per-peer; one with a channel and no account has per-channel-peer.
 */
export type SessionKeyParts =
  | { readonly kind: "main"; readonly agent: string }
  | {
      readonly kind: "dm";
      readonly agent: string;
      readonly channel?: string;
      readonly account?: string;
      readonly peer: string;
      readonly thread?: string;
    }
  | {
      readonly kind: "group";
      readonly agent: string;
      readonly channel: string;
      readonly account: string;
      readonly id: string;
      readonly topic?: string;
    }
  | {
      readonly kind: "channel";
      readonly agent: string;
      readonly channel: string;
      readonly account: string;
      readonly id: string;
      readonly thread?: string;
    }
  | { readonly kind: "subagent"; readonly agent: string; readonly id: string }
  | { readonly kind: "cron"; readonly agent: string; readonly job: string; readonly run?: string }
  | { readonly kind: "hook"; readonly agent: string; readonly name: string }
  | { readonly kind: "api"; readonly agent: string; readonly client: string; readonly user: string };

export const sessionKinds = ["main", "dm", "group", "channel", "subagent", "cron", "hook", "api"] as const;
export type SessionKind = SessionKeyParts["kind"];

export const dmScopes = ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"] as const;
export type DmScope = (typeof dmScopes)[number];

/** Words of the grammar, which no channel or account may have as its name. */
export const reservedWords: ReadonlySet<string> = new Set(
  "agent main dm direct group channel topic thread subagent cron run hook api".split(" "),
);

const agentId = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const defaultAccount = "default";

export function isAgentId(text: string): boolean {
  return agentId.test(text);
}

export function formatSessionKey(key: SessionKeyParts): SessionKey {
  return ["agent", agent(key.agent), ...tail(key)].join(":") as SessionKey;
}

/**
 * Throws Fault("invalid") for a malformed key and never falls back to a default agent. Reads `direct` as
 * `dm`.
 */
export function parseSessionKey(text: string): SessionKeyParts {
  const malformed = (why: string): Fault =>
    new Fault("invalid", `session key "${text}" is malformed: ${why}`);
  const [head, agentPart, ...rest] = text.split(":");
  if (head !== "agent" || agentPart === undefined) throw malformed('it does not begin with "agent:<agent>:"');
  if (!agentId.test(agentPart)) throw malformed(`"${agentPart}" is not an agent id`);
  const parts = rest.map(decodeKeyPart);
  const parsed = parseTail(agentPart, rest, parts);
  if (parsed === null) throw malformed("no form of the grammar fits");
  return parsed;
}

export interface SessionScope {
  readonly agent: string;
  readonly dmScope: DmScope;
  /** Maps a person to exact ids of the form `<channel>:<peer>`, for example `telegram:123`. */
  readonly identityLinks: { readonly [person: string]: readonly string[] };
}

/** Returns the session that a message from this address belongs to. */
export function sessionKeyOf(address: Address, scope: SessionScope): SessionKey {
  const { channel, account, kind, peer, thread } = address;
  const { agent: agentName, dmScope } = scope;
  if (kind === "group") {
    return formatSessionKey({
      kind,
      agent: agentName,
      channel,
      account,
      id: peer,
      ...(thread === undefined ? {} : { topic: thread }),
    });
  }
  const inThread = thread === undefined ? {} : { thread };
  if (kind === "channel")
    return formatSessionKey({ kind, agent: agentName, channel, account, id: peer, ...inThread });
  if (dmScope === "main") return formatSessionKey({ kind: "main", agent: agentName });
  const person = linkedPerson(`${channel}:${peer}`, scope.identityLinks) ?? peer;
  const where =
    dmScope === "per-peer" ? {} : dmScope === "per-channel-peer" ? { channel } : { channel, account };
  return formatSessionKey({ kind: "dm", agent: agentName, ...where, peer: person, ...inThread });
}

function linkedPerson(id: string, links: SessionScope["identityLinks"]): string | undefined {
  return Object.keys(links).find((person) => links[person]?.includes(id));
}

function agent(id: string): string {
  if (!agentId.test(id))
    throw new Fault("invalid", `"${id}" is not an agent id: use a-z, 0-9, "_" and "-", at most 64`);
  return id;
}

function place(word: string, what: string): string {
  if (reservedWords.has(word))
    throw new Fault("invalid", `"${word}" is a word of the session key grammar and cannot name ${what}`);
  return encodeKeyPart(word);
}

function tail(key: SessionKeyParts): string[] {
  const e = encodeKeyPart;
  switch (key.kind) {
    case "main":
      return ["main"];
    case "dm": {
      if (key.account !== undefined && key.channel === undefined) {
        throw new Fault("invalid", "a dm key with an account needs its channel");
      }
      const where = [
        ...(key.channel === undefined ? [] : [place(key.channel, "a channel")]),
        ...(key.account === undefined ? [] : [place(key.account, "an account")]),
      ];
      return [...where, "dm", e(key.peer), ...(key.thread === undefined ? [] : ["thread", e(key.thread)])];
    }
    case "group":
      return [...room(key), "group", e(key.id), ...(key.topic === undefined ? [] : ["topic", e(key.topic)])];
    case "channel":
      return [
        ...room(key),
        "channel",
        e(key.id),
        ...(key.thread === undefined ? [] : ["thread", e(key.thread)]),
      ];
    case "subagent":
      return ["subagent", e(key.id)];
    case "cron":
      return ["cron", e(key.job), ...(key.run === undefined ? [] : ["run", e(key.run)])];
    case "hook":
      return ["hook", e(key.name)];
    case "api":
      return ["api", e(key.client), e(key.user)];
  }
}

function room(key: { readonly channel: string; readonly account: string }): string[] {
  const account = place(key.account, "an account");
  return [place(key.channel, "a channel"), ...(account === defaultAccount ? [] : [account])];
}

function parseTail(
  agentName: string,
  raw: readonly string[],
  parts: readonly string[],
): SessionKeyParts | null {
  const [first, second, third, fourth] = parts;
  const size = parts.length;
  if (first === undefined) return null;
  if (first === "main") return size === 1 ? { kind: "main", agent: agentName } : null;
  if (first === "subagent")
    return size === 2 && second !== undefined ? { kind: "subagent", agent: agentName, id: second } : null;
  if (first === "hook")
    return size === 2 && second !== undefined ? { kind: "hook", agent: agentName, name: second } : null;
  if (first === "api") {
    return size === 3 && second !== undefined && third !== undefined
      ? { kind: "api", agent: agentName, client: second, user: third }
      : null;
  }
  if (first === "cron") {
    if (second === undefined) return null;
    if (size === 2) return { kind: "cron", agent: agentName, job: second };
    return size === 4 && third === "run" && fourth !== undefined
      ? { kind: "cron", agent: agentName, job: second, run: fourth }
      : null;
  }
  if (isDm(first)) return parsePlace({ agent: agentName }, parts);
  const channel = first;
  if (reservedWords.has(channel)) return null;
  if (isKind(second)) return parsePlace({ agent: agentName, channel }, parts.slice(1));
  const account = second;
  if (account === undefined || reservedWords.has(account) || raw[1] === undefined) return null;
  return parsePlace({ agent: agentName, channel, account }, parts.slice(2));
}

/** Parses `<kind> <id> [topic|thread <id>]`. */
function parsePlace(
  where: { readonly agent: string; readonly channel?: string; readonly account?: string },
  parts: readonly string[],
): SessionKeyParts | null {
  const [kind, id, subKind, subId] = parts;
  if (id === undefined || (parts.length !== 2 && parts.length !== 4)) return null;
  const sub = parts.length === 4 && subId !== undefined ? { word: subKind, id: subId } : null;
  if (isDm(kind)) {
    if (sub !== null && sub.word !== "thread") return null;
    return { kind: "dm", ...where, peer: id, ...(sub === null ? {} : { thread: sub.id }) };
  }
  if (where.channel === undefined) return null;
  const at = { agent: where.agent, channel: where.channel, account: where.account ?? defaultAccount, id };
  if (kind === "group") {
    if (sub !== null && sub.word !== "topic") return null;
    return { kind, ...at, ...(sub === null ? {} : { topic: sub.id }) };
  }
  if (kind === "channel") {
    if (sub !== null && sub.word !== "thread") return null;
    return { kind, ...at, ...(sub === null ? {} : { thread: sub.id }) };
  }
  return null;
}

function isDm(word: string | undefined): boolean {
  return word === "dm" || word === "direct";
}

function isKind(word: string | undefined): boolean {
  return isDm(word) || word === "group" || word === "channel";
}
