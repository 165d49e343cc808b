// The text of a PDF, page by page, until there is enough of it.
import { Unreadable } from "./unreadable.ts";
import { plainText, type ReadPage } from "./readable.ts";

const mostPages = 300;

export const loadPdf = () => import("unpdf");

/** Throws Unreadable for a file that is no PDF, is broken or needs a password. */
export async function readPdf(bytes: Uint8Array, textChars: number): Promise<ReadPage> {
  const { getDocumentProxy } = await loadPdf();
  try {
    const pdf = await getDocumentProxy(bytes, { isEvalSupported: false, verbosity: 0 });
    const { info } = await pdf.getMetadata();
    const pages: string[] = [];
    let chars = 0;
    let at = 1;
    for (; at <= pdf.numPages && at <= mostPages && chars <= textChars; at += 1) {
      const { items } = await (await pdf.getPage(at)).getTextContent();
      const text = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
      pages.push(plainText(text));
      chars += text.length;
    }
    return {
      title: fact(info, "Title"),
      byline: fact(info, "Author"),
      text: pages.filter((page) => page !== "").join("\n\n"),
      cut: at <= pdf.numPages,
    };
  } catch (error) {
    const name = error instanceof Error ? error.name : "";
    throw new Unreadable(
      name === "PasswordException" ? "its PDF needs a password" : "its PDF cannot be read",
      { cause: error },
    );
  }
}

function fact(info: object, name: string): string | null {
  const value: unknown = Object.entries(info).find(([key]) => key === name)?.[1];
  return typeof value === "string" && value.trim() !== "" ? plainText(value).slice(0, 300) : null;
}
