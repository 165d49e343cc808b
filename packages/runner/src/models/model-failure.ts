// Words what a person is told when the model failed. The provider's own message goes only to the log (I8).
import type { ModelError } from "@parley/models";

const words: { readonly [kind in ModelError["kind"]]: string } = {
  rate_limited: "The language model asks us to slow down. Please try again in a minute.",
  overloaded: "The language model is overloaded. Please try again in a minute.",
  unavailable: "I cannot reach the language model right now. Please try again in a minute.",
  timeout: "The language model did not answer in time. Please try again.",
  auth: "The language model refuses our key. The operator has to look at it.",
  billing: "The account at the language model's provider is out of credit. The operator has to look at it.",
  context_overflow: "This conversation has become too long for the model. /new begins a fresh one.",
  refused: "The language model declined to answer that.",
  not_found: "The configured language model does not exist at its provider. The operator has to look at it.",
  invalid: "The language model did not accept the request. The operator can see why in the log.",
  aborted: "Stopped.",
  torn: "The language model's answer broke off. Please try again.",
};

export function modelFailureText({ kind, retryAfterMs = 0 }: ModelError): string {
  return `⚠️ ${words[kind].replace("in a minute", inAbout(retryAfterMs))}`;
}

/** Uses the server's wait, and a minute where it gave less or none. */
function inAbout(waitMs: number): string {
  const minutes = Math.ceil(waitMs / 60_000);
  if (minutes <= 1) return "in a minute";
  if (minutes < 50) return `in about ${minutes} minutes`;
  const hours = Math.round(minutes / 60);
  if (hours <= 1) return "in about an hour";
  return hours < 48 ? `in about ${hours} hours` : `in about ${Math.round(hours / 24)} days`;
}

/** Tells operators about a model's lasting failure and the fix. */
export function modelTrouble({
  model,
  kind,
}: {
  readonly model: string;
  readonly kind: ModelError["kind"];
}): string {
  const provider = model.slice(0, model.indexOf("/"));
  const test = `\`parley models test ${model}\` tries it`;
  if (kind === "auth")
    return `the model ${model} cannot be asked: its provider refuses the key. Set models.providers.${provider}.apiKey; ${test}`;
  if (kind === "billing")
    return `the model ${model} cannot be asked: the account at its provider is out of credit. Top it up; ${test}`;
  return `the model ${model} cannot be asked: its provider does not know it. Mend its id, or models.providers.${provider}.baseUrl; ${test}`;
}
