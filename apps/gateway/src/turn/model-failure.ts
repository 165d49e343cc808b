// What a person is told when the model failed. Plain words, no provider's message: that is for the log (I8).
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

export function modelFailureText(error: ModelError): string {
  return `⚠️ ${words[error.kind]}`;
}
