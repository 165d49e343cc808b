// Lists the MCP servers with their tools; one is tried, and tools that wait are shown whole before they are
// approved.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { diffLines, diffView } from "../parts/diff.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Server = MethodResult<"mcp.list">["servers"][number];
type Waiting = Server["waiting"][number];

const words = t.mcp;
const looks = { stopped: "off", starting: "warn", running: "ok", failed: "danger" } as const;

export class McpServers extends Page {
  readonly #servers = this.reading(() => this.console.call("mcp.list", {}));

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#servers,
      body: () => this.#body(this.#servers.value?.servers ?? []),
      drawer: this.#drawer(),
    });
  }

  #body(servers: readonly Server[]): TemplateResult {
    const columns: readonly Column<Server>[] = [
      { label: words.name, cell: ({ name }) => html`<bdi>${name}</bdi>` },
      { label: words.state, cell: badge },
      { label: words.tools, cell: ({ tools }) => tools.length, isNumeric: true, isWide: true },
      {
        label: words.waiting,
        cell: ({ waiting }) =>
          waiting.length === 0 ? nothing : html`<span class="badge warn">${waiting.length}</span>`,
      },
      {
        label: words.target,
        cell: ({ target }) => html`<span class="mono"><bdi>${unhidden(target)}</bdi></span>`,
        isWide: true,
      },
    ];
    return list<Server>({
      label: words.title,
      rows: servers,
      columns,
      keyOf: ({ name }) => name,
      hrefOf: ({ name }) => addressOf("mcp", [name]),
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [name] = this.address.rest;
    if (name === undefined || this.#servers.value === null) return null;
    const server = this.#servers.value.servers.find((each) => each.name === name);
    const back = addressOf("mcp");
    if (server === undefined)
      return drawer({ key: name, title: name, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const { target, transport, reason, version, starts, listedAtMs, tools, waiting, leftOut } = server;
    return drawer({
      key: name,
      title: name,
      back,
      body: html`${facts([
          [words.state, badge(server)],
          ...(reason === null ? [] : ([[words.reason, html`<bdi>${unhidden(reason)}</bdi>`]] as const)),
          [words.target, copyable(target, 48)],
          [words.transport, transport],
          ...(version === null ? [] : ([[words.version, html`<bdi>${unhidden(version)}</bdi>`]] as const)),
          [words.starts, starts.toLocaleString("en")],
          [words.listed, timeOf(listedAtMs, this.console.clock.now())],
        ])}
        ${
          waiting.length === 0
            ? nothing
            : html`<section>
                <h3>${words.waitingOnes}</h3>
                <p class="quiet-text small">${words.waitingHelp}</p>
                ${waiting.map(waitingTool)}
              </section>`
        }
        <section>
          <h3>${words.usable(tools.length)}</h3>
          <ul class="plain-list">
            ${tools.map(
              ({ tool, description, readOnly }) =>
                html`<li>
                  <div>
                    <code><bdi>${tool}</bdi></code>
                    ${readOnly ? html`<span class="quiet-text">${words.readOnly}</span>` : nothing}
                    <p class="quiet-text"><bdi>${unhidden(description)}</bdi></p>
                  </div>
                </li>`,
            )}
            ${leftOut.map(
              ({ name: left, reason: why }) =>
                html`<li>
                  <div>
                    <code><bdi>${unhidden(left)}</bdi></code> <span class="badge off">${words.leftOut}</span>
                    <p class="quiet-text"><bdi>${unhidden(why)}</bdi></p>
                  </div>
                </li>`,
            )}
          </ul>
        </section>`,
      foot: this.#acts(server),
    });
  }

  #acts({ name, waiting, code }: Server): TemplateResult {
    return html`<div class="act-row">
      ${
        waiting.length > 0 && this.console.may("approve")
          ? act({
              label: words.approve(waiting.length),
              confirm: words.approveMeans,
              run: async () => {
                // The code names exactly what was read here.
                const { tools } = await this.console.call("mcp.approve", { name, code });
                await this.#servers.again();
                return words.approved(tools.length);
              },
            })
          : nothing
      }
      ${
        this.console.may("admin")
          ? act({
              label: words.test,
              look: "quiet",
              confirm: words.testMeans,
              run: async () => {
                const { state, reason, tools } = await this.console.call("mcp.test", { name });
                await this.#servers.again();
                return reason === null ? `${words.states[state]}, ${words.usable(tools.length)}` : reason;
              },
            })
          : nothing
      }
      ${
        this.console.may("approve")
          ? act({
              label: words.forget,
              look: "danger",
              confirm: words.forgetMeans,
              run: async () => {
                const { forgotten } = await this.console.call("mcp.forget", { name });
                await this.#servers.again();
                return forgotten ? words.forgotten : words.nothingKnown;
              },
            })
          : nothing
      }
    </div>`;
  }
}

function badge({ state, enabled }: Server): TemplateResult {
  return enabled
    ? html`<span class="badge ${looks[state]}">${words.states[state]}</span>`
    : html`<span class="badge off">${words.off}</span>`;
}

/** The whole of it, since people approve what it says and what it takes. */
function waitingTool(tool: Waiting): TemplateResult {
  const whole = ({ description, schema }: Pick<Waiting, "description" | "schema">): string =>
    `${description}\n${JSON.stringify(schema, null, 2)}`;
  return html`<div>
    <p>
      <code><bdi>${tool.tool}</bdi></code>
    </p>
    ${
      tool.before === null
        ? html`<pre class="block" tabindex="0" aria-label=${tool.tool}>${unhidden(whole(tool))}</pre>`
        : diffView(tool.tool, diffLines(whole(tool.before), whole(tool)))
    }
  </div>`;
}
