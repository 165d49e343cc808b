// Lists the tokens that may use the control plane, and the devices that agents may use; makes one, pairs one,
// and takes one away, whole or by a grant.
import type { DeviceGrant, MethodResult, Scope } from "@parley/protocol";
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
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";
import { codeOf, qrModules, renewedAs, type Code, type Renewed } from "../view/device-code.ts";

type Device = MethodResult<"devices.list">["devices"][number];

const words = t.devices;
/** Those of a browser first. */
const grants = Object.keys(words.grants) as readonly DeviceGrant[];
const scopes = ["read", "write", "approve", "admin"] as const satisfies readonly Scope[];

export class Devices extends Page {
  readonly #devices = this.reading(() => this.console.call("devices.list", {}));
  #minted: { readonly name: string; readonly token: string } | null = null;
  #link: string | null = null;
  #wrong: string | null = null;
  #pairing: Code | null = null;
  /** What one token gave way to, beside its device. */
  #renewed: Renewed | null = null;
  #pairWrong: string | null = null;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    // A token is shown once, and not to whoever comes back to the page.
    this.#minted = null;
    this.#link = null;
    this.#pairing = null;
    this.#renewed = null;
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
      { label: words.name, cell: (device) => html`<bdi>${unhidden(device.name)}</bdi>${this.#mark(device)}` },
      { label: words.may, cell: (device) => rightsOf(device) },
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
    const { name, peer, createdAtMs, connections, lastSeenAtMs } = device;
    const now = this.console.clock.now();
    return drawer({
      key: id,
      title: unhidden(name),
      back,
      body: html`${this.#renewed?.id === id ? renewedAs(this.#renewed) : nothing}${facts([
        ...(this.#isHere(device) ? [[words.here, words.hereMeans] as const] : []),
        [words.id, copyable(id)],
        [device.grants === undefined ? words.may : words.granted, rightsOf(device)],
        [words.connections, words.connected(connections)],
        ...(lastSeenAtMs === undefined ? [] : [[words.seen, timeOf(lastSeenAtMs, now)] as const]),
        [words.peer, copyable(peer, 40)],
        [words.made, timeOf(createdAtMs, now)],
      ])}`,
      foot: html`${this.#rotating(device)}${(device.most ?? []).map((grant) =>
        act({
          label: words.take(grant),
          look: "quiet",
          confirm: words.takeMeans(grant, unhidden(name)),
          run: async () => {
            await this.console.call("devices.revoke", { id, grants: [grant] });
            await this.#devices.again();
            return words.taken;
          },
        }),
      )}${act({
        label: words.revoke,
        look: "danger",
        confirm: this.#isHere(device) ? words.revokeHere : words.revokeMeans(unhidden(name), connections),
        run: async () => {
          const { closed } = await this.console.call("devices.revoke", { id });
          await this.#devices.again();
          return words.revoked(closed);
        },
      })}`,
    });
  }

  /** The browser that shows this page. */
  #isHere({ peer }: Device): boolean {
    return peer !== "" && peer === this.console.session.line.peer;
  }

  #mark(device: Device): unknown {
    return this.#isHere(device) ? html` <span class="badge">${words.hereShort}</span>` : nothing;
  }

  /** One that is away hears nothing; one that is there may be in other hands. */
  #rotating({ id, name, grants: granted, connections }: Device): unknown {
    const button = (label: string, means: string, byHand: boolean): TemplateResult =>
      act({ label, look: "quiet", confirm: means, run: () => this.#rotate(id, byHand) });
    const shown = unhidden(name);
    if (granted === undefined) return button(words.rotate, words.rotateShows(shown), false);
    const isThere = connections > 0;
    // Whoever hears nothing gets a code, too.
    return html`${button(words.rotate, isThere ? words.rotateTells(shown) : words.rotateByCode(shown), false)}${
      isThere ? button(words.rotateByHand, words.rotateByCode(shown), true) : nothing
    }`;
  }

  async #rotate(id: string, byHand: boolean): Promise<string | undefined> {
    const made = await this.console.call("devices.rotate", { id, ...(byHand ? { byHand } : {}) });
    const { link, handed } = made;
    this.#renewed =
      handed === true || link === undefined ? made : { ...made, modules: await qrModules(link) };
    await this.#devices.again();
    return handed === true ? words.rotatedTold : words.rotated(made.closed);
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
        <h3>${words.pairNew}</h3>
        ${this.#pairForm()}
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

  #pairForm(): TemplateResult {
    const made = this.#pairing;
    if (made !== null) return codeOf(made);
    return form({
      fields: [
        { name: "device", label: words.pairName, help: words.pairHelp, required: true },
        ...grants.map((grant) => ({
          name: grant,
          label: words.grants[grant],
          kind: "switch" as const,
          value: grant === "notify" ? "on" : "",
        })),
      ],
      submit: words.pair,
      wrong: this.#pairWrong,
      onSubmit: (values) =>
        void this.#pair(
          values["device"] ?? "",
          grants.filter((grant) => values[grant] === "on"),
        ),
    });
  }

  async #pair(name: string, asked: readonly DeviceGrant[]): Promise<void> {
    try {
      const made = await this.console.call("devices.pair", { name, grants: [...asked] });
      this.#pairing = { ...made, modules: await qrModules(made.link) };
      this.#pairWrong = null;
    } catch (error) {
      this.#pairWrong = wordsOf(error);
    }
    this.requestUpdate();
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

function rightsOf({ grants: granted, scopes: held }: Device): unknown {
  return granted === undefined ? mayOf(held) : granted.join(", ");
}

function mayOf(held: readonly Scope[]): unknown {
  return held.length === 0 ? nothing : held.map((scope) => words.may1[scope]).join(", ");
}
