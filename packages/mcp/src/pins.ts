// Pins each tool of a server by its hash: what an owner approved counts, a tool that is new or says something
// else waits for the owner, and one that is as approved again counts again. The record of a server is a cell,
// so the prompt needs no running server, and all nodes see the same.
import { Fault } from "@parley/protocol";
import { definitionHash, type Definition, type Listing } from "./definition.ts";
import { hashOf } from "./settings.ts";

/** `store.cells`, as far as pins use them. */
export interface PinCells {
  get(key: string): Promise<{ readonly value: string; readonly version: number } | null>;
  put(
    key: string,
    value: string,
    how: { readonly expect?: number },
  ): Promise<{ readonly version: number } | null>;
  remove(key: string): Promise<boolean>;
}

interface PinnedTool {
  readonly name: string;
  /** What the owner approved; absent: nothing yet. */
  readonly approved?: Definition;
  readonly approvedHash?: string;
  /** Hash of what the server said last; absent: it has no such tool now. */
  readonly offeredHash?: string;
  /** What the server said last, where that is not what was approved. */
  readonly offered?: Definition;
}

export interface Pins {
  readonly v: 1;
  /** Of the server that was listed. */
  readonly identity: string;
  readonly tools: readonly PinnedTool[];
  readonly leftOut: Listing["leftOut"];
  readonly listedAtMs: number;
}

export interface Waiting {
  readonly name: string;
  readonly now: Definition;
  /** What was approved before; absent: the tool is new. */
  readonly before?: Definition | undefined;
}

/** Tools that count: the server offers exactly what was approved. */
export function usable({ tools }: Pins): readonly Definition[] {
  return tools.flatMap(({ approved, approvedHash, offeredHash }) =>
    approved !== undefined && approvedHash === offeredHash ? [approved] : [],
  );
}

export function waiting({ tools }: Pins): readonly Waiting[] {
  return tools.flatMap(({ name, approved, offered }) =>
    offered === undefined ? [] : [{ name, now: offered, before: approved }],
  );
}

/** Names exactly what waits, so that a decision about something else is refused; empty: nothing waits. */
export function waitingCode(pins: Pins): string {
  const hashes = pins.tools.flatMap(({ offered, offeredHash }) =>
    offered === undefined ? [] : [offeredHash],
  );
  return hashes.length === 0 ? "" : hashOf(hashes).slice(0, 8);
}

/** The tools that a server offers now, beside what was pinned. `trusted`: what is new counts at once. */
export function afterListing(
  before: Pins | null,
  { tools, leftOut }: Listing,
  about: {
    readonly server: string;
    readonly identity: string;
    readonly trusted: boolean;
    readonly atMs: number;
  },
): Pins {
  const { server, identity, trusted, atMs } = about;
  const known = new Map((before?.tools ?? []).map((tool) => [tool.name, tool]));
  const offered = tools.map((definition): PinnedTool => {
    const { approved, approvedHash } = known.get(definition.name) ?? {};
    const offeredHash = definitionHash(server, identity, definition);
    const { name } = definition;
    if (trusted || approvedHash === offeredHash)
      return { name, approved: definition, approvedHash: offeredHash, offeredHash };
    return approved === undefined || approvedHash === undefined
      ? { name, offered: definition, offeredHash }
      : { name, approved, approvedHash, offered: definition, offeredHash };
  });
  // What was approved is remembered when it is gone: coming back unchanged it counts again.
  const gone = [...known.values()].flatMap(({ name, approved, approvedHash }): PinnedTool[] =>
    approved === undefined || approvedHash === undefined || tools.some((tool) => tool.name === name)
      ? []
      : [{ name, approved, approvedHash }],
  );
  return { v: 1, identity, tools: [...offered, ...gone], leftOut, listedAtMs: atMs };
}

function allApproved(pins: Pins): Pins {
  const tools = pins.tools.map(({ offered, ...tool }): PinnedTool =>
    offered === undefined || tool.offeredHash === undefined
      ? tool
      : { ...tool, approved: offered, approvedHash: tool.offeredHash },
  );
  return { ...pins, tools };
}

export interface PinStore {
  get(server: string): Promise<Pins | null>;
  /** Writes what a listing found; the result is what is pinned now, and what it replaced. */
  listed(
    server: string,
    listing: Listing,
    about: { readonly identity: string; readonly approveFirst: boolean; readonly atMs: number },
  ): Promise<{ readonly pins: Pins; readonly before: Pins | null }>;
  /** Approves what waits. `code`: what the person saw; absent: whatever waits now. Throws Fault. */
  approve(server: string, code?: string): Promise<{ readonly pins: Pins; readonly tools: readonly string[] }>;
  forget(server: string): Promise<boolean>;
}

const cellOf = (server: string): string => `mcp:pins:${server}`;
const mostTries = 8;

export function pinStore(cells: PinCells): PinStore {
  const read = async (server: string): Promise<{ readonly pins: Pins | null; readonly version: number }> => {
    const cell = await cells.get(cellOf(server));
    const pins = cell === null ? null : (JSON.parse(cell.value) as Pins);
    // A record of another form is no approval.
    return { pins: pins?.v === 1 ? pins : null, version: cell?.version ?? 0 };
  };
  /** Nodes may list the same server at once, so each change is made upon what is there. */
  async function change(
    server: string,
    next: (before: Pins | null) => Pins,
  ): Promise<{ pins: Pins; before: Pins | null }> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const { pins: before, version } = await read(server);
      const pins = next(before);
      if (await cells.put(cellOf(server), JSON.stringify(pins), { expect: version })) return { pins, before };
    }
    throw new Fault("conflict", `what is known of the MCP server "${server}" changes all the time`);
  }
  return {
    get: async (server) => (await read(server)).pins,
    listed: (server, listing, { identity, approveFirst, atMs }) =>
      change(server, (before) =>
        afterListing(before, listing, {
          server,
          identity,
          trusted: before === null && !approveFirst,
          atMs,
        }),
      ),
    async approve(server, code) {
      let names: readonly string[] = [];
      const { pins } = await change(server, (before) => {
        if (before === null)
          throw new Fault(
            "missing",
            `nothing is known of the tools of "${server}": \`parley mcp test ${server}\``,
          );
        const now = waitingCode(before);
        if (code !== undefined && now !== "" && code.toLowerCase() !== now)
          throw new Fault(
            "conflict",
            `what "${server}" offers has changed since that code was shown: look again (\`parley mcp list\`)`,
          );
        names = waiting(before).map(({ name }) => name);
        return allApproved(before);
      });
      return { pins, tools: names };
    },
    forget: (server) => cells.remove(cellOf(server)),
  };
}
