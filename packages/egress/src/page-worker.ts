// The process that reads pages. It holds nothing but the page it reads, so that it can be killed at any
// moment, and it loads the libraries, so that the daemon does not.
import { decodedText } from "./page/charset.ts";
import { loadPdf, readPdf } from "./page/pdf.ts";
import { loadReaders, plainText, readHtml, type ReadPage } from "./page/readable.ts";
import { Unreadable } from "./page/unreadable.ts";

export type PageKind = "html" | "text" | "json" | "pdf";

export interface PageTask {
  readonly kind: PageKind;
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly url: string;
  readonly textChars: number;
}

/**
 * `ready` says that the libraries are loaded and the reading begins. `refused` is why the page cannot be
 * read: a sentence that goes on after its host.
 */
export type PageReply = { readonly ready: true } | { readonly page: ReadPage } | { readonly refused: string };

async function read({ kind, bytes, contentType, url, textChars }: PageTask): Promise<ReadPage> {
  if (kind === "pdf") return readPdf(bytes, textChars);
  const text = decodedText(bytes, contentType);
  if (kind === "html") return readHtml(text, url);
  return {
    title: null,
    byline: null,
    text: kind === "json" ? prettyJson(text) : plainText(text),
    cut: false,
  };
}

function prettyJson(text: string): string {
  try {
    return plainText(JSON.stringify(JSON.parse(text), null, 2));
  } catch {
    // Servers call many things JSON: several lines of it, with comments, cut at the limit.
    return plainText(text);
  }
}

process.on("disconnect", () => process.exit());
process.on("message", async (task: PageTask) => {
  const reply = (message: PageReply): void => void process.send?.(message);
  try {
    if (task.kind === "html") await loadReaders();
    if (task.kind === "pdf") await loadPdf();
    reply({ ready: true });
    const page = await read(task);
    reply({ page: { ...page, text: page.text.slice(0, task.textChars + 1) } });
  } catch (error) {
    reply({ refused: error instanceof Unreadable ? error.message : "it cannot be read" });
  }
});
