// Defines what a provider may change: three named sections, a prefix before the cache boundary and a suffix
// after it. One overlay is built in.

export interface ProviderContribution {
  readonly replace?: {
    readonly interaction_style?: string;
    readonly tool_call_style?: string;
    readonly execution_bias?: string;
  };
  readonly stablePrefix?: string;
  readonly dynamicSuffix?: string;
}

const gpt5: ProviderContribution = {
  replace: {
    interaction_style: [
      "Keep your persona through the whole conversation, also after long tool work.",
      "Answer first, then what the reader needs; no preamble, no closing offer, no repeated question.",
    ].join("\n"),
    execution_bias: [
      "- Act in this turn on what can be acted on; never end on a plan or a promise.",
      "- Run independent look-ups in parallel. Do not guess what a tool can tell.",
      "- Before you finish, compare the answer with every part of the request, and verify what you changed.",
      "- If context is missing, look for it; ask only when the answer would change what you do.",
      "- Once a tool has delivered the result to the person, stop: do not repeat it in words.",
    ].join("\n"),
  },
};

/**
 * Versions and variants of a family by name: gpt-5, gpt-5.1, gpt-5-mini-2025-08-07, gpt-5:free; not gpt-50,
 * gpt-5ish, my-gpt-5.
 */
const builtIn: readonly (readonly [family: RegExp, contribution: ProviderContribution])[] = [
  [/^(?:ft:)?(?:[a-z0-9]+\.)*gpt-5(?:\.\d+)?(?:$|[-:@])/i, gpt5],
];

/**
 * The built-in contribution for a model, if its family has one. Routers put providers of their own before the
 * name: openai/gpt-5.
 */
export function builtInOverlay(modelId: string): ProviderContribution | undefined {
  const name = modelId.slice(modelId.lastIndexOf("/") + 1);
  return builtIn.find(([family]) => family.test(name))?.[1];
}
