// Compares a question with every passage of a scope. Vectors are kept as bytes with one scale each, which
// is a quarter of the memory, and are compared sixteen bytes at a time in WebAssembly, which JavaScript
// cannot.

/** What is used of it; the types of Node leave it to those of browsers. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: { readonly host: { readonly memory: WasmMemory } },
  ) => { readonly exports: object };
};
interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** As it is stored: the scale as a float, then one signed byte for each dimension. */
export function packed(vector: Float32Array): Uint8Array {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const scale = largest / 127;
  const bytes = new Uint8Array(4 + vector.length);
  new DataView(bytes.buffer).setFloat32(0, scale, true);
  for (const [at, value] of vector.entries()) bytes[4 + at] = scale === 0 ? 0 : Math.round(value / scale);
  return bytes;
}

export const dimsOf = (stored: Uint8Array): number => stored.byteLength - 4;

function scaleOf(stored: Uint8Array): number {
  return new DataView(stored.buffer, stored.byteOffset).getFloat32(0, true);
}

/** A question, rounded finely enough that sums of thousands of products stay whole numbers of 32 bits. */
interface Asked {
  readonly values: Int16Array;
  readonly scale: number;
}

export function asked(vector: Float32Array): Asked {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const most = Math.min(2_047, Math.floor(0x7fff_ffff / (127 * Math.max(1, vector.length))));
  const scale = largest === 0 ? 1 : largest / most;
  return { values: Int16Array.from(vector, (value) => Math.round(value / scale)), scale };
}

/** The cosine of one stored vector with the question. */
export function likeness(stored: Uint8Array, { values, scale }: Asked): number {
  const bytes = new Int8Array(stored.buffer, stored.byteOffset + 4, dimsOf(stored));
  let sum = 0;
  for (const [at, value] of bytes.entries()) sum += value * (values[at] ?? 0);
  return sum * scale * scaleOf(stored);
}

export interface ScopeVectors {
  readonly dims: number;
  add(id: number, stored: Uint8Array): void;
  remove(id: number): void;
  /** Calls back with every passage and its cosine. */
  scan(question: Asked, each: (id: number, cosine: number) => void): void;
}

const page = 65_536;
/** The question lies at the beginning of the memory, the sums of one block behind it, then the vectors. */
const sumsAt = page;
const blockVectors = page / 4;
const vectorsAt = 2 * page;
/** What fits before the sums. */
const mostDims = page / 2;

export function scopeVectors(dims: number): ScopeVectors {
  if (dims > mostDims) throw new RangeError(`a vector has at most ${mostDims} dimensions`);
  const width = Math.ceil(dims / 16) * 16;
  const memory = new WebAssembly.Memory({ initial: 3 });
  const { sums } = new WebAssembly.Instance(kernel(), { host: { memory } }).exports as {
    readonly sums: (from: number, count: number, width: number, to: number) => void;
  };
  const ids: number[] = [];
  const scales: number[] = [];
  return {
    dims,
    add(id, stored) {
      const from = vectorsAt + ids.length * width;
      const missing = from + width - memory.buffer.byteLength;
      // A quarter more at once, so that adding one by one does not move all of them each time.
      if (missing > 0) memory.grow(Math.ceil(Math.max(missing, memory.buffer.byteLength / 4) / page));
      const bytes = new Uint8Array(memory.buffer, from, width);
      bytes.fill(0);
      bytes.set(stored.subarray(4));
      ids.push(id);
      scales.push(scaleOf(stored));
    },
    remove(id) {
      const at = ids.indexOf(id);
      if (at < 0) return;
      // The last one takes its place.
      const last = ids.length - 1;
      const from = vectorsAt + last * width;
      new Uint8Array(memory.buffer).copyWithin(vectorsAt + at * width, from, from + width);
      ids[at] = ids[last] ?? id;
      scales[at] = scales[last] ?? 0;
      ids.pop();
      scales.pop();
    },
    scan({ values, scale }, each) {
      const question = new Int16Array(memory.buffer, 0, width);
      question.fill(0);
      question.set(values.subarray(0, dims));
      const found = new Int32Array(memory.buffer, sumsAt, blockVectors);
      for (let first = 0; first < ids.length; first += blockVectors) {
        const count = Math.min(blockVectors, ids.length - first);
        sums(vectorsAt + first * width, count, width, sumsAt);
        for (let at = 0; at < count; at += 1)
          each(ids[first + at] ?? 0, (found[at] ?? 0) * (scales[first + at] ?? 0) * scale);
      }
    },
  };
}

