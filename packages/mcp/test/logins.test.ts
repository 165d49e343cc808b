// A login step by step, against an authorization server on 127.0.0.1 and in virtual time: which answer of a
// person counts and what is said of every other, how long a login stays open, and when a token is renewed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFault } from "@parley/protocol";
import { fakeOAuthMcp, virtualClock, type OAuthOdds } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { credentialFiles } from "../src/oauth/credential-files.ts";
import { logins, type LoginTarget } from "../src/oauth/logins.ts";

const redirect = "http://127.0.0.1:41999/callback";
const refusal = (error: unknown): string =>
  isFault(error) ? `${error.code}: ${error.message}` : `not a fault: ${String(error)}`;

async function stage(odds: OAuthOdds = {}, settings: LoginTarget["settings"] = {}) {
  const site = await fakeOAuthMcp(odds);
  const folder = await mkdtemp(join(tmpdir(), "parley-login-"));
  onTestFinished(async () => {
    site.close();
    await rm(folder, { recursive: true, force: true });
  });
  const clock = virtualClock();
  const files = credentialFiles(folder, clock, () => {});
  const locked: string[] = [];
  let states = 0;
  let closed = 0;
  const made = logins(
    files,
    async (server, work) => {
      locked.push(server);
      return work();
    },
    clock,
    { uuid: () => `state-${(states += 1)}` },
  );
  const target = (server = "s"): LoginTarget => ({ server, url: site.url, settings });
  const open = async () => ({ fetch, close: async () => void (closed += 1) });
  const start = (server = "s"): Promise<string> => made.start(target(server), redirect, open);
  const finish = (answer: string, server = "s"): Promise<string> =>
    made.finish(server, answer).then(() => "logged in", refusal);
  return { site, clock, files, locked, made, target, start, finish, closed: () => closed };
}

test("an address of this very login counts once, or the code in it; every other answer says what is wrong with it", async () => {
  const { start, finish, site, closed, clock } = await stage({ promisesIss: false });
  const after = async (answer: (back: URL) => string): Promise<string> => {
    const url = await start();
    return finish(answer(new URL(await site.consent(url))));
  };
  const state = (back: URL): string => back.searchParams.get("state") ?? "";
  const code = (back: URL): string => back.searchParams.get("code") ?? "";
  const none = "invalid: that is no code and no address";
  expect([
    await after((back) => ` ${back.href}\n`),
    await after((back) => back.search),
    await after((back) => back.search.slice(1)),
    await after(code),
    await after((back) => `HTTP://elsewhere/${back.search}`),
    await after((back) => `code=${code(back)}&state=other`),
    await after((back) => `https://a.test/?code=${code(back)}`),
    await after((back) => `?error=access_denied&state=${state(back)}`),
    await after((back) => `https://a.test/?state=${state(back)}&error=${"e".repeat(61)}&code=x`),
    await after((back) => `https://a.test/?state=${state(back)}`),
    await after(() => "two words"),
    await after(() => ""),
    await after(() => "ü"),
    await after(() => "x".repeat(4_097)),
    await after(() => "x".repeat(4_096)),
  ]).toEqual([
    ...Array<string>(5).fill("logged in"),
    "denied: that address belongs to another login: its state is not the one that was sent",
    "denied: that address belongs to another login: its state is not the one that was sent",
    "denied: the login was refused: access_denied",
    `denied: the login was refused: ${"e".repeat(59)}…`,
    "invalid: that address has no code in it",
    none,
    none,
    none,
    none,
    expect.stringMatching(/^denied: its login failed: \S/),
  ]);
  expect([closed(), clock.armed()]).toEqual([15, 0]);
  // What cannot be the person's answer leaves the login open; whatever was tried with the server ends it.
  const back = new URL(await site.consent(await start()));
  for (const wrong of ["two words", "?code=x&state=other", `http://a.test/?state=${state(back)}`])
    await finish(wrong);
  expect([closed(), clock.armed(), await finish(back.href), closed(), clock.armed()]).toEqual([
    15,
    1,
    "logged in",
    16,
    0,
  ]);
  const gone = new URL(await site.consent(await start()));
  expect(await finish("no-such-code")).toMatch(/^denied: its login failed: /);
  expect([closed(), await finish(gone.href)]).toEqual([
    17,
    "missing: no login to s is open: begin with parley mcp login s",
  ]);
});

