// Says which lines of the notes the upkeep may propose to change: groups of lines that say the same, without
// those that were looked at lately or wait for an owner. A change that is asked for is checked against them.
import type { AgentConfig } from "@parley/config";
import { hideSecrets, type Redaction } from "@parley/agent";
import type { AlikeLines, MemoryEngine, MemoryTarget, NoteLine } from "@parley/memory";
import type { Cells } from "@parley/store";
import type { UpkeepChange } from "@parley/tools";
import type { ProposalStore, ProposedChange } from "./proposal.ts";
import { untrustedIn } from "./untrusted-lines.ts";

export interface AgentNotes {
  readonly agent: AgentConfig;
  readonly engine: MemoryEngine;
  readonly target: MemoryTarget;
}

interface AlikeOptions {
  readonly book: ProposalStore;
  readonly cells: Cells;
  readonly redaction: Redaction;
  readonly notesOf: (agentId: string) => AgentNotes;
}

export const mostGroups = 200;
const mostTextChars = 1_000;
const mostWhyChars = 300;

export function alikeLines({ book, cells, redaction, notesOf }: AlikeOptions) {
  /** Of lines in proposals that wait for an owner. */
  async function openLines(agentId: string): Promise<ReadonlySet<string>> {
    return new Set(
      (await book.list()).flatMap(({ proposal: { agent, state, changes } }) =>
        agent === agentId && (state === "open" || state === "accepting")
          ? changes.flatMap(({ lines }) => lines.map(lineKey))
          : [],
      ),
    );
  }

  /** Groups that were not looked at lately and are in no open proposal, as many as there is room for. */
  async function groupsFor(
    agentId: string,
    roomBytes: number,
  ): Promise<{ readonly groups: readonly AlikeLines[]; readonly more: number }> {
    const { engine, target } = notesOf(agentId);
    const open = await openLines(agentId);
    const groups: AlikeLines[] = [];
    let left = roomBytes;
    let more = 0;
    for (const group of await engine.alike(target, mostGroups)) {
      const texts = group.lines.map(({ text }) => text);
      const isOpen = group.lines.some((line) => open.has(lineKey(line)));
      if (isOpen || (await book.isMarked("looked", agentId, texts))) continue;
      const bytes = group.lines.reduce(
        (sum, { path, text }) => sum + Buffer.byteLength(path) + Buffer.byteLength(text) + 20,
        20,
      );
      if (groups.length > 0 && bytes > left) more += 1;
      else {
        groups.push(group);
        left -= bytes;
      }
    }
    return { groups, more };
  }

  /** The lines as they stand now, or what is wrong with the change. */
  async function checked(
    agentId: string,
    all: readonly AlikeLines[],
    open: ReadonlySet<string>,
    { kind, lines: named, text, why }: UpkeepChange,
  ): Promise<ProposedChange | string> {
    const wanted = [...new Set(named.map((each) => each.trim()))];
    const group = all.find(({ lines }) =>
      wanted.every((name) => lines.some(({ path, line }) => name === `${path}#L${line}`)),
    );
    if (group === undefined || wanted.length < 2)
      return `${wanted.join(", ") || "no line"}: name two or more lines of one group, as look shows them`;
    const lines = wanted.flatMap((name) =>
      group.lines.filter(({ path, line }) => name === `${path}#L${line}`),
    );
    const becomes = kind === "merge" ? (text ?? "").replaceAll(/\s+/gu, " ").trim() : null;
    if (becomes !== null && (becomes === "" || becomes.length > mostTextChars))
      return `${wanted.join(", ")}: a merge needs a text of 1 to ${mostTextChars} characters`;
    if (becomes !== null && hideSecrets(becomes, redaction.secrets) !== becomes)
      return `${wanted.join(", ")}: the text holds a key or password that Parley knows`;
    if (lines.some((line) => open.has(lineKey(line))))
      return `${wanted.join(", ")}: a proposal of these lines waits for an owner already`;
    const texts = lines.map((each) => each.text);
    if (await book.isMarked("refused", agentId, texts))
      return `${wanted.join(", ")}: an owner has refused a change of these lines`;
    const { workspace } = notesOf(agentId).agent;
    const sources = await Promise.all(
      lines.map((line) => untrustedIn(cells, workspace, line.path, line.text)),
    );
    const known = [...new Set(sources.filter((source) => source !== null))];
    return {
      kind,
      lines: [...lines],
      text: becomes,
      why: why.trim().slice(0, mostWhyChars).toWellFormed(),
      ...(known.length === 0 ? {} : { untrusted: known.join(", ") }),
    };
  }

  return { openLines, groupsFor, checked };
}

const lineKey = ({ path, text }: NoteLine): string => `${path}\0${text}`;
