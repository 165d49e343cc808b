// Ranks what the searches found: scores are fused, older daily notes weigh less, and passages that say the
// same as a better one give way (MMR).
import { dayOfFile } from "../scope.ts";
import { stemsOf } from "../words.ts";

export interface HybridSettings {
  readonly vectorWeight: number;
  readonly textWeight: number;
  /** Candidates of each search, as a multiple of the results. */
  readonly candidateMultiplier: number;
  readonly mmr: { readonly enabled: boolean; readonly lambda: number };
  readonly temporalDecay: { readonly enabled: boolean; readonly halfLifeDays: number };
}

export interface Candidate {
  readonly id: number;
  readonly path: string;
  /** When it was said; a note's day stands in its path. */
  readonly day?: string;
  readonly text: string;
  /** 0 to 1 each; 0 where that search did not find it. */
  readonly textScore: number;
  readonly vectorScore: number;
}

export interface Ranked<C extends Candidate> {
  readonly candidate: C;
  readonly score: number;
}

const dayMs = 86_400_000;

/** Half after `halfLifeDays`; files without a date, and days to come, keep all. */
function decayOf({ path, day: said }: Candidate, nowMs: number, halfLifeDays: number): number {
  const day = said ?? dayOfFile(path);
  if (day === null) return 1;
  const ageDays = Math.max(0, Math.floor((nowMs - Date.parse(`${day}T00:00:00Z`)) / dayMs));
  return 2 ** (-ageDays / halfLifeDays);
}

export interface RankRequest {
  readonly settings: HybridSettings;
  /** False where no vectors were compared: words alone decide. */
  readonly withVectors: boolean;
  readonly nowMs: number;
  readonly maxResults: number;
  readonly minScore: number;
}

export function ranked<C extends Candidate>(
  candidates: readonly C[],
  { settings, withVectors, nowMs, maxResults, minScore }: RankRequest,
): readonly Ranked<C>[] {
  const { vectorWeight, textWeight, mmr, temporalDecay } = settings;
  const sum = vectorWeight + textWeight;
  const weights =
    !withVectors || sum <= 0
      ? { vector: 0, text: 1 }
      : { vector: vectorWeight / sum, text: textWeight / sum };
  const scored = candidates
    .map((candidate): Ranked<C> => {
      const fused = weights.vector * Math.max(0, candidate.vectorScore) + weights.text * candidate.textScore;
      const decay = temporalDecay.enabled ? decayOf(candidate, nowMs, temporalDecay.halfLifeDays) : 1;
      return { candidate, score: fused * decay };
    })
    .toSorted((a, b) => b.score - a.score || a.candidate.id - b.candidate.id);
  const good = scored.filter(({ score }) => score >= minScore);
  // Somebody asks with words that stand there: when nothing is good enough, the hits of words are kept.
  const kept = good.length > 0 ? good : scored.filter(({ candidate }) => candidate.textScore > 0);
  return mmr.enabled ? diverse(kept, mmr.lambda, maxResults) : kept.slice(0, maxResults);
}

/** Maximal marginal relevance with the Jaccard likeness of words. */
function diverse<C extends Candidate>(
  all: readonly Ranked<C>[],
  lambda: number,
  most: number,
): readonly Ranked<C>[] {
  if (all.length <= 1) return all.slice(0, most);
  const words = new Map(all.map(({ candidate }) => [candidate.id, stemsOf(candidate.text)]));
  const best = Math.max(...all.map(({ score }) => score), Number.MIN_VALUE);
  const left = [...all];
  const chosen: Ranked<C>[] = [];
  const likeness = new Map<number, number>();
  while (left.length > 0 && chosen.length < most) {
    let top = 0;
    let topValue = -Infinity;
    for (const [at, { candidate, score }] of left.entries()) {
      const value = lambda * (score / best) - (1 - lambda) * (likeness.get(candidate.id) ?? 0);
      if (value > topValue) [top, topValue] = [at, value];
    }
    const [next] = left.splice(top, 1);
    if (next === undefined) break;
    chosen.push(next);
    const nextWords = words.get(next.candidate.id) ?? new Set();
    for (const { candidate } of left) {
      const like = jaccard(nextWords, words.get(candidate.id) ?? new Set());
      likeness.set(candidate.id, Math.max(like, likeness.get(candidate.id) ?? 0));
    }
  }
  return chosen;
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0;
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  let both = 0;
  for (const word of small) if (large.has(word)) both += 1;
  return both / (a.size + b.size - both);
}
