// The page: header with the state of the connection, the conversation, and where one writes; or the log-in
// screen.
import { systemClock, systemIds } from "@parley/protocol";
import { html, LitElement, type TemplateResult } from "lit";
import { chatSession, type ChatSession } from "../session/chat-session.ts";
import { codeIn, storedToken } from "../session/credential.ts";
import { storedOutbox } from "../session/outbox.ts";
import { emptyChat, type ChatState, type Connection } from "../session/state.ts";
import { pageStyles } from "./chat-page-styles.ts";

const connectionWords: { readonly [kind in Connection["kind"]]: string } = {
  "logged-out": "Logged out",
  connecting: "Connecting…",
  online: "Online",
  offline: "Offline, trying again…",
};

export class ChatPage extends LitElement {
  static override styles = pageStyles;
  static override properties = { chat: { state: true } };
  declare chat: ChatState;
  readonly #session: ChatSession;
  readonly #hurry = (): void => {
    if (document.visibilityState === "visible") this.#session.hurry();
  };

  constructor() {
    super();
    this.chat = emptyChat;
    this.#session = chatSession({
      origin: location.origin,
      token: storedToken(localStorage),
      outbox: storedOutbox(localStorage),
      clock: systemClock(),
      ids: systemIds(),
      onChange: (chat) => {
        this.chat = chat;
      },
    });
  }

  override connectedCallback(): void {
    super.connectedCallback();
    for (const change of ["online", "offline"]) addEventListener(change, this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
    const login = codeIn(new URL(location.href));
    // Out of the address bar and the history before anything else happens.
    if (login !== null) history.replaceState(null, "", login.rest);
    this.#session.start(login?.code ?? null);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const change of ["online", "offline"]) removeEventListener(change, this.#hurry);
    document.removeEventListener("visibilitychange", this.#hurry);
    this.#session.end();
  }

  override render(): TemplateResult {
    const { connection, working } = this.chat;
    return html`
      <header>
        <h1>Parley</h1>
        <p class="connection ${connection.kind}" role="status">${connectionWords[connection.kind]}</p>
      </header>
      ${
        connection.kind === "logged-out"
          ? html`<parley-login .reason=${connection.reason} @login=${this.#login}></parley-login>`
          : html`
              <parley-messages
                .chat=${this.chat}
                @discard=${this.#discard}
                @press=${this.#send}
                @earlier=${() => this.#session.earlier()}
              ></parley-messages>
              <parley-composer
                .working=${working}
                @send=${this.#send}
                @stop=${() => this.#session.stop()}
              ></parley-composer>
            `
      }
    `;
  }

  #login({ detail }: CustomEvent<string>): void {
    this.#session.login(detail);
  }

  #send({ detail }: CustomEvent<string>): void {
    this.#session.send(detail);
  }

  #discard({ detail }: CustomEvent<string>): void {
    this.#session.discard(detail);
  }
}
