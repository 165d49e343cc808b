// Downloads files of messages, from Discord's own hosts only, whatever a message says. Sizes are checked
// while reading.
import { Fault } from "@parley/protocol";
import { parseFileRef } from "./content.ts";
import type { DiscordRest } from "./rest.ts";

const contentHosts = new Set(["cdn.discordapp.com", "media.discordapp.net"]);

export async function download(
  rest: DiscordRest,
  apiRoot: string,
  ref: string,
  limitBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const file = parseFileRef(ref);
  if (file === null) throw new Fault("invalid", "this is no reference to a file of Discord's");
  const { channel, message, file: id, url } = file;
  checkHost(url, apiRoot);
  try {
    return await rest.fetch(url, limitBytes, signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "missing") throw error;
    // The address was signed for a day; the message has a fresh one.
    const again = findUrl(
      await rest.call({ method: "GET", route: `/channels/${channel}/messages/${message}`, signal }),
      id,
    );
    if (again === null || again === url) throw error;
    checkHost(again, apiRoot);
    return rest.fetch(again, limitBytes, signal);
  }
}

/**
 * Another API server (in tests, or a proxy) serves files itself. Other ports of its host belong to other
 * programs.
 */
function checkHost(url: string, apiRoot: string): void {
  const { host, origin, protocol } = URL.canParse(url)
    ? new URL(url)
    : { host: "", origin: "", protocol: "" };
  const ours = new URL(apiRoot);
  const isOurs = !/(^|\.)discord\.com$/.test(ours.hostname) && origin === ours.origin;
  if (!isOurs && !(protocol === "https:" && contentHosts.has(host)))
    throw new Fault("denied", `the file lies on "${host}", which is not Discord's: it is not fetched`);
}

interface WithFiles {
  readonly attachments?: readonly { readonly id: string; readonly url: string }[];
  readonly message_snapshots?: readonly { readonly message: WithFiles }[];
}

function findUrl(message: unknown, id: string): string | null {
  const { attachments = [], message_snapshots: passed = [] } = (message ?? {}) as WithFiles;
  const found = attachments.find((file) => file.id === id)?.url;
  if (found !== undefined) return found;
  return passed.map((snapshot) => findUrl(snapshot.message, id)).find((url) => url !== null) ?? null;
}
