// The token estimator of reports and budgets: characters divided by four, rounded up. Named, so that every
// figure can say so.

export const tokenEstimator = "chars/4";
export const charsPerToken = 4;

export function estimateTokens(text: string): number {
  return Math.ceil(text.length / charsPerToken);
}
