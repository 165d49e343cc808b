// Where files are fetched from: Discord's own hosts or the API server's, whatever a message says, and again
// under the address that the message has now.
import { Fault } from "@parley/protocol";
import { expect, test } from "vitest";
import { formatFileRef } from "../../src/discord/content.ts";
import { download } from "../../src/discord/download.ts";
import { fakeRest } from "./fake-rest.ts";

const cdn = "https://cdn.discordapp.com";
const api = "https://discord.com/api";
const ref = (url: string): string => formatFileRef({ channel: "1", message: "2", file: "3", url });
const { signal } = new AbortController();

/** What was fetched, in order, and how it ended. */
async function fetched(
  given: string,
  answers: readonly (string | Fault)[] = [],
  message?: unknown,
  apiRoot = api,
): Promise<readonly unknown[]> {
  const rest = fakeRest(message === undefined ? {} : { "GET /channels/1/messages/2": message });
  const asked: unknown[] = [];
  const fetch = async (url: string, limitBytes: number, given_: AbortSignal): Promise<Uint8Array> => {
    asked.push([url, limitBytes, given_ === signal]);
    const answer = answers[asked.length - 1] ?? "bytes";
    if (answer instanceof Fault) throw answer;
    return Buffer.from(answer);
  };
  const ended = await download({ ...rest, fetch }, apiRoot, given, 7, signal).then(
    (bytes) => Buffer.from(bytes).toString(),
    (error: unknown) => `${(error as Fault).code}: ${(error as Error).message}`,
  );
  return [ended, ...asked, ...rest.asked];
}

test("only Discord's own hosts are asked, and another API server itself", async () => {
  const denied = (host: string): string =>
    `denied: the file lies on "${host}", which is not Discord's: it is not fetched`;
  const own = "http://127.0.0.1:81/api";
  const rows: readonly (readonly [url: string, apiRoot: string, ended: string])[] = [
    [`${cdn}/a?ex=1`, api, "bytes"],
    ["https://media.discordapp.net/a", api, "bytes"],
    [`${cdn}:444/a`, api, denied("cdn.discordapp.com:444")],
    ["http://cdn.discordapp.com/a", api, denied("cdn.discordapp.com")],
    ["https://cdn.discordapp.com.evil.test/a", api, denied("cdn.discordapp.com.evil.test")],
    ["https://discord.com/a", api, denied("discord.com")],
    ["https://ptb.discord.com/a", "https://ptb.discord.com/api", denied("ptb.discord.com")],
    ["no address", api, denied("")],
    ["http://127.0.0.1:81/a", own, "bytes"],
    ["http://127.0.0.1:82/a", own, denied("127.0.0.1:82")],
    ["https://127.0.0.1:81/a", own, denied("127.0.0.1:81")],
    [`${cdn}/a`, own, "bytes"],
  ];
  const found: unknown[] = [];
  for (const [url, apiRoot] of rows) {
    const [ended, ...asked] = await fetched(ref(url), [], undefined, apiRoot);
    found.push([url, apiRoot, ended]);
    expect(asked).toEqual(ended === "bytes" ? [[url, 7, true]] : []);
  }
  expect(found).toEqual(rows);
  expect(await fetched("no reference")).toEqual(["invalid: this is no reference to a file of Discord's"]);
});

test("a file that is gone is looked for in its message, once, also among what was passed on", async () => {
  const gone = new Fault("missing", "gone");
  const file = (url: string, id = "3") => ({ id, url });
  const look = "GET /channels/1/messages/2";
  const first = [`${cdn}/a`, 7, true];
  const again = [`${cdn}/b`, 7, true];
  const old = ref(`${cdn}/a`);
  const fresh = { attachments: [file(`${cdn}/x`, "4"), file(`${cdn}/b`)] };
  expect(await fetched(old, [gone], fresh)).toEqual(["bytes", first, again, look]);
  expect(await fetched(old, [gone, gone], fresh)).toEqual(["missing: gone", first, again, look]);
  const passed = { message_snapshots: [{ message: {} }, { message: fresh }] };
  expect(await fetched(old, [gone], passed)).toEqual(["bytes", first, again, look]);
  for (const message of [
    {},
    null,
    { attachments: [file(`${cdn}/a`)] },
    { attachments: [file(`${cdn}/b`, "4")] },
  ])
    expect(await fetched(old, [gone], message)).toEqual(["missing: gone", first, look]);
  expect(await fetched(old, [gone], { attachments: [file("https://evil.test/b")] })).toEqual([
    'denied: the file lies on "evil.test", which is not Discord\'s: it is not fetched',
    first,
    look,
  ]);
  expect(await fetched(old, [new Fault("unavailable", "away")], fresh)).toEqual(["unavailable: away", first]);
  expect(await fetched(old, [gone])).toEqual([expect.stringMatching(/^missing: .*10003/), first, look]);
});
