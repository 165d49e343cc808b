// Accounts spread over the nodes that may lead: who has two more than another leaves it one. By number, not by load, and one at a time, because
// each move costs an account a moment of silence.
import { canLead, type NodeView } from "./node-registry.ts";

/** The account that this node should leave to others; null while nobody has so few. `lines` are of all nodes, `leads` is what this one leads. */
export function oneTooMany(
  lines: readonly NodeView[],
  boot: string,
  leads: readonly string[],
): string | null {
  const others = lines.filter((line) => line.boot !== boot && canLead(line));
  const fewest = Math.min(...others.map((line) => line.leads.length));
  return leads.length - fewest >= 2 ? (leads.at(-1) ?? null) : null;
}