test("a login is open for ten minutes, and another one of the same server takes its place", async () => {
  const { start, finish, site, closed, clock, made } = await stage();
  const back = async (url: string): Promise<string> => site.consent(url);
  const first = await back(await start());
  const second = await back(await start());
  const other = await back(await start("other"));
  expect([closed(), clock.armed()]).toEqual([1, 2]);
  expect(await finish(first)).toMatch(/^denied: that address belongs to another login/);
  expect(await finish(second)).toBe("logged in");
  expect([closed(), clock.armed()]).toEqual([2, 1]);
  const late = await back(await start());
  await clock.advance(599_999);
  expect([closed(), clock.armed()]).toEqual([2, 2]);
  await clock.advance(1);
  expect([closed(), clock.armed()]).toEqual([4, 0]);
  const over = (server: string): string =>
    `missing: no login to ${server} is open: begin with parley mcp login ${server}`;
  expect([await finish(late), await finish(other, "other")]).toEqual([over("s"), over("other")]);
  await start();
  expect([await made.logout("s"), await made.logout("s"), closed(), clock.armed()]).toEqual([
    true,
    false,
    5,
    0,
  ]);
});

test("a token is renewed before its use when it ends within a minute, once for all who ask at the same time", async () => {
  const { start, finish, site, clock, made, target, locked } = await stage({ expiresIn: 3_600 });
  const auth = made.authOf(target(), fetch);
  expect([await auth.token(), await auth.onUnauthorized?.({} as never).catch(refusal)]).toEqual([
    undefined,
    "denied: it asks for a login: parley mcp login s",
  ]);
  await finish(await site.consent(await start()));
  await clock.advance(3_539_999);
  expect([await auth.token(), site.given]).toEqual(["access-1", ["access-1"]]);
  await clock.advance(1);
  locked.length = 0;
  const another = made.authOf(target(), fetch);
  expect(await Promise.all([auth.token(), another.token()])).toEqual(["access-2", "access-2"]);
  expect([site.given, locked]).toEqual([["access-1", "access-2"], ["s"]]);
  // Whose token did not do renews it, unless another one has done so meanwhile.
  await auth.onUnauthorized?.({} as never);
  expect([await auth.token(), site.given.length]).toEqual(["access-3", 3]);
  await another.onUnauthorized?.({} as never);
  expect(site.given.length).toBe(3);
  expect(locked).toEqual(["s", "s", "s"]);
});

test("a renewal that is refused makes the token count no more, and tells a person what to do", async () => {
  const { start, finish, site, clock, made, target } = await stage({ expiresIn: 30, noRenewal: true });
  await finish(await site.consent(await start()));
  const auth = made.authOf(target(), fetch);
  expect(await auth.token()).toBeUndefined();
  expect(await auth.onUnauthorized?.({} as never).catch(refusal)).toBe(
    "denied: it asks for a login: parley mcp login s",
  );
  expect([site.given, clock.armed()]).toEqual([["access-1"], 0]);
});

test("a login that cannot begin is told in one line and keeps nothing open; the config's scope goes along", async () => {
  const broken = await stage({ issuer: "https://evil.example" });
  expect(await broken.start().catch(refusal)).toMatch(/^denied: its login cannot begin: \S[^\n]*$/);
  expect([broken.closed(), broken.clock.armed()]).toEqual([1, 0]);
  expect(await broken.finish("x")).toMatch(/^missing: no login to s is open/);
  const scoped = await stage({}, { scope: "read write" });
  const { searchParams } = new URL(await scoped.start());
  expect([searchParams.get("scope"), searchParams.get("state"), searchParams.get("redirect_uri")]).toEqual([
    "read write",
    "state-1",
    redirect,
  ]);
});

test("where the config names no scope the one counts that the server's refusal names, and what it says of its login is asked", async () => {
  const asked: string[] = [];
  const scopeOf = async (settings: LoginTarget["settings"], says: string): Promise<string | null> => {
    const { made, target, site } = await stage({}, settings);
    const told = async (to: string | URL, init?: RequestInit): Promise<Response> => {
      const { pathname, search } = new URL(String(to));
      asked.push(`${pathname}${search}`);
      const answer = await fetch(to, init);
      const header = answer.headers.get("www-authenticate");
      if (header === null) return answer;
      return new Response(null, {
        status: answer.status,
        headers: { "www-authenticate": `${header.replace('/mcp"', '/mcp?told"')}${says}` },
      });
    };
    const open = async () => ({ fetch: told, close: async () => {} });
    const url = await made.start(target(), redirect, open);
    expect(url.startsWith(site.issuer)).toBe(true);
    await made.logout("s");
    return new URL(url).searchParams.get("scope");
  };
  expect([await scopeOf({}, ', scope="told"'), await scopeOf({ scope: "own" }, ', scope="told"')]).toEqual([
    "told",
    "own",
  ]);
  expect(asked[1]).toBe("/.well-known/oauth-protected-resource/mcp?told");
});
