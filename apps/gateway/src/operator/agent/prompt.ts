// Shows prompts to the operator: the one that a session would get now, the one of a past turn, and the
// difference of two. It works the same in a running daemon and in `--once`.
import { diff, type PromptExplanation } from "@parley/agent";
import type { Config } from "@parley/config";
import {
  Fault,
  parseConversationKey,
  parseSessionKey,
  type Address,
  type MethodParams,
  type MethodResult,
  type PromptIdentity,
  type SessionKey,
  type SessionKeyParts,
} from "@parley/protocol";
import type { Session, Sessions } from "@parley/store";
import type { Place } from "@parley/access";
import { turnsKept, type PromptRecord, type PromptNow } from "@parley/runner";
import type { StorePorts } from "../ports.ts";

export interface PromptPorts extends Pick<StorePorts, "prompts" | "turnPreparer"> {
  /** Its first agent is the default where no session exists yet. */
  readonly config: Pick<Config, "agents">;
  readonly store: { readonly sessions: Pick<Sessions, "list"> };
}

interface Told {
  readonly identity: PromptIdentity;
  readonly explanation: PromptExplanation;
  readonly stable: string;
  readonly volatile: string;
}

/** Returns the prompt, with its tools and model, of a session's next turn. */
export function promptNow({ config, store: { sessions }, prompts, turnPreparer }: PromptPorts) {
  const defaultAgent = config.agents.list[0]?.id ?? "main";

  /** Looking must not open a session, so a missing one is made up. */
  async function sessionOf(key: string | undefined): Promise<Session> {
    if (key === undefined) {
      const [newest] = await sessions.list({ limit: 1 });
      return newest ?? unopened(`agent:${defaultAgent}:main`);
    }
    parseSessionKey(key);
    const found = await sessions.list({ prefix: key, limit: 1000 });
    return found.find((session) => session.key === key) ?? unopened(key);
  }

  async function ofSession(session: Session): Promise<PromptNow> {
    const last = (await prompts.turns(session.key)).at(-1);
    const parts = parseSessionKey(session.key);
    return turnPreparer.prompt({ agent: parts.agent, session, place: placeOf(parts, last) });
  }

  return { sessionOf, ofSession };
}

export function promptMethods(options: PromptPorts) {
  const { prompts } = options;
  const { sessionOf, ofSession } = promptNow(options);

  async function now(session: Session): Promise<Told> {
    const { compiled, explanation } = await ofSession(session);
    const { stable, volatile, stableHash } = compiled;
    return {
      identity: { session: session.key, turn: null, turnId: null, atMs: null, stableHash },
      explanation,
      stable,
      volatile,
    };
  }

  /** Null when there is no such turn; throws Fault("missing") when its prompt is no longer stored. */
  async function at(session: Session, n: number): Promise<Told | null> {
    const record = (await prompts.turns(session.key)).find((turn) => turn.n === n);
    if (record === undefined) return null;
    const [text, explanation] = await Promise.all([prompts.text(record), prompts.explanation(record)]);
    if (text === null || explanation === null)
      throw new Fault("missing", `the texts of turn ${n} are kept no longer`);
    const identity = {
      session: session.key,
      turn: n,
      turnId: record.turn,
      atMs: record.atMs,
      stableHash: record.stable,
    };
    return { identity, explanation, ...text };
  }

  async function mustBeAt(session: Session, n: number): Promise<Told> {
    const told = await at(session, n);
    if (told !== null) return told;
    const turns = await prompts.turns(session.key);
    const kept = turns.length === 0 ? "none is kept" : `turns ${turns[0]?.n} to ${turns.at(-1)?.n} are kept`;
    throw new Fault(
      "missing",
      `no prompt of turn ${n} in ${session.key}: ${kept} (the last ${turnsKept}, for five days)`,
    );
  }

  /** Resolves a turn's number; below zero counts from the last one, -1. */
  async function numberOf(session: Session, turn: number): Promise<number> {
    return turn >= 0 ? turn : ((await prompts.turns(session.key)).at(turn)?.n ?? turn);
  }

  async function asked({
    session: key,
    turn,
  }: {
    readonly session?: string | undefined;
    readonly turn?: number | undefined;
  }) {
    const session = await sessionOf(key);
    const n = turn === undefined ? null : await numberOf(session, turn);
    return { session, n, told: n === null ? await now(session) : await mustBeAt(session, n) };
  }

  return {
    async "prompt.show"(params: MethodParams<"prompt.show">): Promise<MethodResult<"prompt.show">> {
      const { told } = await asked(params);
      const { identity, explanation, stable, volatile } = told;
      return { ...identity, hash: explanation.hash, boundary: stable.length, text: stable + volatile };
    },
    async "prompt.explain"(params: MethodParams<"prompt.explain">): Promise<MethodResult<"prompt.explain">> {
      const { session, n, told } = await asked(params);
      const before = await at(session, n === null ? (prompts.last(session)?.n ?? 0) : n - 1);
      const moved =
        before === null ? null : { since: before.identity, ...diff(before.explanation, told.explanation) };
      return structuredClone({
        ...told.identity,
        explanation: told.explanation,
        moved,
      }) as MethodResult<"prompt.explain">;
    },
    async "prompt.diff"(params: MethodParams<"prompt.diff">): Promise<MethodResult<"prompt.diff">> {
      const { with: other, ...which } = params;
      const { session, n, told } = await asked(which);
      const last = prompts.last(session)?.n;
      if (other === undefined && n === null && last === undefined) {
        throw new Fault(
          "missing",
          `${session.key} has had no turn yet, so there is nothing to compare its prompt with`,
        );
      }
      const [before, after] =
        other === undefined
          ? [await mustBeAt(session, n === null ? (last ?? 0) : n - 1), told]
          : [told, await now(await sessionOf(other))];
      const moved = diff(before.explanation, after.explanation);
      return structuredClone({
        before: before.identity,
        after: after.identity,
        ...moved,
      }) as MethodResult<"prompt.diff">;
    },
  };
}

function unopened(key: string): Session {
  return { key: key as SessionKey, epoch: 1, lastSeq: 0, fields: {}, createdAtMs: 0, updatedAtMs: 0 };
}

/** Returns the address of its last turn; before the first one, the address in the key. */
function placeOf(parts: SessionKeyParts, last: PromptRecord | undefined): Place | null {
  if (last?.conversation !== undefined) {
    const { guild, parent } = last;
    const address = parseConversationKey(last.conversation);
    return {
      address,
      ...(guild === undefined ? {} : { guild }),
      ...(parent === undefined ? {} : { parent }),
    };
  }
  const address = addressOf(parts);
  return address === null ? null : { address };
}

function addressOf(parts: SessionKeyParts): Address | null {
  if (parts.kind === "dm") {
    const { channel, account = "default", peer, thread } = parts;
    return channel === undefined
      ? null
      : { channel, account, kind: "dm", peer, ...(thread === undefined ? {} : { thread }) };
  }
  if (parts.kind !== "group" && parts.kind !== "channel") return null;
  const thread = parts.kind === "group" ? parts.topic : parts.thread;
  return {
    channel: parts.channel,
    account: parts.account,
    kind: parts.kind,
    peer: parts.id,
    ...(thread === undefined ? {} : { thread }),
  };
}
