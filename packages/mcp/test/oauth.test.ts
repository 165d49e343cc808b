// Logins to servers that ask for one, against a strict authorization server on 127.0.0.1.
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { fakeOAuthMcp, type OAuthOdds } from "@parley/testkit";
import type { McpSettings } from "../src/index.ts";
import { onHost, plain, stage, textOf, type Stage } from "./stage.ts";

const redirect = "http://127.0.0.1:41999/callback";

async function oauthSite(odds: OAuthOdds = {}) {
  const site = await fakeOAuthMcp(odds);
  onTestFinished(() => site.close());
  return site;
}

async function begin(odds: OAuthOdds = {}, own: object = {}) {
  const site = await oauthSite(odds);
  const s = stage();
  const settings = s.use(
    { enabled: false },
    { private: { ...plain, transport: "http", url: site.url, ...own } },
  );
  const who = () => s.call(settings, "private__who").then(textOf, (error: Error) => error.message);
  const login = async (): Promise<void> => {
    const url = await s.servers.login("private", redirect);
    await s.servers.finishLogin("private", await site.consent(url));
  };
  return { s, site, settings, who, login };
}

const reasonAt = async (s: Stage, settings: Parameters<Stage["tools"]>[0]): Promise<string | undefined> =>
  (await s.servers.at(settings, onHost)).unavailable.find(({ tool }) => tool === "private__*")?.reason;

test("a server that asks for a login names the command; after it, its tools are there, and the login is kept for this user alone", async () => {
  const { s, site, settings, who } = await begin();
  expect(await reasonAt(s, settings)).toBe(
    "MCP server private: it asks for a login: parley mcp login private",
  );
  const url = await s.servers.login("private", redirect);
  const { searchParams } = new URL(url);
  expect(searchParams.get("code_challenge_method")).toBe("S256");
  expect(searchParams.get("resource")).toBe(site.url);
  const view = await s.servers.finishLogin("private", await site.consent(url));
  expect(view.tools.map(({ name }) => name)).toEqual(["who"]);
  expect(await who()).toBe("let in by access-1");
  const [file = ""] = readdirSync(s.logins);
  expect(statSync(join(s.logins, file)).mode & 0o777).toBe(0o600);
  const kept = JSON.parse(readFileSync(join(s.logins, file), "utf8")) as { readonly issuers: object };
  expect(Object.keys(kept.issuers)).toEqual([site.issuer]);
  expect(await s.servers.logout("private")).toBe(true);
  expect(readdirSync(s.logins)).toEqual([]);
  await expect(s.servers.test("private")).rejects.toThrow(/asks for a login/);
});

test("a name that is no server's leads to no file outside of the logins' folder", async () => {
  const s = stage();
  mkdirSync(s.logins, { recursive: true });
  const beside = join(s.logins, "../beside.json");
  writeFileSync(beside, "{}");
  expect(await s.servers.forget("../beside")).toBe(false);
  expect(await s.servers.forget("\0")).toBe(false);
  expect(readFileSync(beside, "utf8")).toBe("{}");
});

test("a token that ended is renewed by itself, once for all who need it; where that is refused a person is asked", async () => {
  const { s, site, settings, login, who } = await begin();
  await login();
  site.revoked.add("access-1");
  expect(await Promise.all([who(), who()])).toEqual(["let in by access-2", "let in by access-2"]);
  expect(site.given).toEqual(["access-1", "access-2"]);
  const other = await begin({ noRenewal: true });
  await other.login();
  other.site.revoked.add("access-1");
  expect(await other.who()).toMatch(/parley mcp login private/);
  expect(await reasonAt(s, settings)).toBeUndefined();
});

