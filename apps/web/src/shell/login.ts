// The log-in screen, for a browser that has no token: usually the printed link logs in and nobody sees this.
import { html, type TemplateResult } from "lit";
import { form } from "../parts/form.ts";
import { t } from "../texts/texts.ts";

export function loginView(reason: string | null, logIn: (token: string) => void): TemplateResult {
  return html`<main class="login">
    <h1>${t.login.title}</h1>
    <p class="quiet-text">${t.login.lead} <code>gateway-token</code> ${t.login.leadEnd}</p>
    ${form({
      fields: [
        {
          name: "token",
          label: t.login.token,
          kind: "password",
          autocomplete: "current-password",
          required: true,
        },
      ],
      submit: t.login.submit,
      wrong: reason,
      onSubmit: ({ token = "" }) => logIn(token),
    })}
  </main>`;
}
