// Chance that depends on names instead of on the order of draws: what happens to the third commit is the same
// whether or not some other message was left out. That is what lets a failing schedule shrink.

/** A number in [0, 1) for this seed and name; equal names give equal numbers. */
export type Draw = (name: string) => number;

export function draws(seed: number): Draw {
  return (name) => {
    // FNV-1a over the name, then the finalizer of MurmurHash3, so that neighbours come out far apart.
    let hash = (2_166_136_261 ^ seed) >>> 0;
    for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 16_777_619);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return ((hash ^ (hash >>> 16)) >>> 0) / 4_294_967_296;
  };
}

/** The one of `choices` that `chance` falls on; weights need not add up to anything. */
export function weighted<T>(chance: number, choices: readonly (readonly [weight: number, choice: T])[]): T {
  const total = choices.reduce((sum, [weight]) => sum + weight, 0);
  let left = chance * total;
  for (const [weight, choice] of choices) {
    left -= weight;
    if (left < 0) return choice;
  }
  const last = choices.at(-1);
  if (last === undefined) throw new Error("nothing to choose from");
  return last[1];
}
