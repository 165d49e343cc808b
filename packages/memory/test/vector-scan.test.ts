// Vectors as bytes: the sums that WebAssembly makes are those of plain arithmetic, and close to the truth.
import { expect, test } from "vitest";
import { asked, dimsOf, likeness, packed, scopeVectors } from "../src/vectors/vector-scan.ts";

let state = 7;
const chance = (): number => {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return state / 2_147_483_648 - 0.5;
};
function unit(dims: number): Float32Array {
  const vector = Float32Array.from({ length: dims }, chance);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

test.each([3, 16, 17, 256, 384, 3_072])(
  "compares vectors of %i dimensions as plain arithmetic does",
  (dims) => {
    const vectors = Array.from({ length: 40 }, () => unit(dims));
    const all = scopeVectors(dims);
    for (const [at, vector] of vectors.entries()) all.add(at + 100, packed(vector));
    all.remove(100);
    all.remove(139);
    all.remove(120);
    all.remove(7);
    const question = unit(dims);
    const seen = new Map<number, number>();
    all.scan(asked(question), (id, cosine) => seen.set(id, cosine));
    expect([...seen.keys()].toSorted((a, b) => a - b)).toEqual(
      vectors.map((_, at) => at + 100).filter((id) => ![100, 120, 139].includes(id)),
    );
    for (const [id, cosine] of seen) {
      const vector = vectors[id - 100] ?? new Float32Array();
      expect(cosine).toBeCloseTo(likeness(packed(vector), asked(question)), 10);
      const exact = vector.reduce((sum, value, at) => sum + value * (question[at] ?? 0), 0);
      expect(Math.abs(cosine - exact)).toBeLessThan(0.01);
    }
  },
);

test("keeps more vectors than one block compares, and a vector of nothing", () => {
  const all = scopeVectors(16);
  for (let id = 0; id < 20_000; id += 1) all.add(id, packed(Float32Array.of(id % 2, 1 - (id % 2))));
  all.add(20_000, packed(new Float32Array(16)));
  expect(dimsOf(packed(new Float32Array(16)))).toBe(16);
  let odd = 0;
  let last = 1;
  all.scan(asked(Float32Array.of(1)), (id, cosine) => {
    if (id === 20_000) last = cosine;
    else if (Math.abs(cosine - (id % 2)) < 0.01) odd += 1;
  });
  expect([odd, last]).toEqual([20_000, 0]);
});

test("the sums of very long vectors stay within 32 bits, and one that is too long is refused", () => {
  const even = (dims: number): Float32Array => new Float32Array(dims).fill(1 / Math.sqrt(dims));
  for (const dims of [8_192, 16_384, 32_768]) {
    const all = scopeVectors(dims);
    all.add(1, packed(even(dims)));
    let cosine = 0;
    all.scan(asked(even(dims)), (_, found) => (cosine = found));
    expect(cosine).toBeCloseTo(1, 1);
    expect(likeness(packed(even(dims)), asked(even(dims)))).toBeCloseTo(cosine, 10);
  }
  expect(() => scopeVectors(32_769)).toThrow("at most 32768 dimensions");
});
