// Looks after the notes of agents at night: lines that say the same, and lines that contradict each other,
// are proposed to the owners, and nothing is written before one of them accepts. What is accepted is planned
// in the proposal before the first note is written, so that the next process finishes what one died of, once.
import { createHash } from "node:crypto";
import type { Config } from "@parley/config";
import { conversationKey, Fault, localDay, type Address, type Clock, type Log } from "@parley/protocol";
import type { Redaction } from "@parley/agent";
import type { Cells, Outbox } from "@parley/store";
import type { MemoryUpkeep } from "@parley/tools";
import { agentIn } from "../prepare-turn.ts";
import { alikeLines, mostGroups, type AgentNotes } from "./alike-lines.ts";
import { noteHistory } from "./note-history.ts";
import { outcomeWords, proposalCard, settledProposal } from "./proposal-card.ts";
import { proposalStore, type KeptProposal, type Proposal, type ProposedChange } from "./proposal.ts";
import { stampLines } from "./provenance.ts";
import { memoryTarget, type MemoryParts } from "./recall.ts";
import { restoreMarks, untrustedIn } from "./untrusted-lines.ts";

interface Decider {
  /** `<channel>:<id>`. */
  readonly person: string;
  readonly name: string;
  readonly owner: boolean;
}

export interface NoteUpkeep extends MemoryUpkeep {
  /** Newest first. */
  list(): Promise<readonly Proposal[]>;
  /**
   * `only`: some of the changes, from 1. Returns words for whoever decided. Throws Fault: "missing",
   * "denied", "invalid", or "conflict" when it was decided before.
   */
  accept(id: string, by: Decider, only?: readonly number[]): Promise<string>;
  refuse(id: string, by: Decider): Promise<string>;
  /** Finishes what a process left undone when it died after an owner had decided. */
  heal(): Promise<void>;
}

export interface UpkeepOptions {
  /** Absent where no notes are searched. */
  readonly machine: { readonly home: string; readonly memory?: MemoryParts } | undefined;
  readonly config: Config;
  readonly cells: Cells;
  readonly outbox: Pick<Outbox, "post">;
  readonly owners: () => Promise<readonly string[]>;
  /** Private chats of the owners. */
  readonly ownersAt: () => Promise<readonly Address[]>;
  readonly redaction: Redaction;
  readonly clock: Clock;
  readonly log: Log;
}

const openMs = 7 * 86_400_000;
const mostChanges = 10;
const tool = "upkeep";
/** The store keeps deliveries longer than this, so it still recognizes a repeated card. */
const healWithinMs = 86_400_000;

