// The conversation of this browser with the agent, and where one writes.
import { html, type TemplateResult } from "lit";
import { Page } from "../parts/page.ts";
import { Composer } from "../view/composer.ts";
import { Messages } from "../view/messages.ts";

customElements.define("parley-composer", Composer);
customElements.define("parley-messages", Messages);

export class Chat extends Page {
  #quit: () => void = () => {};

  override connectedCallback(): void {
    super.connectedCallback();
    this.#quit = this.console.onChange(() => this.requestUpdate());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#quit();
  }

  override render(): TemplateResult {
    const { chat, session } = this.console;
    const send = ({ detail }: CustomEvent<string>): void => session.send(detail);
    return html`<div class="chat">
      <h1 class="sr-only">Chat</h1>
      <parley-messages
        .chat=${chat}
        @discard=${({ detail }: CustomEvent<string>) => session.discard(detail)}
        @press=${send}
        @earlier=${() => session.earlier()}
      ></parley-messages>
      <parley-composer .working=${chat.working} @send=${send} @stop=${() => session.stop()}></parley-composer>
    </div>`;
  }
}
