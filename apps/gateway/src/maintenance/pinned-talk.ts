// Finds the sessions of conversations that somebody pinned, which no age takes, and the results of tools that
// they or a turn at work still name.
import type { Config } from "@parley/config";
import { sessionKeyOf, type SessionKey } from "@parley/protocol";
import { threadPrefix } from "../operator/sessions/thread-index.ts";
import type { ReferringStore } from "./media-references.ts";

const mostThreads = 100_000;
const mostRows = 20_000;
const entriesAtOnce = 1_000;
/** Which of them holds in a place, bindings say; a session of another scope is not there. */
const scopes = ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"] as const;
const resultForm = /[0-9a-f]{12}-[\w-]{1,64}\.txt|[0-9a-z]+-[a-z2-9]{8}\.log/g;

export async function pinnedSessions(
  { cells }: Pick<ReferringStore, "cells">,
  { agents, session: { identityLinks } }: Pick<Config, "agents" | "session">,
): Promise<ReadonlySet<SessionKey>> {
  const pinned = new Set<SessionKey>();
  for (const { key, value } of await cells.list(threadPrefix, mostThreads)) {
    if ((JSON.parse(value) as { readonly pinned?: boolean }).pinned !== true) continue;
    const [account = "", peer = "", thread = ""] = key
      .slice(threadPrefix.length)
      .split(":")
      .map(decodeURIComponent);
    const place = {
      channel: "web",
      account,
      kind: "dm",
      peer,
      ...(thread === "" ? {} : { thread }),
    } as const;
    for (const { id: agent } of agents.list)
      for (const dmScope of scopes) pinned.add(sessionKeyOf(place, { agent, dmScope, identityLinks }));
  }
  return pinned;
}

/** Of these names of files, those that stay whatever their age. */
export async function heldResults(
  store: ReferringStore,
  config: Pick<Config, "agents" | "session">,
  names: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  const read = (text: string): void => {
    for (const [name] of text.matchAll(resultForm)) if (names.has(name)) held.add(name);
  };
  const seen = new Set<string>();
  for (const { lane, turn } of await store.inbox.find({ state: "claimed", limit: mostRows })) {
    if (turn === null || seen.has(turn)) continue;
    seen.add(turn);
    read(JSON.stringify((await store.turns.find(turn))?.log ?? []));
    await readTalk(store, lane as SessionKey, read);
  }
  for (const key of await pinnedSessions(store, config)) await readTalk(store, key, read);
  return held;
}

/** What a model that goes on is shown of it. */
async function readTalk(
  { sessions }: Pick<ReferringStore, "sessions">,
  key: SessionKey,
  read: (text: string) => void,
): Promise<void> {
  for (let afterSeq = 0; ;) {
    const found = await sessions.transcript(key, { afterSeq, limit: entriesAtOnce });
    for (const { body } of found) read(body);
    afterSeq = found.at(-1)?.seq ?? afterSeq;
    if (found.length < entriesAtOnce) return;
  }
}
