// The file of a server's login: whose it is, who may read it, what is hidden, and what a login changes in it.
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { credentialFiles } from "../src/oauth/credential-files.ts";
import { oauthClient } from "../src/oauth/oauth-client.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "parley-logins-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const url = "https://mcp.example/";
const login = (access: string) => ({
  client: { client_id: "c", client_secret: `secret of ${access}` },
  tokens: { access_token: access, token_type: "bearer", refresh_token: `refresh of ${access}` },
});

function files() {
  const hidden: string[] = [];
  const clock = virtualClock();
  const inner = join(folder, "logins");
  return {
    clock,
    hidden,
    inner,
    kept: credentialFiles(inner, clock, (secrets) => void hidden.push(...secrets)),
  };
}

test("a login counts for its address, is hidden before it is told, and is readable for one user alone", async () => {
  const { kept, hidden, inner } = files();
  const none = { v: 1, url, latest: null, issuers: {} };
  expect(await kept.get("s", url)).toEqual(none);
  await kept.change("s", url, (now) => ({
    ...now,
    latest: "i2",
    issuers: { i1: login("one") as never, i2: login("two") as never },
  }));
  const all = ["one", "two"].flatMap((each) => [`secret of ${each}`, each, `refresh of ${each}`]);
  expect(hidden.splice(0)).toEqual(all);
  expect(await kept.get("s", url)).toMatchObject({
    latest: "i2",
    issuers: { i1: login("one"), i2: login("two") },
  });
  expect(hidden.splice(0)).toEqual(all);
  // Of another address nothing counts, but what the file says is a secret all the same.
  expect(await kept.get("s", "https://other.example/")).toEqual({ ...none, url: "https://other.example/" });
  expect(hidden).toEqual(all);
  expect(await readdir(inner)).toEqual(["s.json"]);
  const modes = await Promise.all(
    [inner, join(inner, "s.json")].map(async (path) => (await stat(path)).mode & 0o777),
  );
  expect(modes).toEqual([0o700, 0o600]);
});

test("a file that is torn, or of another form, is no login; a folder in its place is an error", async () => {
  const { kept, inner } = files();
  await kept.change("s", url, (now) => ({ ...now, latest: "i", issuers: { i: login("one") as never } }));
  const whole = await readFile(join(inner, "s.json"), "utf8");
  for (const text of [whole.slice(0, -5), "", whole.replace('"v":1', '"v":2')]) {
    await writeFile(join(inner, "s.json"), text);
    expect((await kept.get("s", url)).latest).toBeNull();
  }
  await writeFile(join(inner, "s.json"), whole);
  expect((await kept.get("s", url)).latest).toBe("i");
  await expect(
    credentialFiles(join(inner, "s.json"), virtualClock(), () => {}).get("x", url),
  ).rejects.toThrow();
});

test("changes at once are made one upon the other, also after one that failed; a login is removed once", async () => {
  const { kept } = files();
  const add = (issuer: string) =>
    kept.change("s", url, (now) => ({ ...now, issuers: { ...now.issuers, [issuer]: {} } }));
  const failed = kept.change("s", url, () => {
    throw new Error("no");
  });
  await Promise.all([add("a"), failed.catch(() => {}), add("b"), add("c")]);
  await expect(failed).rejects.toThrow("no");
  expect(Object.keys((await kept.get("s", url)).issuers)).toEqual(["a", "b", "c"]);
  expect([await kept.remove("s"), await kept.remove("s")]).toEqual([true, false]);
});

async function client(more: { redirectUrl?: string | null; settings?: object } = {}) {
  const { kept, clock } = files();
  const { redirectUrl = "http://127.0.0.1:9/back", settings = {} } = more;
  const made = oauthClient({
    server: "s",
    url,
    settings,
    files: kept,
    redirectUrl,
    state: "st",
    onRedirect: () => {},
    clock,
  });
  return { made, kept, clock };
}

test("a refresh keeps the token for the next one where the answer leaves it out, and says until when it holds", async () => {
  const { made, kept, clock } = await client({ redirectUrl: null });
  const issuer = { issuer: "i" } as never;
  await made.saveDiscoveryState?.({ authorizationServerUrl: "https://as.example/" } as never);
  const tokens = { access_token: "a1", token_type: "bearer", refresh_token: "r1", expires_in: 60 };
  await made.saveTokens(tokens, issuer);
  const of = async () => (await kept.get("s", url)).issuers["i"];
  expect(await of()).toEqual({
    tokens: { ...tokens, untilMs: clock.now() + 60_000 },
    discovery: { authorizationServerUrl: "https://as.example/" },
  });
  await made.saveTokens({ access_token: "a2", token_type: "bearer" }, issuer);
  expect((await of())?.tokens).toEqual({ access_token: "a2", token_type: "bearer", refresh_token: "r1" });
  await made.saveTokens({ access_token: "a3", token_type: "bearer", refresh_token: "r3" }, issuer);
  expect((await of())?.tokens).toMatchObject({ refresh_token: "r3" });
  expect(await made.tokens(issuer)).toMatchObject({ access_token: "a3" });
  expect(await made.tokens({ issuer: "other" } as never)).toBeUndefined();
  // Without a named issuer that of the last login counts, and a renewal goes where that one was found.
  expect(await made.tokens()).toMatchObject({ access_token: "a3" });
  expect(await made.discoveryState?.()).toEqual({ authorizationServerUrl: "https://as.example/" });
  expect(await (await client()).made.discoveryState?.()).toBeUndefined();
});

test("a client counts for the very address that it was registered with, and the config's goes before it", async () => {
  const { made } = await client();
  const registered = { client_id: "c", redirect_uris: ["http://127.0.0.1:9/back"] };
  await made.saveClientInformation?.(registered as never, { issuer: "i" } as never);
  expect(await made.clientInformation()).toEqual(registered);
  expect(
    await (await client({ redirectUrl: "http://127.0.0.1:10/back" })).made.clientInformation(),
  ).toBeUndefined();
  expect(await (await client({ redirectUrl: null })).made.clientInformation()).toEqual(registered);
  const own = { clientId: "mine", clientSecret: "hush", scope: "read" };
  const configured = (await client({ settings: own })).made;
  expect(await configured.clientInformation()).toEqual({ client_id: "mine", client_secret: "hush" });
  expect(configured.clientMetadata).toMatchObject({
    scope: "read",
    redirect_uris: ["http://127.0.0.1:9/back"],
  });
  const nameless = (await client({ settings: { clientId: "mine" } })).made;
  expect([await nameless.clientInformation(), nameless.clientMetadata.scope]).toEqual([
    { client_id: "mine" },
    undefined,
  ]);
});

test.for([
  ["tokens", ["client", "discovery"]],
  ["client", ["discovery", "tokens"]],
  ["all", []],
  ["verifier", ["client", "discovery", "tokens"]],
  ["discovery", ["client", "discovery", "tokens"]],
] as const)("what a server says does not hold (%s) goes, of the last login alone", async ([what, left]) => {
  const { made, kept } = await client();
  const each = () => ({ ...login("x"), discovery: {} }) as never;
  await made.invalidateCredentials?.(what);
  await kept.change("s", url, (now) => ({ ...now, latest: "i2", issuers: { i1: each(), i2: each() } }));
  await made.invalidateCredentials?.(what);
  const { issuers, latest } = await kept.get("s", url);
  expect([latest, Object.keys(issuers["i2"] ?? {}).toSorted(), issuers["i1"]]).toEqual(["i2", left, each()]);
});
