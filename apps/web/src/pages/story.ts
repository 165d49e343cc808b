// Tells the story of one message, found by an id or by words from it: `#/why/<id>` can be sent to a
// colleague.
import type { PropertyValues, TemplateResult } from "lit";
import { html, nothing } from "lit";
import { facts } from "../parts/drawer.ts";
import { form } from "../parts/form.ts";
import { Page } from "../parts/page.ts";
import { storyView } from "../parts/story.ts";
import { copyable } from "../parts/text.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

const words = t.why;

export class MessageStory extends Page {
  readonly #story = this.reading(async () => {
    const [query] = this.address.rest;
    return query === undefined ? { story: null } : { story: await this.console.call("why", { query }) };
  });

  override updated(changed: PropertyValues<this>): void {
    if (changed.get("address") !== undefined) {
      this.#story.value = null;
      void this.#story.again();
    }
    super.updated(changed);
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      // The form stays when nothing was found.
      reading: { trouble: this.#story.trouble, value: this.#story.value ?? this.#story.trouble },
      body: () => this.#body(),
    });
  }

  #body(): TemplateResult {
    const story = this.#story.value?.story ?? null;
    const look = form({
      fields: [
        {
          name: "query",
          label: words.query,
          help: words.help,
          required: true,
          value: this.address.rest[0] ?? "",
        },
      ],
      submit: words.submit,
      onSubmit: ({ query = "" }) => this.console.go(addressOf("why", [query])),
    });
    return html`<div class="narrow">
      ${look}
      ${
        story === null
          ? nothing
          : html`<section class="card">
                ${facts([
                  [words.message, copyable(story.row.id)],
                  [words.session, copyable(story.row.session, 60)],
                  [words.conversation, copyable(story.row.conversation, 60)],
                  ...(story.turn === null ? [] : ([[words.turn, copyable(story.turn.id)]] as const)),
                  ...(story.turn?.costUsd === undefined
                    ? []
                    : ([[words.cost, `$${story.turn.costUsd.toFixed(4)}`]] as const)),
                ])}
              </section>
              ${storyView(story)}`
      }
    </div>`;
  }
}
