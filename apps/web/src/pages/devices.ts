// Lists the tokens that may use the control plane; makes one, and takes one away.
import type { MethodResult, Scope } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { form } from "../parts/form.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { timeOf } from "../parts/time.ts";
import { addressOf } from "../shell/address.ts";
import { t } from "../texts/texts.ts";

type Device = MethodResult<"devices.list">["devices"][number];

const words = t.devices;
const scopes = ["read", "write", "approve", "admin"] as const satisfies readonly Scope[];

export class Devices extends Page {
  readonly #devices = this.reading(() => this.console.call("devices.list", {}));
  #minted: { readonly name: string; readonly token: string } | null = null;
  #link: string | null = null;
  #wrong: string | null = null;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    // A token is shown once, and not to whoever comes back to the page.
    this.#minted = null;
    this.#link = null;
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      acts: html`<a class="button quiet" href=${addressOf("devices", [], { new: "1" })}>${words.new}</a>`,
      reading: this.#devices,
      body: () => this.#body(this.#devices.value?.devices ?? []),
      drawer: this.address.query.get("new") === null ? this.#drawer() : this.#newDrawer(),
    });
  }

  #body(devices: readonly Device[]): TemplateResult {
    const now = this.console.clock.now();
    const columns: readonly Column<Device>[] = [
      { label: words.name, cell: ({ name }) => html`<bdi>${unhidden(name)}</bdi>` },
      { label: words.may, cell: ({ scopes: held }) => mayOf(held) },
      {
        label: words.connections,
        cell: ({ connections }) =>
          html`<span class="badge ${connections > 0 ? "ok" : "off"}">${words.connected(connections)}</span>`,
        isWide: true,
      },
      { label: words.made, cell: ({ createdAtMs }) => timeOf(createdAtMs, now), isWide: true },
    ];
    return list<Device>({
      label: words.title,
      rows: devices,
      columns,
      keyOf: ({ id }) => id,
      hrefOf: ({ id }) => addressOf("devices", [id]),
      textOf: ({ name, id, peer }) => `${name} ${id} ${peer}`,
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [id] = this.address.rest;
    if (id === undefined || this.#devices.value === null) return null;
    const device = this.#devices.value.devices.find((each) => each.id === id);
    const back = addressOf("devices");
    if (device === undefined)
      return drawer({ key: id, title: words.one, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const { name, scopes: held, peer, createdAtMs, connections } = device;
    return drawer({
      key: id,
      title: unhidden(name),
      back,
      body: facts([
        [words.id, copyable(id)],
        [words.may, mayOf(held)],
        [words.connections, words.connected(connections)],
        [words.peer, copyable(peer, 40)],
        [words.made, timeOf(createdAtMs, this.console.clock.now())],
      ]),
      foot: act({
        label: words.revoke,
        look: "danger",
        confirm: words.revokeMeans(unhidden(name), connections),
        run: async () => {
          const { closed } = await this.console.call("devices.revoke", { id });
          await this.#devices.again();
          return words.revoked(closed);
        },
      }),
    });
  }

  #newDrawer(): TemplateResult {
    // Nobody can pass on what they have not.
    const held = scopes.filter((scope) => this.console.may(scope));
    const minted = this.#minted;
    return drawer({
      key: "new",
      title: words.new,
      back: addressOf("devices"),
      body: html`${
          minted === null
            ? form({
                fields: [
                  { name: "name", label: words.name, help: words.nameHelp, required: true },
                  ...held.map((scope) => ({
                    name: scope,
                    label: words.scopes[scope],
                    kind: "switch" as const,
                    value: scope === "read" ? "on" : "",
                  })),
                ],
                submit: words.make,
                wrong: this.#wrong,
                onSubmit: (values) =>
                  void this.#mint(
                    values["name"] ?? "",
                    held.filter((scope) => values[scope] === "on"),
                  ),
              })
            : html`<p><b>${words.once(minted.name)}</b></p>
                ${copyable(minted.token, 120)}`
        }
        <h3>${words.byLink}</h3>
        <p class="quiet-text">${words.linkHelp}</p>
        ${
          this.#link === null
            ? act({
                label: words.link,
                look: "quiet",
                run: async () => {
                  this.#link = (await this.console.call("devices.link", {})).url;
                  this.requestUpdate();
                  return undefined;
                },
              })
            : copyable(this.#link, 200)
        }`,
    });
  }

  async #mint(name: string, held: readonly Scope[]): Promise<void> {
    try {
      const { token } = await this.console.call("devices.mint", { name, scopes: [...held] });
      this.#minted = { name, token };
      this.#wrong = null;
    } catch (error) {
      this.#wrong = wordsOf(error);
    }
    await this.#devices.again();
  }
}

function mayOf(held: readonly Scope[]): unknown {
  return held.length === 0 ? nothing : held.map((scope) => words.may1[scope]).join(", ");
}
