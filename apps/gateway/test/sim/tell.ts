// A schedule and what it broke, for people.
import type { Act, Plan, Trouble } from "./plan.ts";
import type { Violation } from "./world.ts";

export function tellPlan(plan: Plan): string {
  const { seed, scope, store, queue } = plan;
  const traits = [
    ...(plan.streaming === "off" ? [] : [`streaming by ${plan.streaming}`]),
    ...(plan.calm ? ["calm"] : []),
  ];
  return [
    `seed ${seed}: scope ${scope}, store of a ${store}, queue ${[queue, ...traits].join(", ")}`,
    ...(plan.nodes ?? []).map(
      ({ role, skewMs }, index) => `  node-${index + 1}: ${role}, its clock ${skewMs} ms off`,
    ),
    ...plan.acts.map((act) => `  ${seconds(act.atMs)} ${act.from} in ${act.chat}: ${tellAct(act)}`),
    ...plan.troubles.map((trouble) => `  ${tellTrouble(trouble)}`),
  ].join("\n");
}

export function tellViolations(violations: readonly Violation[]): string {
  return violations.map(({ law, what }) => `  ${law}: ${what}`).join("\n");
}

function tellAct(act: Act): string {
  if (act.kind === "command") return act.text;
  if (act.kind === "edit") return `edits #${act.of}`;
  const { tools, answer, pieces, pauseMs, fails } = act.script;
  const script = [
    ...(tools.length === 0 ? [] : [`calls ${tools.join(", ")}`]),
    `answers ${answer} in ${pieces} x ${pauseMs} ms`,
    ...(fails === undefined ? [] : [`fails ${fails.times} x ${fails.how}`]),
  ];
  if (act.aside === true) return `#${act.n}, to nobody`;
  return `#${act.n} (the model ${script.join("; ")})`;
}

function tellTrouble(trouble: Trouble): string {
  if ("port" in trouble) return `${trouble.port} no. ${trouble.nth}: ${trouble.harm}`;
  const where = trouble.node === undefined ? "" : ` node-${trouble.node + 1}`;
  return `${seconds(trouble.atMs)} ${trouble.process}${where}${"forMs" in trouble ? ` for ${trouble.forMs} ms` : ""}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
