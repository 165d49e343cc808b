// Injects faults: rules that break chosen calls in chosen ways, before or after the server has acted. "Act,
// then reset" is the ambiguous send; "reset before acting" is the one that certainly did not happen.

export type Trouble =
  /** The connection is reset without an answer. */
  | { readonly kind: "reset" }
  /** No answer ever comes (a half-open connection). */
  | { readonly kind: "hang" }
  /** This answer instead of the server's own. A string body is sent as it is, anything else as JSON. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Half of the true answer under its full content length, then the end of the connection. */
  | { readonly kind: "truncate" }
  /** The true answer, one byte every `everyMs` of the fake's clock. */
  | { readonly kind: "slow"; readonly everyMs: number }
  /** The true answer behind this many bytes of leading spaces, which JSON allows. */
  | { readonly kind: "flood"; readonly bytes: number }
  /** The true answer, this much later. */
  | { readonly kind: "delay"; readonly delayMs: number };

export interface FaultRule {
  /**
   * Bot API method, or route as `POST /channels/:channel/messages`; "download" for files; absent means all.
   */
  readonly method?: string;
  /** Only this bot's calls. */
  readonly token?: string;
  /** Calls to let pass first. */
  readonly skip?: number;
  /** Calls to break; 1 unless stated, `null` (as JSON has no infinity) for ever. */
  readonly times?: number | null;
  /**
   * `before` (the default): the server does not act. `after`: it acts, then this happens. truncate, slow,
   * flood and delay always act.
   */
  readonly when?: "before" | "after";
  readonly trouble: Trouble;
}

export interface Faults {
  inject(rule: FaultRule): void;
  clear(): void;
  /** The rule for this call, if one applies; counts it. */
  next(method: string, token: string): FaultRule | null;
}

export function faults(): Faults {
  let rules: { readonly rule: FaultRule; toSkip: number; left: number }[] = [];
  return {
    inject(rule) {
      rules.push({
        rule,
        toSkip: rule.skip ?? 0,
        left: rule.times === null ? Number.POSITIVE_INFINITY : (rule.times ?? 1),
      });
    },
    clear() {
      rules = [];
    },
    next(method, token) {
      for (const entry of rules) {
        const { rule } = entry;
        if ((rule.method ?? method) !== method || (rule.token ?? token) !== token || entry.left === 0)
          continue;
        if (entry.toSkip > 0) {
          entry.toSkip--;
          continue;
        }
        entry.left--;
        return rule;
      }
      return null;
    },
  };
}
