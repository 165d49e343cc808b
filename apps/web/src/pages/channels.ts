// Shows how each account of a channel does and tries it with a message, lets people in who ask, and puts
// people out who were let in.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { form } from "../parts/form.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { wordsOf, type Reading } from "../parts/reading.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { ago, timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Account = MethodResult<"channels.list">["channels"][number];
type Pairing = MethodResult<"pairing.list">;
type Delivery = MethodResult<"outbox.show">;
type Place = MethodResult<"channels.places">["places"][number];

const words = t.channels;
const looks: { readonly [state in Account["state"]]: string } = {
  ok: "ok",
  starting: "warn",
  degraded: "warn",
  down: "danger",
  stopped: "off",
  elsewhere: "off",
};

const ends: { readonly [state in Delivery["state"]]: string } = {
  sent: "ok",
  failed: "danger",
  ambiguous: "warn",
  open: "off",
  waiting: "off",
};

export class Channels extends Page {
  /** The test message that was sent last, and through which account. */
  #tested: { readonly account: string; readonly id: string } | null = null;
  #isTesting = false;
  #wrong: string | null = null;
  readonly #receipt: Reading<Delivery | null> = this.reading(
    async () => {
      const { value } = this.#receipt;
      if (this.#tested === null || (value !== null && !waits(value))) return value;
      return this.console.call("outbox.show", { id: this.#tested.id });
    },
    1_000,
    () => this.#tested?.id ?? "",
  );
  readonly #places = this.reading(
    async () => {
      const account = this.#chosen();
      if (account === undefined || !this.console.may("admin")) return null;
      const { channel, account: name } = account;
      return (await this.console.call("channels.places", { channel, account: name })).places;
    },
    60_000,
    () => {
      const account = this.#chosen();
      return account === undefined ? "" : idOf(account);
    },
  );
  readonly #view = this.reading(async () => {
    const [{ channels }, pairing] = await Promise.all([
      this.console.call("channels.list", {}),
      this.console.call("pairing.list", {}),
    ]);
    return { channels, pairing };
  }, 3_000);

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#view,
      body: () => {
        if (this.#view.value === null) return nothing;
        const { channels, pairing } = this.#view.value;
        return html`${this.#queue(pairing.pending)} ${this.#accounts(channels)}
        ${this.#people(pairing.paired)}`;
      },
      drawer: this.#drawer(),
    });
  }

  #queue(pending: Pairing["pending"]): TemplateResult {
    const now = this.console.clock.now();
    return html`<section class="card before">
      <h2>${words.queue}</h2>
      ${
        pending.length === 0
          ? html`<p class="quiet-text small">${words.noQueue}</p>`
          : html`<ul class="plain-list stacked">
              ${pending.map(
                ({ code, channel, account, senderId, senderName, expiresAtMs }) =>
                  html`<li data-key=${code}>
                    <div>
                      <b><bdi>${unhidden(senderName)}</bdi></b>
                      <p class="quiet-text">
                        <bdi>${channel}:${account}</bdi> · <code><bdi>${unhidden(senderId)}</bdi></code> ·
                        ${words.code} <code>${code}</code> · ${words.until(ago(expiresAtMs, now))}
                      </p>
                    </div>
                    ${
                      this.console.may("approve")
                        ? act({
                            label: words.approve,
                            confirm: words.approveMeans(unhidden(senderName), channel),
                            run: async () => {
                              await this.console.call("pairing.approve", { code });
                              await this.#view.again();
                              return words.approved;
                            },
                          })
                        : nothing
                    }
                  </li>`,
              )}
            </ul>`
      }
    </section>`;
  }

  #accounts(channels: readonly Account[]): TemplateResult {
    const now = this.console.clock.now();
    const columns: readonly Column<Account>[] = [
      { label: words.account, cell: (row) => html`<bdi>${idOf(row)}</bdi>` },
      {
        label: words.state,
        cell: ({ state }) => html`<span class="badge ${looks[state]}">${words.states[state]}</span>`,
      },
      { label: words.reason, cell: ({ reason }) => html`<bdi>${unhidden(reason ?? "")}</bdi>`, isWide: true },
      { label: words.lastInbound, cell: ({ lastInboundAtMs }) => timeOf(lastInboundAtMs, now), isWide: true },
    ];
    return list<Account>({
      label: words.title,
      rows: channels,
      columns,
      keyOf: idOf,
      hrefOf: (row) => addressOf("channels", [idOf(row)]),
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #people(paired: Pairing["paired"]): TemplateResult {
    const now = this.console.clock.now();
    return html`<section class="card after">
      <h2>${words.people}</h2>
      ${
        paired.length === 0
          ? html`<p class="quiet-text small">${words.noPeople}</p>`
          : html`<ul class="plain-list stacked">
              ${paired.map(({ channel, account, senderId, senderName, atMs }) => {
                const id = `${channel}:${account}:${senderId}`;
                return html`<li>
                  <div>
                    <bdi>${unhidden(senderName)}</bdi>
                    <p class="quiet-text">${copyable(id, 40)} ${timeOf(atMs, now)}</p>
                  </div>
                  ${
                    this.console.may("approve")
                      ? act({
                          label: words.revoke,
                          look: "danger",
                          confirm: words.revokeMeans(unhidden(senderName)),
                          run: async () => {
                            await this.console.call("pairing.revoke", { id });
                            await this.#view.again();
                            return undefined;
                          },
                        })
                      : nothing
                  }
                </li>`;
              })}
            </ul>`
      }
    </section>`;
  }

  #chosen(): Account | undefined {
    const [id] = this.address.rest;
    return this.#view.value?.channels.find((each) => idOf(each) === id);
  }

  #drawer(): TemplateResult | null {
    const [id] = this.address.rest;
    if (id === undefined || this.#view.value === null) return null;
    const account = this.#chosen();
    const back = addressOf("channels");
    if (account === undefined)
      return drawer({ key: id, title: id, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const { state, reason, lastInboundAtMs } = account;
    return drawer({
      key: id,
      title: id,
      back,
      body: html`${facts([
          [words.state, html`<span class="badge ${looks[state]}">${words.states[state]}</span>`],
          ...(reason === undefined ? [] : ([[words.reason, html`<bdi>${unhidden(reason)}</bdi>`]] as const)),
          [words.lastInbound, timeOf(lastInboundAtMs, this.console.clock.now())],
        ])}
        <p class="quiet-text">${words.means[state]}</p>
        <div class="act-row">
          ${this.#link("config", words.config)} ${this.#link("logs", words.logs)}
          ${this.#link("outbox", words.outbox)}
        </div>
        ${this.console.may("admin") ? this.#test(account) : nothing}`,
    });
  }

  #test(account: Account): TemplateResult {
    const places = this.#places.value ?? [];
    const isOfThis = this.#tested?.account === idOf(account);
    return html`<section>
      <h3>${words.test}</h3>
      ${form({
        fields: [
          {
            name: "to",
            label: words.testTo,
            help: words.testToHelp,
            required: true,
            suggestions: places.map((place) => ({ value: place.conversation, label: placeWords(place) })),
          },
          { name: "text", label: words.testText, help: words.testTextHelp },
        ],
        submit: words.testSend,
        isBusy: this.#isTesting,
        wrong: this.#wrong,
        onSubmit: ({ to = "", text = "" }) => void this.#send(account, to, text),
      })}
      ${isOfThis ? this.#fate() : nothing}
    </section>`;
  }

  async #send(account: Account, to: string, text: string): Promise<void> {
    this.#isTesting = true;
    this.#wrong = null;
    this.requestUpdate();
    try {
      const { id } = await this.console.call("channels.test", {
        to,
        channel: account.channel,
        account: account.account,
        ...(text === "" ? {} : { text }),
        idempotencyKey: this.console.ids.uuid(),
      });
      this.#tested = { account: idOf(account), id };
    } catch (error) {
      this.#tested = null;
      this.#wrong = wordsOf(error);
    }
    this.#isTesting = false;
    this.requestUpdate();
  }

  /** What became of the test message. */
  #fate(): TemplateResult {
    const delivery = this.#receipt.value;
    if (delivery === null) return html`<p class="quiet-text small" role="status">${words.fates.waiting}</p>`;
    const { state, conversation, parts } = delivery;
    const { messageId = null, attempts = 0, reason = null } = parts[0] ?? {};
    return html`<div class="after" role="status">
      <p><span class="badge ${ends[state]}">${words.fates[state]}</span></p>
      ${facts([
        [words.testTo, copyable(conversation, 44)],
        ...(messageId === null ? [] : ([[words.receipt, copyable(messageId, 30)]] as const)),
        ...(attempts < 2 ? [] : ([[words.attempts, html`<span class="number">${attempts}</span>`]] as const)),
        ...(reason === null || state === "sent"
          ? []
          : ([[words.reason, html`<bdi>${unhidden(reason)}</bdi>`]] as const)),
      ])}
    </div>`;
  }

  #link(page: string, shown: string): unknown {
    return this.console.has(page)
      ? html`<a class="button quiet" href=${addressOf(page)}>${shown}</a>`
      : nothing;
  }
}

function waits({ state }: Delivery): boolean {
  return state === "waiting" || state === "open";
}

function placeWords({ names, title, kind }: Place): string {
  const who = [...(title === null ? [] : [title]), ...names.slice(0, 3)].map((each) => unhidden(each));
  return [...who, words.kinds[kind]].join(" · ");
}

function idOf({ channel, account }: Account): string {
  return `${channel}:${account}`;
}
