// Reads a REST body: JSON, or multipart with `payload_json` and `files[n]`.
import type { IncomingMessage } from "node:http";
import { readAll, type UploadedFile } from "../../telegram/body.ts";
import { refuse } from "./refusal.ts";

export interface RestBody {
  /** undefined when the request had no body. */
  readonly json: unknown;
  readonly files: readonly { readonly index: number; readonly field: string; readonly file: UploadedFile }[];
}

/** Throws DiscordRefusal for a body that is not what its content type says. */
export async function readRestBody(incoming: IncomingMessage): Promise<RestBody> {
  const bytes = await readAll(incoming);
  const type = incoming.headers["content-type"] ?? "";
  if (bytes.length === 0) return { json: undefined, files: [] };
  if (type.startsWith("application/json"))
    return { json: parsed(new TextDecoder().decode(bytes)), files: [] };
  if (!type.startsWith("multipart/form-data"))
    throw refuse("badForm", {
      _errors: [
        {
          code: "CONTENT_TYPE_INVALID",
          message: `Expected "Content-Type" header to be one of {'application/json'}.`,
        },
      ],
    });
  const form = await readForm(bytes, type);
  const files: RestBody["files"][number][] = [];
  const fields: Record<string, string> = {};
  for (const [name, value] of form) {
    if (typeof value === "string") {
      fields[name] = value;
      continue;
    }
    const index = Number(/^files?\[?(\d+)\]?$/.exec(name)?.[1] ?? files.length);
    files.push({
      index,
      field: name,
      file: { name: value.name, mediaType: value.type, bytes: new Uint8Array(await value.arrayBuffer()) },
    });
  }
  const { payload_json: payload, ...rest } = fields;
  return { json: payload === undefined ? rest : parsed(payload), files };
}

async function readForm(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<FormData> {
  try {
    return await new Response(bytes, { headers: { "content-type": type } }).formData();
  } catch {
    // The client's mistake: a boundary that does not fit, a part without its headers.
    throw refuse("badForm", {
      _errors: [{ code: "MULTIPART_INVALID", message: "Failed to parse the multipart body." }],
    });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The client's mistake, answered as the real server does.
    throw refuse("badJson");
  }
}
