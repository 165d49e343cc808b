// From a seed to a schedule of several nodes: the acts and troubles of one process, who stands where with
// which clock, and what happens to nodes: killed, ended, paused past their leases, cut off from the store,
// answered no more, words and hints lost.
import { draws, weighted, type Draw } from "./chance.ts";
import { makePlan } from "./make-plan.ts";
import type { Harm, Plan, PlannedNode, Trouble } from "./plan.ts";

export function makeNodesPlan(seed: number): Plan {
  const plan = makePlan(seed);
  const draw = draws(seed);
  const roles = weighted(draw("roles"), [
    [4, ["edge", "edge", "worker"]],
    [3, ["all", "all"]],
    [2, ["edge", "worker", "worker"]],
    [1, ["all", "worker"]],
    [2, ["all", "edge", "worker"]],
    [1, ["all", "all", "all"]],
  ] as const);
  const nodes = roles.map((role, index): PlannedNode => {
    const skewMs =
      draw(`skew ${index}`) < 0.5 ? 0 : Math.round((draw(`skew of ${index}`) - 0.5) * mostSkewMs * 2);
    return { role, skewMs };
  });
  const troubles = plan.troubles.map((trouble, index): Trouble =>
    "port" in trouble ? trouble : { ...trouble, node: nodeOf(draw, `trouble ${index}`, nodes) },
  );
  return { ...plan, store: "node", nodes, troubles: [...troubles, ...troublesOfNodes(draw, nodes)] };
}

/** Less than what an idempotency key is trusted for. */
const mostSkewMs = 20_000;

function nodeOf(draw: Draw, name: string, nodes: readonly PlannedNode[]): number {
  return Math.floor(draw(`node of ${name}`) * nodes.length);
}

const ports: readonly (readonly [port: string, calls: number, harms: readonly Harm[]])[] = [
  ["cells.touch", 20, ["crash before", "crash after", "fail before", "fail after", "slow"]],
  ["cells.put", 6, ["crash before", "crash after", "fail before", "fail after", "slow"]],
  ["cells.get", 12, ["fail before", "slow"]],
  ["free leases", 6, ["crash before", "crash after", "fail before", "fail after", "slow"]],
  ["bus", 6, ["lost", "slow", "twice"]],
  ["hint", 40, ["lost"]],
];

function troublesOfNodes(draw: Draw, nodes: readonly PlannedNode[]): readonly Trouble[] {
  const count = Math.floor(draw("troubles of nodes") * 5);
  return Array.from({ length: count }, (_, i): Trouble => {
    const name = `node trouble ${i}`;
    const node = nodeOf(draw, name, nodes);
    const atMs = Math.round(draw(`${name} at`) * 25_000);
    // Some end before a lease does, most after.
    const forMs = 1_000 + Math.round(draw(`${name} for`) ** 2 * 90_000);
    const sort = draw(`${name} sort`);
    if (sort < 0.15) return { atMs, process: "kill", node };
    if (sort < 0.25) return { atMs, process: "terminate", node };
    if (sort < 0.5) return { atMs, process: "freeze", forMs, node };
    if (sort < 0.7) return { atMs, process: "cut off", forMs, node };
    if (sort < 0.8) return { atMs, process: "deaf", forMs, node };
    const [port, calls, harms] = ports[Math.floor(draw(`${name} port`) * ports.length)] ?? ports[0]!;
    const harm = harms[Math.floor(draw(`${name} harm`) * harms.length)] ?? "slow";
    return { port, nth: 1 + Math.floor(draw(`${name} nth`) * calls), harm };
  });
}