export function noteUpkeep(options: UpkeepOptions): NoteUpkeep {
  const { machine, config, cells, outbox, owners, ownersAt, redaction, clock, log } = options;
  const book = proposalStore(cells, clock);

  function notesOf(agentId: string): AgentNotes {
    const memory = machine?.memory;
    if (machine === undefined || memory === undefined)
      throw new Fault("unsupported", "there is no memory here");
    const agent = agentIn(config)(agentId);
    return { agent, engine: memory.engine, target: memoryTarget(machine.home, agent) };
  }

  const { openLines, groupsFor, checked } = alikeLines({ book, cells, redaction, notesOf });

  /** The lines of a refused one are not proposed again soon. */
  async function markRefused({ agent, changes }: Proposal): Promise<void> {
    const texts = changes.map(({ lines }) => lines.map(({ text }) => text));
    for (const { key, value, ttlMs } of book.marking("refused", agent, texts))
      await cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
  }

  async function end(kept: KeptProposal, next: Partial<Proposal>): Promise<KeptProposal | null> {
    const ended = await book.change(kept, { ...next, endedAtMs: clock.now() });
    if (ended !== null) await outbox.post(settledProposal(ended.proposal));
    return ended;
  }

  /** Marks an open one whose time is over. */
  async function current(kept: KeptProposal): Promise<KeptProposal> {
    const { state, expiresAtMs, id } = kept.proposal;
    if (state !== "open" || clock.now() < expiresAtMs) return kept;
    return (await end(kept, { state: "expired" })) ?? (await book.get(id)) ?? kept;
  }

  async function named(id: string, { owner }: Decider): Promise<KeptProposal> {
    const found = await book.get(id.trim().toLowerCase());
    if (found === null) throw new Fault("missing", `there is no proposal ${JSON.stringify(id.slice(0, 40))}`);
    if (!owner) throw new Fault("denied", "only an owner decides about the notes");
    return current(found);
  }

  /** Writes what was accepted. Another process may do the same at once, and nothing is done twice. */
  async function finish(kept: KeptProposal): Promise<Proposal> {
    const { agent, engine, target } = notesOf(kept.proposal.agent);
    const { id, chosen = [], changes, session, turn, by } = kept.proposal;
    const meant = chosen.flatMap((at) => changes[at] ?? []);
    const day = kept.proposal.plan?.day ?? localDay(clock.now(), config.agents.defaults.userTimezone);
    const made = await engine.tidied(target, meant, day);
    let planned = kept;
    if (planned.proposal.plan === undefined) {
      const files = made.edits.map(({ path, before, after }) => ({
        path,
        before: hashOf(before),
        after: hashOf(after),
      }));
      const next = await book.change(kept, { plan: { day, files, refused: [...made.refused] } });
      const other = next ?? (await book.get(id));
      if (other === null || other.proposal.state !== "accepting") return (other ?? kept).proposal;
      planned = other;
    }
    const { plan } = planned.proposal;
    if (plan === undefined) return planned.proposal;
    const history = noteHistory({ cells, clock });
    const changed: string[] = [];
    for (const { path, before, after } of plan.files) {
      const edit = made.edits.find(
        (each) => each.path === path && hashOf(each.before) === before && hashOf(each.after) === after,
      );
      if (edit !== undefined) {
        const from = { path, session, turn, by: by === undefined ? [] : [by.person], tool };
        await history.record(agent.id, from, edit.before, edit.after, { once: true });
        const added = made.added.filter((each) => each.path === path);
        const sourceOf = new Map(added.map(({ text, change }) => [text, meant[change]?.untrusted]));
        const old = new Set(edit.before.split(/\r?\n/));
        const fresh = added.filter(({ text }) => !old.has(text)).map(({ text }) => text);
        await stampLines(cells, agent.id, fresh.join("\n"), { ...from, atMs: clock.now() }, (line) =>
          sourceOf.get(line),
        );
      }
      const done = await engine.rewrite(target, { path, before, after, text: edit?.after ?? null });
      if (done === "changed") changed.push(`${path} was changed meanwhile and is left as it is`);
      else if (edit !== undefined) await restoreMarks(cells, agent.id, agent.workspace, path, edit.after);
    }
    const left = plan.refused.flatMap((reason, at) =>
      reason === null ? [] : [`change ${(chosen[at] ?? at) + 1}: ${reason}`],
    );
    const undone = [...left, ...changed];
    const ended = await end(planned, { state: "accepted", left: undone });
    const { proposal } = ended ?? (await book.get(id)) ?? planned;
    log.info({ proposal: id, agent: agent.id, by: by?.person, left: undone.length }, "notes tidied");
    return proposal;
  }

  return {
    async look({ agent }, roomBytes) {
      const { groups, more } = await groupsFor(agent, roomBytes);
      const { workspace } = notesOf(agent).agent;
      const sources: string[] = [];
      for (const { lines } of groups)
        for (const { path, text } of lines) {
          const source = await untrustedIn(cells, workspace, path, text);
          if (source !== null) sources.push(source);
        }
      return { groups: groups.map(({ lines }) => lines), more, untrusted: [...new Set(sources)] };
    },
    async propose(scope, asked, roomBytes) {
      const { agent, session, turn, callId } = scope;
      const { engine, target } = notesOf(agent);
      const all = await engine.alike(target, mostGroups);
      const { groups } = await groupsFor(agent, roomBytes);
      const looked = book.marking(
        "looked",
        agent,
        groups.map(({ lines }) => lines.map(({ text }) => text)),
      );
      const open = await openLines(agent);
      const judged = await Promise.all(
        asked.slice(0, mostChanges).map((change) => checked(agent, all, open, change)),
      );
      const problems = judged.filter((each) => typeof each === "string");
      const taken = new Set<string>();
      const changes = judged.flatMap((change): ProposedChange[] => {
        if (typeof change === "string") return [];
        const keys = change.lines.map(({ path, line }) => `${path}#L${line}`);
        const isTaken = keys.some((key) => taken.has(key));
        if (isTaken) problems.push(`${keys.join(", ")}: another change of this proposal has one of them`);
        for (const key of keys) taken.add(key);
        return isTaken ? [] : [change];
      });
      if (asked.length > mostChanges) problems.push(`only the first ${mostChanges} changes were taken`);
      const told = problems.map((each) => `Not proposed: ${each}.`);
      if (changes.length === 0)
        return { text: ["Nothing is proposed.", ...told].join("\n"), effects: { cells: looked } };
      const places = await ownersAt();
      const proposal: Proposal = {
        v: 1,
        id: hashOf(JSON.stringify(["proposal", turn, callId])).slice(0, 8),
        agent,
        session,
        turn,
        changes,
        shownIn: places.map(conversationKey),
        createdAtMs: clock.now(),
        expiresAtMs: clock.now() + openMs,
        state: "open",
      };
      const everyOwner = await owners();
      const cards = places.map((place) => proposalCard(proposal, place, everyOwner));
      return {
        text: [`Proposed as ${proposal.id}: ${changes.length} changes. An owner decides.`, ...told].join(
          "\n",
        ),
        effects: {
          cells: [book.proposing(proposal), ...looked, ...cards.flatMap((card) => card.cells)],
          deliveries: cards.flatMap(({ deliveries }) => deliveries),
        },
      };
    },
    async list() {
      return (await Promise.all((await book.list()).map(current))).map(({ proposal }) => proposal);
    },
    async accept(id, by, only) {
      const kept = await named(id, by);
      const { state, changes, by: before } = kept.proposal;
      const { person, name } = by;
      if (state !== "open") {
        // A platform repeats a press when our answer may have been lost.
        if ((state !== "accepting" && state !== "accepted") || before?.person !== person)
          throw new Fault("conflict", `this was decided before: ${outcomeWords(kept.proposal)}`);
        return outcomeWords(state === "accepting" ? await finish(kept) : kept.proposal);
      }
      const chosen =
        only === undefined || only.length === 0
          ? changes.map((_, at) => at)
          : [...new Set(only.map((number) => number - 1))].toSorted((a, b) => a - b);
      const unknown = chosen.find((at) => changes[at] === undefined);
      if (unknown !== undefined)
        throw new Fault("invalid", `there is no change ${unknown + 1}: there are ${changes.length}`);
      const next = await book.change(kept, { state: "accepting", by: { person, name }, chosen });
      if (next === null) throw new Fault("conflict", "somebody else decides about it just now");
      log.info({ proposal: kept.proposal.id, by: person, chosen: chosen.length }, "notes upkeep accepted");
      return outcomeWords(await finish(next));
    },
    async refuse(id, by) {
      const kept = await named(id, by);
      const { state, by: before } = kept.proposal;
      const { person, name } = by;
      if (state === "refused" && before?.person === person) return outcomeWords(kept.proposal);
      if (state !== "open")
        throw new Fault("conflict", `this was decided before: ${outcomeWords(kept.proposal)}`);
      const ended = await end(kept, { state: "refused", by: { person, name } });
      if (ended === null) throw new Fault("conflict", "somebody else decides about it just now");
      // Only now: what another owner accepted meanwhile was not refused.
      await markRefused(ended.proposal);
      log.info({ proposal: kept.proposal.id, by: person }, "notes upkeep refused");
      return outcomeWords(ended.proposal);
    },
    async heal() {
      for (const kept of await book.list()) {
        const { proposal } = await current(kept);
        if (proposal.state === "accepting") await finish(kept);
        else if (proposal.state !== "open" && clock.now() - (proposal.endedAtMs ?? 0) < healWithinMs) {
          if (proposal.state === "refused") await markRefused(proposal);
          await outbox.post(settledProposal(proposal));
        }
      }
    },
  };
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
