// Plays an MCP server on 127.0.0.1 that asks for a login, with its authorization server at the same address:
// it checks what a strict one checks (redirect, PKCE, the token that renews used once).
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface FakeOAuthMcp {
  readonly url: string;
  readonly issuer: string;
  /** Paths that were asked for. */
  readonly seen: string[];
  /** Names every access token that was given. */
  readonly given: string[];
  /** As a browser that says yes: the address that the person is led to. */
  consent(url: string): Promise<string>;
  /** Access tokens that count no more. */
  readonly revoked: Set<string>;
  close(): void;
}

export interface OAuthOdds {
  /** Of the metadata; absent: the truth. */
  readonly issuer?: string;
  readonly authorizationServer?: string;
  /** Of the metadata; absent: its own. */
  readonly tokenEndpoint?: string;
  readonly registrationEndpoint?: string;
  /** Where a refused call is told that the login is described. */
  readonly resourceMetadata?: string;
  /** Every call is led there. */
  readonly redirectsTo?: string;
  /** Of the callback; null: none. */
  readonly iss?: string | null;
  readonly promisesIss?: boolean;
  /** Its metadata begins and never ends. */
  readonly dripping?: boolean;
  readonly expiresIn?: number;
  /** Renewing is refused. */
  readonly noRenewal?: boolean;
}

export async function fakeOAuthMcp(odds: OAuthOdds = {}): Promise<FakeOAuthMcp> {
  const seen: string[] = [];
  const given: string[] = [];
  const revoked = new Set<string>();
  const codes = new Map<string, { readonly challenge: string; readonly redirect: string }>();
  const renewals = new Set<string>();
  const clients = new Map<string, readonly string[]>();
  const server = createServer((request, response) => {
    void answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;

  const tokens = (): object => {
    const access = `access-${given.length + 1}`;
    const renewal = randomUUID();
    given.push(access);
    renewals.add(renewal);
    return {
      access_token: access,
      token_type: "Bearer",
      refresh_token: renewal,
      expires_in: odds.expiresIn ?? 3_600,
    };
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", origin);
    seen.push(url.pathname);
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const json = (value: unknown, status = 200, headers = {}): void => {
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(value));
    };
    switch (url.pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return json({
          resource: `${origin}/mcp`,
          authorization_servers: [odds.authorizationServer ?? origin],
        });
      case "/.well-known/oauth-authorization-server":
        if (odds.dripping === true) {
          response.writeHead(200, { "content-type": "application/json" }).write("{");
          return;
        }
        return json({
          issuer: odds.issuer ?? origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: odds.tokenEndpoint ?? `${origin}/token`,
          registration_endpoint: odds.registrationEndpoint ?? `${origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
          authorization_response_iss_parameter_supported: odds.promisesIss ?? true,
        });
      case "/register": {
        const asked = JSON.parse(body) as { readonly redirect_uris: readonly string[] };
        const id = `client-${clients.size + 1}`;
        clients.set(id, asked.redirect_uris);
        return json({ ...asked, client_id: id }, 201);
      }
      case "/authorize": {
        const redirect = url.searchParams.get("redirect_uri") ?? "";
        const known = clients.get(url.searchParams.get("client_id") ?? "");
        if (known?.includes(redirect) !== true) return json({ error: "invalid_client" }, 400);
        const code = randomUUID();
        codes.set(code, { challenge: url.searchParams.get("code_challenge") ?? "", redirect });
        const back = new URL(redirect);
        back.searchParams.set("code", code);
        back.searchParams.set("state", url.searchParams.get("state") ?? "");
        if (odds.iss !== null) back.searchParams.set("iss", odds.iss ?? origin);
        response.writeHead(302, { location: back.href }).end();
        return;
      }
      case "/token": {
        const asked = new URLSearchParams(body);
        if (asked.get("grant_type") === "refresh_token") {
          const isGood = odds.noRenewal !== true && renewals.delete(asked.get("refresh_token") ?? "");
          return isGood ? json(tokens()) : json({ error: "invalid_grant" }, 400);
        }
        const code = codes.get(asked.get("code") ?? "");
        codes.delete(asked.get("code") ?? "");
        const challenge = createHash("sha256")
          .update(asked.get("code_verifier") ?? "")
          .digest("base64url");
        return code?.challenge === challenge && code.redirect === asked.get("redirect_uri")
          ? json(tokens())
          : json({ error: "invalid_grant" }, 400);
      }
      case "/mcp": {
        if (odds.redirectsTo !== undefined)
          return void response.writeHead(303, { location: odds.redirectsTo }).end();
        const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
        if (!given.includes(token) || revoked.has(token))
          return json({}, 401, {
            "www-authenticate": `Bearer resource_metadata="${odds.resourceMetadata ?? `${origin}/.well-known/oauth-protected-resource/mcp`}"`,
          });
        if (request.method !== "POST") return void response.writeHead(405).end();
        return rpc(JSON.parse(body) as Rpc, json, response, token);
      }
      default:
        response.writeHead(404).end();
    }
  }

  return {
    url: `${origin}/mcp`,
    issuer: origin,
    seen,
    given,
    revoked,
    async consent(url) {
      const led = await fetch(url, { redirect: "manual" });
      return led.headers.get("location") ?? "";
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Rpc {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string };
}

function rpc(
  { id, method, params }: Rpc,
  json: (value: unknown) => void,
  response: ServerResponse,
  token: string,
): void {
  if (id === undefined) return void response.writeHead(202).end();
  const result = {
    initialize: {
      protocolVersion: params?.protocolVersion ?? "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "private", version: "1" },
    },
    "tools/list": { tools: [{ name: "who", description: "Says who", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: `let in by ${token}` }] },
  }[method];
  if (result === undefined) json({ jsonrpc: "2.0", id, error: { code: -32_601, message: "no such method" } });
  else json({ jsonrpc: "2.0", id, result });
}