let compiled: object | undefined;
const kernel = (): object => (compiled ??= new WebAssembly.Module(new Uint8Array(program)));

const section = (id: number, ...bytes: readonly number[]): readonly number[] => [id, bytes.length, ...bytes];
const name = (text: string): readonly number[] => [text.length, ...Buffer.from(text)];
const [i32, v128] = [0x7f, 0x7b];
const get = (local: number): readonly number[] => [0x20, local];
const set = (local: number): readonly number[] => [0x21, local];
const plus = (...more: readonly number[]): readonly number[] => [...more, 0x6a];
const constant = (value: number): readonly number[] => [0x41, value];
const simd = (op: number, ...more: readonly number[]): readonly number[] =>
  op < 0x80 ? [0xfd, op, ...more] : [0xfd, op, 0x01, ...more];
const [load, zero, lane, low, high, add, dot] = [0x00, 0x0c, 0x1b, 0x87, 0x88, 0xae, 0xba];
/** Parameters: the first vector, how many, bytes of each, where the sums go. */
const [from, count, width, to, at, sum, part] = [0, 1, 2, 3, 4, 5, 6];
const products = (half: number, offset: number): readonly number[] => [
  ...get(sum),
  ...get(part),
  ...simd(half),
  // The question is as wide again, two bytes a dimension, from the memory's beginning.
  ...get(at),
  ...plus(...get(at)),
  ...simd(load, 4, offset),
  ...simd(dot),
  ...simd(add),
  ...set(sum),
];
const laneOf = (one: number): readonly number[] => [...get(sum), ...simd(lane, one)];
const code = joined(
  // Locals: one i32, two v128.
  [2, 1, i32, 2, v128],
  // For each vector: the sums begin anew.
  [0x03, 0x40],
  simd(zero, ...Array.from({ length: 16 }, () => 0)),
  set(sum),
  constant(0),
  set(at),
  // For each sixteen dimensions of it.
  [0x03, 0x40],
  get(from),
  plus(...get(at)),
  simd(load, 4, 0),
  set(part),
  products(low, 0),
  products(high, 16),
  get(at),
  plus(...constant(16)),
  [0x22, at],
  get(width),
  [0x49, 0x0d, 0, 0x0b],
  get(to),
  laneOf(0),
  plus(...laneOf(1)),
  plus(...laneOf(2)),
  plus(...laneOf(3)),
  [0x36, 2, 0],
  get(from),
  plus(...get(width)),
  set(from),
  get(to),
  plus(...constant(4)),
  set(to),
  get(count),
  constant(1),
  [0x6b, 0x22, count, 0x0d, 0, 0x0b],
  [0x0b],
);
/** For each vector: the sum of its products with the question, by `i32x4.dot_i16x8_s`. */
const program = joined(
  [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  section(1, 1, 0x60, 4, i32, i32, i32, i32, 0),
  section(2, 1, ...name("host"), ...name("memory"), 0x02, 0x00, 1),
  section(3, 1, 0),
  section(7, 1, ...name("sums"), 0x00, 0),
  [10],
  leb(1 + leb(code.length).length + code.length),
  [1],
  leb(code.length),
  code,
);

function joined(...parts: readonly (readonly number[])[]): readonly number[] {
  return parts.flat();
}

/** A number as WebAssembly writes lengths. */
function leb(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >> 7)];
}
