// Gives the MCP library what it needs of a login: where it is kept, who we are, and what happens when a
// person must be asked. Discovery, PKCE, the check of `iss` and the token requests are the library's.
import type {
  OAuthClientInformationContext,
  OAuthClientProvider,
  OAuthDiscoveryState,
} from "@modelcontextprotocol/client";
import { version, type Clock } from "@parley/protocol";
import type { OAuthSettings } from "../settings.ts";
import type { CredentialFiles, Credentials } from "./credential-files.ts";

export interface OAuthClientOptions {
  readonly server: string;
  readonly url: string;
  readonly settings: OAuthSettings;
  readonly files: CredentialFiles;
  /** Null: a token is renewed, and nobody is led anywhere. */
  readonly redirectUrl: string | null;
  readonly state: string;
  /** Called where a person has to look at an address. */
  readonly onRedirect: (url: URL) => void;
  readonly clock: Pick<Clock, "now">;
}

/** The library takes a client without such an address for one that asks nobody. */
const nowhere = "http://127.0.0.1/";

/** One login or one refresh: code verifier and discovery last no longer. */
export function oauthClient(options: OAuthClientOptions): OAuthClientProvider {
  const { server, url, settings, files, redirectUrl, state, onRedirect, clock } = options;
  const { clientId, clientSecret, scope } = settings;
  let verifier = "";
  let discovered: OAuthDiscoveryState | undefined;
  const redirectsTo = redirectUrl ?? nowhere;

  const ofIssuer = async (context?: OAuthClientInformationContext) => {
    const { latest, issuers } = await files.get(server, url);
    return issuers[context?.issuer ?? latest ?? ""] ?? {};
  };
  const change = (
    issuer: string,
    by: (now: Credentials["issuers"][string]) => Credentials["issuers"][string],
  ): Promise<void> =>
    files.change(server, url, (now) => ({
      ...now,
      latest: issuer,
      issuers: { ...now.issuers, [issuer]: by(now.issuers[issuer] ?? {}) },
    }));

  return {
    redirectUrl: redirectsTo,
    clientMetadata: {
      client_name: "Parley",
      software_version: version,
      redirect_uris: [redirectsTo],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      ...(scope === undefined ? {} : { scope }),
    },
    state: () => state,
    async clientInformation(context) {
      if (clientId !== undefined)
        return {
          client_id: clientId,
          ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
        };
      const { client } = await ofIssuer(context);
      // A server may hold a client to the very address that it was registered with.
      const redirects = client as { readonly redirect_uris?: readonly string[] } | undefined;
      const isOther = redirectUrl !== null && redirects?.redirect_uris?.includes(redirectUrl) === false;
      return isOther ? undefined : client;
    },
    saveClientInformation: (client, context) => change(context?.issuer ?? "", (now) => ({ ...now, client })),
    tokens: async (context) => (await ofIssuer(context)).tokens,
    async saveTokens(tokens, context) {
      const seconds = tokens.expires_in;
      const untilMs = seconds === undefined ? {} : { untilMs: clock.now() + seconds * 1_000 };
      await change(context?.issuer ?? "", (now) => ({
        ...now,
        // A refresh may leave out the token that the next one needs.
        tokens: { ...keptOf(now.tokens), ...tokens, ...untilMs },
        ...(discovered === undefined ? {} : { discovery: discovered }),
      }));
    },
    redirectToAuthorization: onRedirect,
    saveCodeVerifier(made) {
      verifier = made;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(found) {
      discovered = found;
    },
    async discoveryState() {
      // A login looks anew where the server sends its people now.
      return redirectUrl === null ? (await ofIssuer()).discovery : discovered;
    },
    async invalidateCredentials(what) {
      if (what === "verifier" || what === "discovery") return;
      await files.change(server, url, (now) => {
        const { latest } = now;
        if (latest === null) return now;
        const { client, tokens, discovery } = now.issuers[latest] ?? {};
        const left = {
          ...(what === "tokens" && client !== undefined ? { client } : {}),
          ...(what !== "all" && discovery !== undefined ? { discovery } : {}),
          ...(what === "client" && tokens !== undefined ? { tokens } : {}),
        };
        return { ...now, issuers: { ...now.issuers, [latest]: left } };
      });
    },
  };
}

const keptOf = (tokens: { readonly refresh_token?: string | undefined } | undefined) =>
  tokens?.refresh_token === undefined ? {} : { refresh_token: tokens.refresh_token };
