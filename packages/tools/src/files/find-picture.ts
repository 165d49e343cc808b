// Finds the picture that a call names: one of the conversation, a file of the workspace, or one at an
// address. Each is checked and made fit on the way.
import { Fault, label, type ImageContent } from "@parley/protocol";
import { isUnavailable } from "../ports/done.ts";
import type { Pictures } from "../ports/pictures.ts";
import type { ToolContext } from "../context.ts";
import type { ToolScope } from "../tool.ts";
import { imageOf, pictureLine } from "./pictures.ts";
import { readForPeople } from "./private-notes.ts";
import { readBytes } from "./rooted.ts";

const fileBytes = 20_000_000;

export interface FoundPicture {
  readonly line: string;
  readonly image: ImageContent;
  /** The host that it came from. */
  readonly source?: string;
}

/** As pictures of the conversation are named where a model does not see them. */
const keptName = /^(?:\[image: )?([0-9a-f]{64}\.[a-z0-9]{1,8})(?:(?:, image\/[a-z+.-]+)?\])?$/;

export const isAddress = (text: string): boolean => /^https?:\/\//i.test(text);

/** Addresses that nothing here opens; a path would hide why. */
const closedScheme = /^(?:([a-z][a-z\d+.-]+):\/\/|(data|blob|javascript):)/i;

/** Throws Fault for what is none, or cannot be had. */
export async function findPicture(
  context: ToolContext,
  pictures: Pictures,
  scope: ToolScope,
  asked: string,
): Promise<FoundPicture> {
  const kept = keptName.exec(asked)?.[1];
  if (kept !== undefined) {
    const known = (await context.seenPictures.shown(scope)).find(({ path }) => path === kept);
    if (known === undefined) throw new Fault("missing", `no picture ${kept} was shown in this conversation`);
    const { type, path, mediaType } = known;
    return { line: kept, image: { type, path, mediaType } };
  }
  const [, scheme, bare] = isAddress(asked) ? [] : (closedScheme.exec(asked) ?? []);
  if (scheme !== undefined || bare !== undefined)
    throw new Fault(
      "invalid",
      `${scheme ?? bare}: is no address that is opened for a picture: name a path in the workspace or an http or https URL`,
    );
  const fetched = isAddress(asked) ? await download(context, asked, scope.signal) : null;
  const bytes = fetched?.bytes ?? (await fileBytesOf(context, scope, asked));
  const name = fetched === null ? asked : label(asked, 300);
  const picture = await pictures.keep(bytes, scope.signal);
  if ("refused" in picture) throw new Fault("invalid", `${name} cannot be looked at: ${picture.refused}`);
  return {
    line: pictureLine(name, picture),
    image: imageOf(picture),
    ...(fetched === null ? {} : { source: URL.parse(fetched.url)?.host || "the web" }),
  };
}

async function download({ web }: ToolContext, url: string, signal: AbortSignal) {
  const files = web?.files() ?? { unavailable: "there is no way to the open web here" };
  if (isUnavailable(files)) throw new Fault("unsupported", `no picture is fetched: ${files.unavailable}`);
  return files.fetch(url, fileBytes, signal);
}

async function fileBytesOf(context: ToolContext, scope: ToolScope, path: string): Promise<Uint8Array> {
  return readForPeople(context, scope, path, async ({ handle, size }) => {
    if (size > fileBytes)
      throw new Fault("invalid", `${path} has ${size} bytes; at most ${fileBytes} are looked at`);
    return readBytes(handle, 0, size);
  });
}
