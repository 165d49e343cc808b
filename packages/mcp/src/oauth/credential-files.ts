// Keeps what servers gave for a login, one file a server, readable for the gateway's user alone. Credentials
// are keyed by the issuer that gave them, and count for the address they were given for: neither another
// issuer nor another address under the same name ever gets them.
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { Clock } from "@parley/protocol";

interface OfIssuer {
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens & { readonly untilMs?: number };
  /** Where its server was found to send people. */
  readonly discovery?: OAuthDiscoveryState;
}

export interface Credentials {
  readonly v: 1;
  /** Of the server that they are for. */
  readonly url: string;
  /** The issuer of the last login. */
  readonly latest: string | null;
  readonly issuers: { readonly [issuer: string]: OfIssuer };
}

export interface CredentialFiles {
  /** The values that give access are told to `hide` before they are returned. */
  get(server: string, url: string): Promise<Credentials>;
  change(server: string, url: string, change: (now: Credentials) => Credentials): Promise<void>;
  /** Returns false where there were none. */
  remove(server: string): Promise<boolean>;
}

/** `hide`: takes the values that no log, transcript or answer may show. */
export function credentialFiles(
  folder: string,
  clock: Pick<Clock, "now">,
  hide: (secrets: readonly string[]) => void,
): CredentialFiles {
  const queues = new Map<string, Promise<unknown>>();
  // A server's name is its file's; whatever else somebody asks for must not lead out of the folder.
  const pathOf = (server: string): string => join(folder, `${encodeURIComponent(server)}.json`);

  async function get(server: string, url: string): Promise<Credentials> {
    const none: Credentials = { v: 1, url, latest: null, issuers: {} };
    let text;
    try {
      text = await readFile(pathOf(server), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return none;
      throw error;
    }
    try {
      const found = JSON.parse(text) as Credentials;
      if (found.v !== 1) return none;
      hide(secretsOf(found));
      return found.url === url ? found : none;
    } catch {
      // A file that is torn or edited is no login: the person logs in again.
      return none;
    }
  }

  async function write(server: string, made: Credentials): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = pathOf(server);
    const draft = `${path}.${process.pid}.${clock.now()}.tmp`;
    await writeFile(draft, JSON.stringify(made), { mode: 0o600 });
    await chmod(draft, 0o600);
    await rename(draft, path);
    hide(secretsOf(made));
  }

  /** One after the other: two refreshes must not lose each other's token. */
  function queued<Value>(server: string, work: () => Promise<Value>): Promise<Value> {
    const mine = (queues.get(server) ?? Promise.resolve()).then(work);
    queues.set(
      server,
      mine.catch(() => undefined),
    );
    return mine;
  }

  return {
    get,
    change: (server, url, change) =>
      queued(server, async () => write(server, change(await get(server, url)))),
    remove: (server) =>
      queued(server, () =>
        rm(pathOf(server)).then(
          () => true,
          (error: NodeJS.ErrnoException) => {
            if (error.code === "ENOENT") return false;
            throw error;
          },
        ),
      ),
  };
}

function secretsOf({ issuers }: Credentials): readonly string[] {
  return Object.values(issuers).flatMap(({ client, tokens }) =>
    [client?.client_secret, tokens?.access_token, tokens?.refresh_token].filter((each) => each !== undefined),
  );
}
