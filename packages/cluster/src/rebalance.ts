// Spreads accounts over the nodes that may lead: a node with two more than another leaves one. It counts
// accounts, not load, and moves one at a time, because each move silences an account for a moment.
import { canLead, type NodeView } from "./node-registry.ts";

/**
 * Returns the account that this node should leave to others, or null. `lines` are of all nodes, `leads` is
 * what this one leads.
 */
export function oneTooMany(
  lines: readonly NodeView[],
  boot: string,
  leads: readonly string[],
): string | null {
  const others = lines.filter((line) => line.boot !== boot && canLead(line));
  const fewest = Math.min(...others.map((line) => line.leads.length));
  return leads.length - fewest >= 2 ? (leads.at(-1) ?? null) : null;
}
