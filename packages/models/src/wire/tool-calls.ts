// Gathers the tool calls of a chat completions stream from their pieces. Servers number them, name them by
// id, by both or by neither; some repeat the number or the id of a call for the next one. What belongs to no
// call for certain is left out, so that no call gets another's arguments.
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { JsonObject } from "@parley/protocol";

type Hand = (part: LanguageModelV4StreamPart) => void;

/** One piece, as a server sent it. */
interface CallPiece {
  readonly index: number | undefined;
  readonly id: string | undefined;
  /** An empty one begins no call. */
  readonly name: string | undefined;
  readonly args: string | undefined;
  /** Kept with the call: a signature that its provider wants back. */
  readonly metadata?: { readonly [provider: string]: JsonObject } | undefined;
}

interface Call {
  readonly id: string;
  /** Ids that the server used for it. */
  readonly ids: Set<string>;
  readonly indexes: Set<number>;
  readonly first: number | undefined;
  readonly name: string;
  args: string;
  readonly metadata: CallPiece["metadata"];
}

export interface ToolCalls {
  add(piece: CallPiece, hand: Hand): void;
  end(hand: Hand): void;
}

/** `makeId` names a call that its server did not name. */
export function toolCalls(makeId: () => string): ToolCalls {
  const calls: Call[] = [];
  const used = new Set<string>();
  /** Pieces of calls whose name has not come yet, by their number. */
  const nameless = new Map<number, CallPiece>();
  const named = new Set<number>();

  function uniqueId(wanted: string | undefined): string {
    let id = wanted !== undefined && !used.has(wanted) ? wanted : makeId();
    for (let n = 1; used.has(id); n += 1) id = `${makeId()}-${n}`;
    used.add(id);
    return id;
  }

  /** Of calls that a piece may belong to: the one it does; `new` for none; null when nobody can say. */
  function oneOf(found: readonly Call[], begins: boolean): Call | "new" | null {
    const [only] = found;
    if (only === undefined) return "new";
    if (!begins && found.length === 1) return only;
    const open = found.filter(({ args }) => !isWholeValue(args));
    if (open.length === 1) return open[0] ?? null;
    return open.length > 1 || !begins ? null : "new";
  }

  function callOf({ index, id, args, ...piece }: CallPiece): Call | "new" | null {
    const name = nameIn(piece);
    const begins = name !== undefined && /^\s*[[{]/.test(args ?? "");
    const atIndex = index === undefined ? [] : calls.filter((call) => call.indexes.has(index));
    const matching = name === undefined ? atIndex : atIndex.filter((call) => call.name === name);
    if (id !== undefined) {
      const withId = calls.filter((call) => call.ids.has(id));
      if (withId.length > 0) {
        if (index === undefined)
          return name === undefined
            ? oneOf(withId, false)
            : oneOf(
                withId.filter((call) => call.name === name),
                begins,
              );
        const both = oneOf(
          matching.filter((call) => withId.includes(call)),
          begins,
        );
        if (both !== "new") return both;
        if (name !== undefined) return "new";
        return atIndex.length > 0 ? null : oneOf(withId, false);
      }
      if (matching.length === 0) return "new";
      return begins ? "new" : oneOf(matching, name !== undefined && (args ?? "").trim() === "");
    }
    if (atIndex.length > 0) return oneOf(matching, begins);
    return name !== undefined ? "new" : oneOf(calls, false);
  }

  function place(piece: CallPiece, hand: Hand): void {
    const found = callOf(piece);
    if (found === null) return;
    let call = found;
    if (call === "new") {
      const { id, index, args = "", metadata } = piece;
      const name = nameIn(piece);
      if (name === undefined) {
        if (piece.name !== undefined) return;
        throw new Error("a tool call has no name");
      }
      call = {
        id: uniqueId(id),
        ids: new Set(),
        indexes: new Set(),
        first: index,
        name,
        args,
        metadata,
      };
      calls.push(call);
      hand({ type: "tool-input-start", id: call.id, toolName: name });
    } else {
      call.args += piece.args ?? "";
      hand({ type: "tool-input-delta", id: call.id, delta: piece.args ?? "" });
    }
    if (piece.id !== undefined) call.ids.add(piece.id);
    if (piece.index !== undefined) call.indexes.add(piece.index);
  }

  return {
    add(piece, hand) {
      const { index } = piece;
      if (index === undefined || named.has(index)) return place(piece, hand);
      const before = nameless.get(index);
      const joined: CallPiece =
        before === undefined
          ? piece
          : {
              index,
              id: before.id ?? piece.id,
              name: piece.name,
              args: (before.args ?? "") + (piece.args ?? ""),
              metadata: before.metadata ?? piece.metadata,
            };
      if (piece.name === undefined) {
        nameless.set(index, joined);
        return;
      }
      nameless.delete(index);
      named.add(index);
      place(joined, hand);
    },
    end(hand) {
      for (const piece of nameless.values()) place(piece, hand);
      nameless.clear();
      const inOrder = calls.every(({ first }) => first !== undefined)
        ? calls.toSorted((a, b) => (a.first ?? 0) - (b.first ?? 0))
        : calls;
      for (const { id, name, args, metadata } of inOrder)
        hand({
          type: "tool-call",
          toolCallId: id,
          toolName: name,
          input: args,
          ...(metadata === undefined ? {} : { providerMetadata: metadata }),
        });
    },
  };
}

function nameIn({ name }: Pick<CallPiece, "name">): string | undefined {
  return name === undefined || name.trim() === "" ? undefined : name;
}

/** A JSON object or list that ends where the text does; what a server sends next is the next call's. */
function isWholeValue(text: string): boolean {
  const last = text.trimEnd().at(-1);
  if (!/^\s*[[{]/.test(text) || (last !== "}" && last !== "]")) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
