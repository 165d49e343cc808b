// Turns the lists that operators write, hosts beside networks, into the rules of addresses.
import { isIP } from "node:net";
import type { AddressRules } from "./address-rules.ts";

export interface WrittenRules {
  /** `wiki.example.org`, `10.0.0.7:8080`, `[fd00::7]:80` or `10.1.0.0/16`. */
  readonly allow: readonly string[];
  /** The same, and `*.example.org`. */
  readonly deny: readonly string[];
}

export function rulesOf({ allow, deny }: WrittenRules): AddressRules {
  const isNetwork = (entry: string): boolean => entry.includes("/");
  const hosts = (entries: readonly string[]): readonly string[] =>
    entries.filter((entry) => !isNetwork(entry)).map(bracketed);
  return {
    allowedHosts: hosts(allow),
    allowedNetworks: allow.filter(isNetwork),
    deniedHosts: hosts(deny),
    // An address is denied also where a name leads to it.
    deniedNetworks: [...deny.filter(isNetwork), ...deny.flatMap(alone)],
  };
}

/** People write IPv6 without brackets where no port follows. */
const bracketed = (entry: string): string => (isIP(entry) === 6 ? `[${entry}]` : entry);

function alone(entry: string): readonly string[] {
  const family = isIP(entry);
  return family === 0 ? [] : [`${entry}/${family === 4 ? 32 : 128}`];
}
