// Logs in to servers that ask for it: a person opens an address and brings back what it leads to; afterwards
// the tokens are used and renewed without anybody. A server that asks while nobody is there is an error that
// names the command.
import type { AuthOptions, AuthProvider } from "@modelcontextprotocol/client";
import { Fault, isFault, label, type Clock, type Ids } from "@parley/protocol";
import { errorWords } from "../error-words.ts";
import type { GuardedFetch } from "../guarded-fetch.ts";
import type { OAuthSettings } from "../settings.ts";
import type { CredentialFiles } from "./credential-files.ts";
import { oauthClient } from "./oauth-client.ts";
import type { RenewalLock } from "./renewal-lock.ts";

export interface LoginTarget {
  readonly server: string;
  readonly url: string;
  readonly settings: OAuthSettings;
}

export interface Logins {
  /** For a connection: the token of the last login, renewed where it can be. */
  authOf(target: LoginTarget, fetch: GuardedFetch["fetch"]): AuthProvider;
  /** Returns the address that a person opens. Throws Fault. */
  start(target: LoginTarget, redirectUrl: string, open: () => Promise<GuardedFetch>): Promise<string>;
  /** `answer`: the address that the person was led to, or the code in it. Throws Fault. */
  finish(server: string, answer: string): Promise<void>;
  /** Returns false where nobody had logged in. */
  logout(server: string): Promise<boolean>;
}

interface Open {
  readonly state: string;
  readonly finish: (code: string, iss: string | undefined) => Promise<void>;
  readonly end: () => void;
}

const openMs = 600_000;
/** A token that ends this soon is renewed before it is used. */
const earlyMs = 60_000;

export function logins(
  files: CredentialFiles,
  alone: RenewalLock,
  clock: Clock,
  ids: Pick<Ids, "uuid">,
): Logins {
  const open = new Map<string, Open>();
  const renewing = new Map<string, Promise<void>>();

  async function tokensOf({ server, url }: LoginTarget) {
    const { latest, issuers } = await files.get(server, url);
    return latest === null ? undefined : issuers[latest]?.tokens;
  }

  const asks = ({ server }: LoginTarget): Fault =>
    new Fault("denied", `it asks for a login: parley mcp login ${server}`);

  /**
   * Once at a time: a token that renews can often be used only once. `used`: the access token that did not
   * do, which another call or process may have renewed meanwhile.
   */
  function renew(target: LoginTarget, fetch: GuardedFetch["fetch"], used: string | undefined): Promise<void> {
    const known = renewing.get(target.server);
    if (known !== undefined) return known;
    const work = alone(target.server, async () => {
      const tokens = await tokensOf(target);
      if (tokens !== undefined && tokens.access_token !== used) return;
      if (tokens?.refresh_token === undefined) throw asks(target);
      const { auth } = await import("@modelcontextprotocol/client");
      const onRedirect = (): never => {
        throw asks(target);
      };
      const client = oauthClient({ ...target, files, redirectUrl: null, state: "", onRedirect, clock });
      try {
        await auth(client, { serverUrl: target.url, fetchFn: fetch });
      } catch (error) {
        throw isFault(error) ? error : faultOf(error, "its login cannot be renewed");
      }
    }).finally(() => renewing.delete(target.server));
    renewing.set(target.server, work);
    return work;
  }

  return {
    authOf(target, fetch) {
      let used: string | undefined;
      return {
        async token() {
          const tokens = await tokensOf(target);
          used = tokens?.access_token;
          const { untilMs = Infinity, refresh_token: next } = tokens ?? {};
          if (next === undefined || untilMs - clock.now() > earlyMs) return used;
          // Where that fails the server says itself what it thinks of the old one.
          await renew(target, fetch, used).catch(() => undefined);
          used = (await tokensOf(target))?.access_token;
          return used;
        },
        onUnauthorized: () => renew(target, fetch, used),
      };
    },
    async start(target, redirectUrl, openFetch) {
      open.get(target.server)?.end();
      const { auth, extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
      const http = await openFetch();
      const state = ids.uuid();
      let shown: URL | null = null;
      const onRedirect = (url: URL): void => {
        shown = url;
      };
      const client = oauthClient({ ...target, files, redirectUrl, state, onRedirect, clock });
      const asked: AuthOptions = { serverUrl: target.url, fetchFn: http.fetch };
      try {
        // The refusal of a call without a token says where the server describes its login, and for what.
        const refusal = await http.fetch(target.url, { headers: { accept: "text/event-stream" } });
        await refusal.body?.cancel();
        const told = refusal.status === 401 ? extractWWWAuthenticateParams(refusal) : {};
        const scope = target.settings.scope ?? told.scope;
        if (scope !== undefined) asked.scope = scope;
        if (told.resourceMetadataUrl !== undefined) asked.resourceMetadataUrl = told.resourceMetadataUrl;
        await auth(client, { ...asked, forceReauthorization: true });
      } catch (error) {
        await http.close();
        throw faultOf(error, "its login cannot begin");
      }
      // The callback cannot be seen by the compiler to have run.
      const url = shown as URL | null;
      if (url === null) {
        await http.close();
        throw new Fault("invalid", "it led to no login");
      }
      const timer = clock.after(openMs, () => mine.end());
      const mine: Open = {
        state,
        async finish(authorizationCode, iss) {
          try {
            await auth(client, { ...asked, authorizationCode, ...(iss === undefined ? {} : { iss }) });
          } catch (error) {
            throw faultOf(error, "its login failed");
          }
        },
        end() {
          timer.cancel();
          if (open.get(target.server) === mine) open.delete(target.server);
          void http.close();
        },
      };
      open.set(target.server, mine);
      return url.href;
    },
    async finish(server, answer) {
      const login = open.get(server);
      if (login === undefined)
        throw new Fault("missing", `no login to ${server} is open: begin with parley mcp login ${server}`);
      const { code, iss } = answerOf(answer.trim(), login.state);
      try {
        await login.finish(code, iss);
      } finally {
        login.end();
      }
    },
    async logout(server) {
      open.get(server)?.end();
      return files.remove(server);
    },
  };
}

function answerOf(
  answer: string,
  state: string,
): { readonly code: string; readonly iss: string | undefined } {
  const address = /^https?:\/\//i.test(answer) ? URL.parse(answer) : null;
  const params =
    address?.searchParams ?? (/(?:^|[?&])(?:code|error)=/.test(answer) ? new URLSearchParams(answer) : null);
  // A code alone, as some pages show it: PKCE ties it to this login.
  if (params === null) {
    if (!/^[\x21-\x7e]{1,4096}$/.test(answer)) throw new Fault("invalid", "that is no code and no address");
    return { code: answer, iss: undefined };
  }
  if (params.get("state") !== state)
    throw new Fault(
      "denied",
      "that address belongs to another login: its state is not the one that was sent",
    );
  const error = params.get("error");
  if (error !== null) throw new Fault("denied", `the login was refused: ${label(error, 60)}`);
  const code = params.get("code");
  if (code === null) throw new Fault("invalid", "that address has no code in it");
  return { code, iss: params.get("iss") ?? undefined };
}

/** A stranger's words become one short line. */
function faultOf(error: unknown, says: string): Fault {
  if (isFault(error)) return error;
  const words = errorWords(error);
  return new Fault("denied", words === "" ? says : `${says}: ${words}`, { cause: error });
}
