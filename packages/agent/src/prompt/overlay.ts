// What a provider may change: three named sections, a prefix before the cache boundary and a suffix after it. Nothing else.
// One overlay is built in.

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
      "Keep the persona of SOUL.md through the whole conversation, also after long tool work.",
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

const builtIn: readonly (readonly [family: RegExp, contribution: ProviderContribution])[] = [[/^gpt-5/, gpt5]];

/** The built-in contribution for a model family, if it has one. */
export function builtInOverlay(modelFamily: string): ProviderContribution | undefined {
  return builtIn.find(([family]) => family.test(modelFamily))?.[1];
}
