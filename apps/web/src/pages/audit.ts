// Lists who asked the gateway for what, by which token, and whether it was done.
import type { MethodResult } from "@parley/protocol";
import { html, type TemplateResult } from "lit";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type AuditEntry = MethodResult<"audit.list">["records"][number] & {
  readonly key: string;
  readonly name: string | undefined;
};

const words = t.audit;

export class Audit extends Page {
  readonly #records = this.reading(async () => {
    const [{ records }, known] = await Promise.all([
      this.console.call("audit.list", { limit: 500 }),
      // Without names the records are told all the same, by their tokens.
      this.console.call("devices.list", {}).catch(() => null),
    ]);
    // A device that was revoked has no name any more.
    const names = new Map(known?.devices.map(({ id, name }) => [`device:${id}`, name]));
    const counts = new Map<string, number>();
    const keyed = records.map((record): AuditEntry => {
      const base = `${record.atMs}-${record.method}`;
      const count = (counts.get(base) ?? 0) + 1;
      counts.set(base, count);
      return { ...record, key: `${base}-${count}`, name: names.get(record.by) };
    });
    return keyed.toReversed();
  });

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#records,
      body: () => this.#body(this.#records.value ?? []),
      drawer: this.#drawer(),
    });
  }

  #body(records: readonly AuditEntry[]): TemplateResult {
    const now = this.console.clock.now();
    const columns: readonly Column<AuditEntry>[] = [
      { label: words.method, cell: ({ method }) => html`<span class="mono">${method}</span>` },
      { label: words.state, cell: badge },
      {
        label: words.by,
        cell: ({ by, name, client }) => html`<bdi>${unhidden(`${name ?? by} (${client})`)}</bdi>`,
        isWide: true,
      },
      { label: words.about, cell: ({ about }) => html`<bdi>${aboutOf(about)}</bdi>`, isWide: true },
      { label: words.when, cell: ({ atMs }) => timeOf(atMs, now), isWide: true },
    ];
    return list<AuditEntry>({
      label: words.title,
      rows: records,
      columns,
      keyOf: ({ key }) => key,
      hrefOf: ({ key }) => addressOf("audit", [key]),
      textOf: ({ method, by, name, client, about, address }) =>
        `${method} ${by} ${name ?? ""} ${client} ${address} ${aboutOf(about)}`,
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [key] = this.address.rest;
    if (key === undefined || this.#records.value === null) return null;
    const record = this.#records.value.find((each) => each.key === key);
    const back = addressOf("audit");
    if (record === undefined)
      return drawer({ key, title: words.title, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const { method, by, name, client, address, about, atMs } = record;
    return drawer({
      key,
      title: method,
      back,
      body: facts([
        [words.state, badge(record)],
        ...(name === undefined ? [] : [[words.device, html`<bdi>${unhidden(name)}</bdi>`] as const]),
        [words.by, copyable(by, 44)],
        [words.client, html`<bdi>${unhidden(client)}</bdi>`],
        [words.address, html`<bdi>${address}</bdi>`],
        [words.when, timeOf(atMs, this.console.clock.now())],
        ...Object.entries(about).map(([name, value]): readonly [string, unknown] => [
          unhidden(name),
          html`<bdi>${unhidden(String(value))}</bdi>`,
        ]),
      ]),
    });
  }
}

function badge({ ok, code }: AuditEntry): TemplateResult {
  return ok
    ? html`<span class="badge ok">${words.done}</span>`
    : html`<span class="badge danger">${words.refused} <bdi>${code ?? ""}</bdi></span>`;
}

function aboutOf(about: AuditEntry["about"]): string {
  return unhidden(
    Object.entries(about)
      .map(([name, value]) => `${name}: ${String(value)}`)
      .join(", "),
  );
}
