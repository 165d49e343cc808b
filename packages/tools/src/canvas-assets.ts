// Puts the files that a page names by relative paths into the page, because a canvas has no network: a
// picture, a style sheet, a script, a font becomes a data address. What cannot be read is an error.
import { posix } from "node:path";
import { Fault } from "@parley/protocol";

const types: { readonly [extension: string]: string } = {
  ".css": "text/css",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".avif": "image/avif",
  ".svg": "image/svg+xml",
  ".mp3": "audio/mpeg",
  ".ogg": "audio/ogg",
  ".wav": "audio/wav",
  ".mp4": "video/mp4",
  ".webm": "video/webm",
  ".woff2": "font/woff2",
};
const named =
  /(<(?:img|script|link|source|audio|video|image)\b[^>]*?\s(?:src|href)\s*=\s*)(["'])([^"'<>]*)\2/gi;
const mostFiles = 50;

/**
 * `page`: the path of the HTML file, from which relative paths count; empty for the workspace. Throws Fault
 * for a file that is missing, of a kind that pages do not show, or that makes the page too large.
 */
export async function withAssets(
  html: string,
  page: string,
  read: (path: string) => Promise<Uint8Array>,
  mostBytes: number,
): Promise<string> {
  const names = [...html.matchAll(named)].map(([, , , name = ""]) => name).filter(isRelative);
  const inside = new Map<string, string>();
  let bytes = Buffer.byteLength(html);
  for (const name of new Set(names)) {
    if (inside.size >= mostFiles) throw new Fault("invalid", `a canvas has at most ${mostFiles} files`);
    const path = posix.join(posix.dirname(page), decoded(name));
    const type = types[posix.extname(path).toLowerCase()];
    if (type === undefined)
      throw new Fault(
        "invalid",
        `${path} is of no kind that a canvas shows (${Object.keys(types).join(" ")})`,
      );
    const data = `data:${type};base64,${Buffer.from(await read(path)).toString("base64")}`;
    bytes += data.length;
    if (bytes > mostBytes)
      throw new Fault("invalid", `with ${path} the page has more than ${mostBytes} bytes: use smaller files`);
    inside.set(name, data);
  }
  return html.replaceAll(named, (all, head: string, quote: string, name: string) => {
    const data = inside.get(name);
    return data === undefined ? all : `${head}${quote}${data}${quote}`;
  });
}

/** The part of an address that names a file, without what stands behind ? and #. */
function decoded(name: string): string {
  const path = name.replace(/[?#].*$/, "");
  try {
    return decodeURIComponent(path);
  } catch {
    // A file may have a percent sign in its name.
    return path;
  }
}

function isRelative(name: string): boolean {
  return name !== "" && !/^(?:[a-z][a-z0-9+.-]*:|\/\/|[#?])/i.test(name);
}
