// The log-in screen, for a browser that has no token: usually the printed link logs in and nobody sees this.
import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { controlStyles } from "./chat-page-styles.ts";

export class Login extends LitElement {
  static override styles = [
    controlStyles,
    css`
      form {
        display: grid;
        gap: 0.8rem;
        max-width: 26rem;
        margin: 12vh auto 0;
      }
      h2,
      p {
        margin: 0;
      }
      h2 {
        font-size: 1.3rem;
      }
      p {
        color: var(--faint);
      }
      .alarm {
        color: var(--alarm);
      }
      .alarm::first-letter {
        text-transform: uppercase;
      }
      code {
        font-size: 0.92em;
      }
    `,
  ];
  static override properties = { reason: {} };
  declare reason: string | null;

  override render(): TemplateResult {
    return html`
      <form @submit=${this.#submit}>
        <h2>Log in</h2>
        <p>
          Open the link that the gateway printed when it started, or enter its token. It is in
          <code>gateway-token</code> in the state folder.
        </p>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
        ${this.reason === null ? nothing : html`<p class="alarm" role="alert">${this.reason}</p>`}
        <button>Log in</button>
      </form>
    `;
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    const token = new FormData(event.target as HTMLFormElement).get("token");
    if (typeof token === "string") this.dispatchEvent(new CustomEvent("login", { detail: token }));
  }
}
