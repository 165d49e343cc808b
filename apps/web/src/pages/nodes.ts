// Lists the processes of this gateway: what each does, and which accounts it receives for.
import type { MethodResult } from "@parley/protocol";
import { html, type TemplateResult } from "lit";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable } from "../parts/text.ts";
import { duration, timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Node = MethodResult<"nodes.list">["nodes"][number];

const words = t.nodes;

export class Nodes extends Page {
  readonly #nodes = this.reading(() => this.console.call("nodes.list", {}));

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#nodes,
      body: () => this.#body(this.#nodes.value?.nodes ?? []),
      drawer: this.#drawer(),
    });
  }

  #body(nodes: readonly Node[]): TemplateResult {
    const now = this.console.clock.now();
    const columns: readonly Column<Node>[] = [
      { label: words.node, cell: ({ node }) => html`<bdi>${node}</bdi>` },
      { label: words.state, cell: badge },
      { label: words.role, cell: ({ role }) => words.roles[role], isWide: true },
      { label: words.turns, cell: ({ turns }) => turns, isNumeric: true, isWide: true },
      { label: words.deliveries, cell: ({ deliveries }) => deliveries, isNumeric: true, isWide: true },
      { label: words.started, cell: ({ startedAtMs }) => timeOf(startedAtMs, now), isWide: true },
    ];
    return list<Node>({
      label: words.title,
      rows: nodes,
      columns,
      keyOf: ({ boot }) => boot,
      hrefOf: ({ boot }) => addressOf("nodes", [boot]),
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [boot] = this.address.rest;
    if (boot === undefined || this.#nodes.value === null) return null;
    const node = this.#nodes.value.nodes.find((each) => each.boot === boot);
    const back = addressOf("nodes");
    if (node === undefined)
      return drawer({
        key: boot,
        title: words.title,
        back,
        body: html`<p class="quiet-text">${words.gone}</p>`,
      });
    return drawer({
      key: boot,
      title: node.node,
      back,
      body: facts([
        [words.state, badge(node)],
        [words.role, words.roles[node.role]],
        [words.version, node.version],
        [words.pid, String(node.pid)],
        [words.url, html`<bdi>${node.url}</bdi>`],
        [words.boot, copyable(boot)],
        [words.started, timeOf(node.startedAtMs, this.console.clock.now())],
        [words.turns, String(node.turns)],
        [words.deliveries, String(node.deliveries)],
        [words.leads, html`<bdi>${this.#leadsOf(node)}</bdi>`],
      ]),
    });
  }

  /** Accounts are shared out where there are several processes; one alone has them all. */
  #leadsOf({ leads, role }: Node): string {
    const isAlone = this.#nodes.value?.nodes.filter(({ up }) => up).length === 1;
    if (leads.length > 0) return leads.join(", ");
    return isAlone && role === "all" ? words.every : words.none;
  }
}

function badge({ up, state, silentMs }: Node): TemplateResult {
  return up
    ? html`<span class="badge ${state === "running" ? "ok" : "warn"}"><bdi>${state}</bdi></span>`
    : html`<span class="badge off">${words.silent(duration(silentMs))}</span>`;
}
