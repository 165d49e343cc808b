// Servers by HTTP against everything that leads to this machine: the address that the operator wrote is
// dialled, and whatever a server names after it (a redirect, the metadata of its login, its endpoints) is
// judged.
import { once } from "node:events";
import { createServer } from "node:http";
import { closedHosts, fakeOAuthMcp, type OAuthOdds } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { plain, stage } from "./stage.ts";

/** Listens at a port that the rules open, so that nothing but its address keeps it closed. */
async function canary() {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url}`);
    response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  return { heard, port: typeof address === "object" ? (address?.port ?? 0) : 0 };
}

type Odds = { -readonly [Name in keyof OAuthOdds]: OAuthOdds[Name] };

async function begin(allowedHosts: readonly string[] = []) {
  const { heard, port } = await canary();
  const odds: Odds = {};
  const site = await fakeOAuthMcp(odds);
  onTestFinished(() => site.close());
  const refused: string[] = [];
  const s = stage(
    {},
    {
      rules: { allowedPorts: [port], allowedHosts: allowedHosts.map((host) => `${host}:${port}`) },
      refused: ({ reason }) => refused.push(reason),
    },
  );
  s.use({ enabled: false }, { private: { ...plain, transport: "http", url: site.url } });
  const login = async (): Promise<void> => {
    const url = await s.servers.login("private", "http://127.0.0.1:41999/callback");
    await s.servers.finishLogin("private", await site.consent(url));
  };
  return { s, odds, heard, port, refused, login };
}

const leads: readonly [string, keyof OAuthOdds, "test" | "login"][] = [
  ["a redirect of a call", "redirectsTo", "test"],
  ["the metadata that a refusal names", "resourceMetadata", "login"],
  ["an authorization server of the metadata", "authorizationServer", "login"],
  ["a registration endpoint", "registrationEndpoint", "login"],
  ["a token endpoint", "tokenEndpoint", "login"],
];

/** A header takes ASCII alone; in an address that means the same. */
const inHeader = (host: string): string => host.replaceAll(/[^\x21-\x7e]/g, encodeURIComponent);

test.each(leads)(
  "%s leads nowhere on this machine or its networks, however it is written",
  async (_what, odd, way) => {
    const { s, odds, heard, port, refused, login } = await begin();
    for (const host of closedHosts) {
      Object.assign(odds, { [odd]: `http://${inHeader(host)}:${port}/x` });
      await (way === "test" ? s.servers.test("private") : login()).catch(() => undefined);
    }
    expect(heard).toEqual([]);
    // Some spellings are no address to the library, and tokens it carries by https alone: it asks nobody.
    expect(refused.length).toBeGreaterThan(5);
    expect(new Set(refused)).toContain("private");
  },
);

test.each(leads)("%s is followed where the config opens it", async (_what, odd, way) => {
  const { s, odds, heard, port, login } = await begin(["127.0.0.1"]);
  Object.assign(odds, { [odd]: `http://127.0.0.1:${port}/x` });
  await (way === "test" ? s.servers.test("private") : login()).catch(() => undefined);
  expect(heard).not.toEqual([]);
});
