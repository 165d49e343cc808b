// Reads a Bot API request: JSON, form fields or multipart with files, in the body or in the query. Files are
// replaced by `attach://<field>`.
import type { IncomingMessage } from "node:http";
import type { Params, ParamsCheck } from "./params.ts";

export interface UploadedFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export interface Request {
  readonly params: Params;
  /** By field name, as `attach://<field>` refers to them. */
  readonly files: ReadonlyMap<string, UploadedFile>;
}

/** Throws SyntaxError or TypeError for a body that is not what its content type says. */
export async function readRequest(
  incoming: IncomingMessage,
  url: URL,
  method: string,
  check: ParamsCheck,
): Promise<Request> {
  const bytes = await readAll(incoming);
  const type = incoming.headers["content-type"] ?? "";
  const query = Object.fromEntries(url.searchParams);
  if (type.startsWith("application/json")) {
    const body: unknown = bytes.length === 0 ? {} : JSON.parse(new TextDecoder().decode(bytes));
    return { params: { ...check.fromForm(method, query), ...(body as Params) }, files: new Map() };
  }
  const fields: Record<string, string> = { ...query };
  const files = new Map<string, UploadedFile>();
  if (bytes.length > 0) {
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    for (const [name, value] of form) {
      if (typeof value === "string") fields[name] = value;
      else
        files.set(name, {
          name: value.name,
          mediaType: value.type,
          bytes: new Uint8Array(await value.arrayBuffer()),
        });
    }
  }
  // A file may also stand directly in its own field.
  for (const name of files.keys()) {
    const referred = Object.values(fields).some((text) => text.includes(`attach://${name}`));
    if (!referred) fields[name] = `attach://${name}`;
  }
  return { params: check.fromForm(method, fields), files };
}

export async function readAll(incoming: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}