test("two processes on one home renew a login by one use of its token, and say what is to be hidden", async () => {
  const site = await oauthSite();
  const hidden = new Set<string>();
  const hide = (secrets: readonly string[]): void => secrets.forEach((each) => hidden.add(each));
  const first = stage({}, { hide });
  const stages = [first, stage({}, { beside: first }), stage({}, { beside: first })];
  const server = { private: { ...plain, transport: "http", url: site.url } } as const;
  const settings = stages.map((s) => s.use({ enabled: false }, server));
  await first.servers.finishLogin(
    "private",
    await site.consent(await first.servers.login("private", redirect)),
  );
  const who = (): Promise<string[]> =>
    Promise.all(
      stages.map(async (s, at) => textOf(await s.call(settings[at] as McpSettings, "private__who"))),
    );
  expect(await who()).toEqual(Array(3).fill("let in by access-1"));
  site.revoked.add("access-1");
  expect(await who()).toEqual(Array(3).fill("let in by access-2"));
  expect(site.given).toEqual(["access-1", "access-2"]);
  expect(site.seen.filter((path) => path === "/token")).toHaveLength(2);
  expect(first.cells.has("mcp-renewal:private")).toBe(false);
  await first.servers.test("private");
  const [file = ""] = readdirSync(first.logins);
  const kept = readFileSync(join(first.logins, file), "utf8");
  const renewal = /"refresh_token":"([^"]+)"/.exec(kept)?.[1];
  expect(renewal).toBeDefined();
  for (const secret of ["access-1", "access-2", renewal]) expect(hidden).toContain(secret);
  // A start says so of what was given before, without any call.
  const later = new Set<string>();
  const again = stage({}, { beside: first, hide: (secrets) => secrets.forEach((each) => later.add(each)) });
  again.use({ enabled: false }, server);
  await vi.waitFor(() => expect([...later]).toEqual(expect.arrayContaining(["access-2", renewal])));
});

test("a token is renewed before it ends", async () => {
  const { login, who } = await begin({ expiresIn: 30 });
  await login();
  expect(await who()).not.toBe("let in by access-1");
});

test("another login's address is refused, and the right one counts once", async () => {
  const { s, site } = await begin();
  const url = await s.servers.login("private", redirect);
  const back = new URL(await site.consent(url));
  const other = new URL(back);
  other.searchParams.set("state", "x");
  for (const answer of [other.href, "?error=access_denied", "a code", ""])
    await expect(s.servers.finishLogin("private", answer), answer).rejects.toThrow(/another login|no code/);
  expect((await s.servers.finishLogin("private", back.href)).state).toBe("running");
  await expect(s.servers.finishLogin("private", back.href)).rejects.toThrow(/no login to private is open/);
});

test("a code alone will do where the metadata promises no issuer", async () => {
  const { s, site, who } = await begin({ promisesIss: false });
  const back = new URL(await site.consent(await s.servers.login("private", redirect)));
  await s.servers.finishLogin("private", ` ${back.searchParams.get("code")}\n`);
  expect(await who()).toBe("let in by access-1");
});

test.each<[string, OAuthOdds]>([
  ["the callback names another issuer", { iss: "https://evil.example" }],
  ["the callback names none where the metadata promises one", { iss: null }],
])("no code is redeemed where %s", async (_what, odds) => {
  const { site, login } = await begin(odds);
  await expect(login()).rejects.toThrow(/MCP server private: its login failed/);
  expect(site.seen).not.toContain("/token");
});

test("metadata of another issuer begins no login", async () => {
  const { s } = await begin({ issuer: "https://evil.example" });
  await expect(s.servers.login("private", redirect)).rejects.toThrow(/its login cannot begin/);
});

test("an authorization server that never ends its answer is given up in time", async () => {
  const { s } = await begin({ dripping: true }, { timeoutMs: 300 });
  await expect(s.servers.login("private", redirect)).rejects.toThrow(/longer than|did not answer/);
});

test("an authorization server in a private network is not asked, unless the config opens it", async () => {
  const inner = await oauthSite();
  const { s } = await begin({ authorizationServer: inner.issuer });
  await expect(s.servers.login("private", redirect)).rejects.toThrow(/private network|may not be dialled/);
  expect(inner.seen).toEqual([]);
});

test("a login counts for its address alone, and a key in the config leaves none to make", async () => {
  const { s, site, settings, login, who } = await begin();
  await login();
  expect(await who()).toBe("let in by access-1");
  const elsewhere = await oauthSite();
  const other = s.use({ enabled: false }, { private: { ...plain, transport: "http", url: elsewhere.url } });
  expect(await reasonAt(s, other)).toMatch(/asks for a login/);
  expect(site.given).toHaveLength(1);
  const own = settings.servers["private"];
  s.use({ enabled: false }, { private: { ...(own ?? plain), headers: { authorization: "Bearer x" } } });
  await expect(s.servers.login("private", redirect)).rejects.toThrow(/take Authorization out first/);
  await expect(s.servers.login("fake", redirect)).rejects.toThrow(/a program of this machine/);
});
