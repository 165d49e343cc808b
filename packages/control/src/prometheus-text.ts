// Writes numbers in Prometheus' text format (exposition format 0.0.4), with its conventions for names and
// units: base units, `_total` for counters. The number of series is bounded (I9): beyond the limit new ones
// are counted under "other".

type Labels = { readonly [name: string]: string };

interface Counter {
  add(labels: Labels, by?: number): void;
}

interface Histogram {
  observe(labels: Labels, value: number): void;
}

/** A number that is read when somebody scrapes. */
export type Sample = readonly [labels: Labels, value: number];

export interface MetricRegistry {
  counter(name: string, help: string): Counter;
  histogram(name: string, help: string, buckets: readonly number[]): Histogram;
  /** When `read` rejects, the metric is left out this time. */
  look(
    kind: "gauge" | "counter",
    name: string,
    help: string,
    read: () => readonly Sample[] | Promise<readonly Sample[]>,
  ): void;
  text(): Promise<string>;
}

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

const mostSeries = 200;

export function metricRegistry(): MetricRegistry {
  const families: (() => Promise<string>)[] = [];

  const head = (name: string, help: string, kind: string): string =>
    `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${kind}\n`;

  return {
    counter(name, help) {
      const series = seriesOf(() => ({ value: 0 }));
      families.push(
        async () =>
          head(name, help, "counter") +
          series
            .all()
            .map(([labels, { value }]) => line(name, labels, value))
            .join(""),
      );
      return { add: (labels, by = 1) => void (series.at(labels).value += by) };
    },
    histogram(name, help, buckets) {
      const series = seriesOf(() => ({ counts: buckets.map(() => 0), sum: 0, count: 0 }));
      families.push(async () => {
        const shown = series
          .all()
          .flatMap(([labels, { counts, sum, count }]) => [
            ...buckets.map((bucket, index) =>
              line(`${name}_bucket`, { ...labels, le: String(bucket) }, counts[index] ?? 0),
            ),
            line(`${name}_bucket`, { ...labels, le: "+Inf" }, count),
            line(`${name}_sum`, labels, sum),
            line(`${name}_count`, labels, count),
          ]);
        return head(name, help, "histogram") + shown.join("");
      });
      return {
        observe(labels, value) {
          const found = series.at(labels);
          buckets.forEach((bucket, index) => {
            if (value <= bucket) found.counts[index] = (found.counts[index] ?? 0) + 1;
          });
          found.sum += value;
          found.count += 1;
        },
      };
    },
    look(kind, name, help, read) {
      families.push(async () => {
        const samples = await Promise.resolve()
          .then(read)
          .catch(() => null);
        return samples === null
          ? ""
          : head(name, help, kind) + samples.map(([labels, value]) => line(name, labels, value)).join("");
      });
    },
    text: async () => (await Promise.all(families.map((each) => each()))).join(""),
  };
}

function seriesOf<T>(make: () => T): { at(labels: Labels): T; all(): readonly (readonly [Labels, T])[] } {
  const known = new Map<string, readonly [Labels, T]>();
  return {
    at(labels) {
      const own = JSON.stringify(labels);
      const others = Object.fromEntries(Object.keys(labels).map((name) => [name, "other"]));
      const isNew = !known.has(own) && known.size >= mostSeries;
      const key = isNew ? JSON.stringify(others) : own;
      const found = known.get(key) ?? ([isNew ? others : labels, make()] as const);
      known.set(key, found);
      return found[1];
    },
    all: () => [...known.values()],
  };
}

function line(name: string, labels: Labels, value: number): string {
  const inner = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${inner.length === 0 ? "" : `{${inner.join(",")}}`} ${shown(value)}\n`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function shown(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
