// Lets an operator give one session another model, other thinking, or thoughts that are shown: each field
// says what the session has now, and a choice counts from its next message on.
import { reasoningLevels, thinkingLevels, type MethodParams, type MethodResult } from "@parley/protocol";
import { html, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import { unhidden } from "../parts/text.ts";
import { t } from "../texts/texts.ts";

type Patch = Omit<MethodParams<"sessions.patch">, "key">;

const words = t.sessions;

export function sessionSettings(
  { model, thinking, reasoning }: Pick<MethodResult<"sessions.show">, "model" | "thinking" | "reasoning">,
  models: readonly string[],
  change: (patch: Patch) => void,
): TemplateResult {
  // A model that the config no longer has is still what the session asks for.
  const known = model === null || models.includes(model) ? models : [model, ...models];
  return html`<div class="settings-grid">
    ${choice("session-model", words.model, known, model, (chosen) => change({ model: chosen }))}
    ${choice("session-thinking", words.thinking, thinkingLevels, thinking, (chosen) => change({ thinking: chosen }))}
    ${choice("session-reasoning", words.reasoning, reasoningLevels, reasoning, (chosen) => change({ reasoning: chosen }))}
  </div>`;
}

function choice<V extends string>(
  id: string,
  label: string,
  values: readonly V[],
  now: V | null,
  choose: (value: V | null) => void,
): TemplateResult {
  return html`<label for=${id}>${label}</label>
    <select
      id=${id}
      .value=${live(now ?? "")}
      @change=${({ target }: Event) => {
        const { value } = target as HTMLSelectElement;
        choose(values.find((each) => each === value) ?? null);
      }}
    >
      <option value="" ?selected=${now === null}>${words.asAgent}</option>
      ${values.map((each) => html`<option value=${each} ?selected=${each === now}>${unhidden(each)}</option>`)}
    </select>`;
}
