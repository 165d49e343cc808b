// The alert rules and the dashboard ask for metrics that there are, and each alert says what to do.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const rules = join(root, "deploy/prometheus/alerts.yaml");
const metricName = /\b(?:parley|nodejs|process)_[a-z_]+\b/g;

/** Every metric that the gateway tells, with what a histogram makes of its name. */
function told(): ReadonlySet<string> {
  const folder = join(root, "apps/gateway/src/metrics");
  const source = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  const names = source.flatMap((text) => text.match(metricName) ?? []);
  return new Set(names.flatMap((name) => [name, `${name}_bucket`]));
}

test("every metric that they name is told by the gateway", () => {
  const known = told();
  for (const path of ["deploy/prometheus/alerts.yaml", "deploy/grafana/parley.json", "docs/slo.md"]) {
    const named = [...new Set(readFileSync(join(root, path), "utf8").match(metricName) ?? [])];
    expect(named.length).toBeGreaterThan(3);
    expect([path, named.filter((name) => !known.has(name))]).toEqual([path, []]);
  }
});

test("every alert has a section that says what to do", () => {
  const alerts = [...readFileSync(rules, "utf8").matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? "");
  const slo = readFileSync(join(root, "docs/slo.md"), "utf8");
  const sections = [...slo.matchAll(/^## (Parley\w+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(alerts);
  for (const name of alerts)
    expect(readFileSync(rules, "utf8")).toContain(`docs/slo.md#${name.toLowerCase()}`);
});

test("the dashboard has no two panels in one place", () => {
  const dashboard = JSON.parse(readFileSync(join(root, "deploy/grafana/parley.json"), "utf8")) as {
    readonly panels: readonly { readonly gridPos: { readonly x: number; readonly y: number } }[];
  };
  const places = dashboard.panels.map(({ gridPos }) => `${gridPos.x} ${gridPos.y}`);
  expect(new Set(places).size).toBe(places.length);
});

test("the rules have the form that Prometheus reads, and promtool takes them where it is installed", () => {
  const text = readFileSync(rules, "utf8");
  const alerts = text.split(/^ {6}- /m).slice(1);
  for (const alert of alerts) {
    const keys = [...alert.matchAll(/^(?: {8})?(\w+):/gm)].map(([, key]) => key);
    expect(keys.filter((key) => key !== "for")).toEqual(["alert", "expr", "labels", "annotations"]);
  }
  const { status, stdout, error } = spawnSync("promtool", ["check", "rules", rules], { encoding: "utf8" });
  if (error === undefined) expect([status, stdout.includes("SUCCESS")]).toEqual([0, true]);
});

test("each alert is driven once in the test that promtool runs", () => {
  const names = (path: string, of: RegExp): readonly string[] => [
    ...new Set([...readFileSync(join(root, path), "utf8").matchAll(of)].map(([, name]) => name ?? "")),
  ];
  const alerts = names("deploy/prometheus/alerts.yaml", /- alert: (\w+)/g);
  expect(names("deploy/prometheus/alerts.test.yaml", /- alertname: (\w+)/g).toSorted()).toEqual(
    alerts.toSorted(),
  );
});
