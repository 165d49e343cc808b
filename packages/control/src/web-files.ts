// Serves the built web page: each file compressed once, by the best way that the browser knows, and named by
// its content, so that a page that is open already costs one short answer. A release has brought its files
// compressed (`chat.js.br`): those are sent as they lie there.
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants, gzip } from "node:zlib";
import type { Context } from "hono";

const contentTypes: { readonly [extension: string]: string } = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
};
/** Pictures and fonts are compressed already. */
const compressed: ReadonlySet<string> = new Set([".html", ".js", ".css", ".svg", ".webmanifest"]);
/** Compressing less than this costs more than it saves. */
const leastBytes = 1_024;

/** At most one folder deep and without leading dots, so a path cannot leave the root. */
const servedPath = /^\/(?:assets\/)?[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

type Encoding = "br" | "gzip" | "identity";
type Bytes = Uint8Array<ArrayBuffer>;

const squeeze: { readonly [encoding in Encoding]: (bytes: Bytes) => Promise<Bytes> } = {
  br: async (bytes) =>
    new Uint8Array(
      await promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
    ),
  gzip: async (bytes) => new Uint8Array(await promisify(gzip)(bytes)),
  identity: async (bytes) => bytes,
};

interface Kept {
  /** Changes when the file does. */
  readonly version: string;
  readonly etag: string;
  readonly bytes: Bytes;
}

interface Found {
  readonly file: string;
  readonly isPacked: boolean;
  readonly version: string;
  readonly size: number;
}

/** Returns what answers a request for a file under `root`. */
export function webFiles(root: string): (context: Context) => Promise<Response> {
  /** By encoding and path; what is asked for is a few hundred kilobytes in all. */
  const kept = new Map<string, Promise<Kept>>();

  async function fileOf(path: string, encoding: Encoding, found: Found): Promise<Kept> {
    const { file, isPacked, version } = found;
    const key = `${encoding} ${path}`;
    const known = await kept.get(key);
    if (known?.version === version) return known;
    const making = readFile(file).then(async (read): Promise<Kept> => {
      const there = new Uint8Array(read);
      const hash = createHash("sha256").update(there).digest("base64url").slice(0, 22);
      const etag = `"${hash}-${encoding}"`;
      if (isPacked && encoding === "br") return { version, etag, bytes: there };
      const whole = isPacked ? new Uint8Array(await promisify(brotliDecompress)(there)) : there;
      return { version, etag, bytes: await squeeze[encoding](whole) };
    });
    kept.set(key, making);
    making.catch(() => kept.delete(key));
    return making;
  }

  return async (context) => {
    const path = context.req.path === "/" ? "/index.html" : context.req.path;
    const extension = extname(path);
    const type = contentTypes[extension];
    if (type === undefined || !servedPath.test(path)) return context.notFound();
    let found: Kept;
    let encoding: Encoding = "identity";
    try {
      const there = await foundAt(join(root, path));
      if (compressed.has(extension) && (there.isPacked || there.size >= leastBytes))
        encoding = bestOf(context.req.header("accept-encoding") ?? "");
      found = await fileOf(path, encoding, there);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return missing(context, path);
      throw error;
    }
    context.header("content-type", type);
    context.header("vary", "accept-encoding");
    context.header("etag", found.etag);
    // Names of assets carry a hash of their content.
    context.header(
      "cache-control",
      path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
    );
    const seen = context.req.header("if-none-match")?.split(",") ?? [];
    if (seen.some((each) => each.trim().replace(/^W\//, "") === found.etag)) return context.body(null, 304);
    if (encoding !== "identity") context.header("content-encoding", encoding);
    return context.body(found.bytes);
  };
}

/** The file itself, else the compressed one in its place. */
async function foundAt(path: string): Promise<Found> {
  const plain = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  const file = plain === null ? `${path}.br` : path;
  const { mtimeMs, size } = plain ?? (await stat(file));
  return { file, isPacked: plain === null, version: `${mtimeMs} ${size}`, size };
}

/** What a browser takes, without the encodings that it names with the weight 0. */
function bestOf(accepted: string): Encoding {
  const taken = new Set(
    accepted
      .toLowerCase()
      .split(",")
      .filter((each) => !/;\s*q=0(?:\.0*)?\s*$/.test(each))
      .map((each) => each.split(";")[0]?.trim()),
  );
  return taken.has("br") ? "br" : taken.has("gzip") ? "gzip" : "identity";
}

function missing(context: Context, path: string): Response | Promise<Response> {
  if (path !== "/index.html") return context.notFound();
  return context.text("The web page is not built: run `pnpm --filter @parley/web build`.\n", 503);
}
