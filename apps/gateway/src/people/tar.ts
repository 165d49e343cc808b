// Writes files into a tar archive (POSIX ustar), which every system can open.
const block = 512;
const nameBytes = 100;
const prefixBytes = 155;

export interface TarFile {
  /** Relative, with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** `atMs` is the time that all files get. Throws RangeError for a path that the format cannot hold. */
export function tarOf(files: readonly TarFile[], atMs: number): Buffer {
  const parts = files.flatMap(({ path, bytes }) => [
    headerOf(path, bytes.length, atMs),
    bytes,
    Buffer.alloc((block - (bytes.length % block)) % block),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function headerOf(path: string, size: number, atMs: number): Buffer {
  const { name, prefix } = splitPath(path);
  const header = Buffer.alloc(block);
  const put = (text: string, at: number): void => void header.write(text, at, "utf8");
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  put(name, 0);
  put(octal(0o600, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(size, 11), 124);
  put(octal(Math.floor(atMs / 1_000), 11), 136);
  put(" ".repeat(8), 148);
  put("0", 156);
  put("ustar\u000000", 257);
  put(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

function splitPath(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= nameBytes) return { name: path, prefix: "" };
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(prefix) <= prefixBytes && Buffer.byteLength(name) <= nameBytes)
      return { name, prefix };
  }
  throw new RangeError(`${path} is too long for a tar archive`);
}
