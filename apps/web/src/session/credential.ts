// Proves this browser's identity: by a device token kept here, or the login code of the link that opened the
// page.
import type { Scope } from "@parley/protocol";

/**
 * A login code out of the URL, and the URL without it. The fragment never reaches a server; a query is taken
 * too, for clients that cut it.
 */
export function codeIn(url: URL): { readonly code: string; readonly rest: URL } | null {
  const fragment = new URLSearchParams(url.hash.slice(1));
  const code = fragment.get("code") ?? url.searchParams.get("code");
  if (code === null || code === "") return null;
  const rest = new URL(url);
  fragment.delete("code");
  rest.hash = fragment.toString();
  rest.searchParams.delete("code");
  return { code, rest };
}

export interface TokenShelf {
  read(): string | null;
  keep(token: string): void;
  /** What the token allowed when it was last used: the page is there before the gateway has answered. */
  scopes(): readonly Scope[];
  keepScopes(scopes: readonly Scope[]): void;
  forget(): void;
}

const tokenName = "parley.device-token";
const scopesName = "parley.scopes";

export function storedToken(storage: Storage): TokenShelf {
  return {
    read: () => storage.getItem(tokenName),
    keep: (token) => storage.setItem(tokenName, token),
    scopes: () => {
      const kept = storage.getItem(tokenName) === null ? null : storage.getItem(scopesName);
      return (kept ?? "").split(" ").filter((each): each is Scope => each !== "");
    },
    keepScopes: (scopes) => storage.setItem(scopesName, scopes.join(" ")),
    forget() {
      storage.removeItem(tokenName);
      storage.removeItem(scopesName);
    },
  };
}
