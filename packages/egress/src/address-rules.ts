// The rules decide which addresses may be dialled: an address is refused unless it is known to be a public
// unicast one, so that what the tables do not know stays closed. Operators open private networks by naming a
// host or a network; link-local and metadata addresses stay closed even then.
import { BlockList, isIP } from "node:net";

export interface AddressRules {
  /**
   * Exact hosts that may lie in a private network, as `host` or `host:port`. They may be dialled at that
   * port alone, or without one at every port. A host of IPv6 is written in brackets.
   */
  readonly allowedHosts?: readonly string[];
  /** Exact hosts, and `*.example.org` for all hosts below one, that are never dialled. */
  readonly deniedHosts?: readonly string[];
  /**
   * Private networks that may be dialled, as `10.1.0.0/16` or `fd00:12::/48`; addresses in them at every
   * port.
   */
  readonly allowedNetworks?: readonly string[];
  readonly deniedNetworks?: readonly string[];
  /** Ports that may be dialled beside 80 and 443. */
  readonly allowedPorts?: readonly number[];
}

/** Stable words for counters and logs. */
export type RefusalReason =
  | "url"
  | "scheme"
  | "credentials"
  | "host"
  | "port"
  | "private"
  | "link-local"
  | "reserved";

export interface Refused {
  readonly allowed: false;
  readonly reason: RefusalReason;
  /** Goes on after the host: "lies in a private network". */
  readonly says: string;
}

type AddressDecision = { readonly allowed: true } | Refused;
type UrlDecision = { readonly allowed: true; readonly url: URL } | (Refused & { readonly host: string });

export interface AddressGuard {
  /** Judges what is written, before anything is resolved. */
  judgeUrl(text: string): UrlDecision;
  /** Judges an address that a host resolved to, at the moment of dialling it at this port. */
  judgeAddress(host: string, address: string, port: number): AddressDecision;
}

/** RFC 9110 names no limit and asks for 8,000 octets at least. */
const longestUrlChars = 8_192;

type Subnet = readonly [network: string, prefix: number];

const v4 = {
  /** Addresses of machines and networks of one's own: RFC 1918, RFC 6598 (carrier), loopback. */
  private: [
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
  ],
  /**
   * Link-local, where clouds answer with credentials (169.254.169.254), and three such addresses outside it:
   * Azure's wire server, Alibaba's and Oracle's metadata.
   */
  "link-local": [
    ["169.254.0.0", 16],
    ["168.63.129.16", 32],
    ["100.100.100.200", 32],
    ["192.0.0.192", 32],
  ],
  /**
   * The rest of the IANA IPv4 special-purpose registry, multicast, and 240.0.0.0/4 with broadcast. Linux
   * takes 0.0.0.0 for this machine.
   */
  reserved: [
    ["0.0.0.0", 8],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.31.196.0", 24],
    ["192.52.193.0", 24],
    ["192.88.99.0", 24],
    ["192.175.48.0", 24],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
  ],
} as const satisfies Record<string, readonly Subnet[]>;

const v6 = {
  private: [
    ["::1", 128],
    ["fc00::", 7],
    ["fec0::", 10],
  ],
  /** fe80::/10, and the metadata addresses that AWS and Google keep among the unique local ones. */
  "link-local": [
    ["fe80::", 10],
    ["fd00:ec2::", 32],
    ["fd20:ce::254", 128],
  ],
  /**
   * What of 2000::/3 is no public unicast: IETF assignments with Teredo, benchmarks and ORCHID
   * (2001::/23), documentation, 6to4, AS112. All outside 2000::/3 is refused without a table: mapped
   * and compatible IPv4, NAT64 (64:ff9b::/96 and 64:ff9b:1::/48), discard, segment routing, multicast.
   */
  reserved: [
    ["2001::", 23],
    ["2001:db8::", 32],
    ["2002::", 16],
    ["2620:4f:8000::", 48],
    ["3fff::", 20],
  ],
} as const satisfies Record<string, readonly Subnet[]>;

type Kind = keyof typeof v4;
const kinds: readonly Kind[] = ["link-local", "private", "reserved"];
const says: Record<Kind, string> = {
  private: "lies in a private network",
  "link-local": "has a link-local address, where machines keep their credentials",
  reserved: "has an address that is not of the public internet",
};

const listOf = (subnets: readonly Subnet[], family: "ipv4" | "ipv6"): BlockList => {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, family);
  return list;
};
const tables = new Map(
  kinds.map((kind) => [kind, { v4: listOf(v4[kind], "ipv4"), v6: listOf(v6[kind], "ipv6") }]),
);
const publicV6 = listOf([["2000::", 3]], "ipv6");

/** The kind of an address that is not public; null for public unicast. */
function kindOf(address: string): Kind | null {
  const family = isIP(address);
  // A zone id names an interface of this machine.
  if (family === 0 || address.includes("%")) return "reserved";
  for (const [kind, table] of tables)
    if (family === 4 ? table.v4.check(address, "ipv4") : table.v6.check(address, "ipv6")) return kind;
  return family === 4 || publicV6.check(address, "ipv6") ? null : "reserved";
}

/** Throws a RangeError that names the entry when a network is not written as one. */
function networksOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [network = "", prefix = ""] = entry.split("/");
    const family = isIP(network);
    const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (family === 0 || !(bits <= (family === 4 ? 32 : 128)))
      throw new RangeError(`"${entry}" is no network: write it like 10.1.0.0/16 or fd00:12::/48`);
    list.addSubnet(network, bits, family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

interface HostEntry {
  readonly host: string;
  readonly port: number | null;
}

/** As URLs write it: lower case, punycode, no dot at the end, IPv4 in dotted decimal, IPv6 in brackets. */
function hostEntry(entry: string): HostEntry {
  const url = URL.canParse(`http://${entry}/`) ? new URL(`http://${entry}/`) : null;
  if (url === null || url.pathname !== "/" || url.username !== "" || url.search !== "" || url.hash !== "")
    throw new RangeError(`"${entry}" is no host: write it like wiki.example.org or 10.0.0.7:8080`);
  const port = /:(\d+)$/.exec(entry.replace(/^\[.*\]/, ""))?.[1];
  return { host: plainHost(url.hostname), port: port === undefined ? null : Number(port) };
}

const plainHost = (hostname: string): string => hostname.replace(/\.$/, "").toLowerCase();
/** IPv6 without its brackets, as sockets take it. */
export const bareHost = (hostname: string): string => plainHost(hostname).replace(/^\[(.*)\]$/, "$1");

export function addressGuard(rules: AddressRules = {}): AddressGuard {
  const allowedHosts = (rules.allowedHosts ?? []).map(hostEntry);
  const denied = (rules.deniedHosts ?? []).map((entry) =>
    entry.startsWith("*.")
      ? { below: `.${hostEntry(entry.slice(2)).host}` }
      : { exactly: hostEntry(entry).host },
  );
  const allowedNetworks = networksOf(rules.allowedNetworks ?? []);
  const deniedNetworks = networksOf(rules.deniedNetworks ?? []);
  const ports = new Set([80, 443, ...(rules.allowedPorts ?? [])]);

  const isNamed = (host: string, port: number): boolean =>
    allowedHosts.some((entry) => entry.host === host && (entry.port === null || entry.port === port));
  const isDenied = (host: string): boolean =>
    denied.some((entry) => ("below" in entry ? host.endsWith(entry.below) : host === entry.exactly));
  const holds = (list: BlockList, address: string): boolean =>
    list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");

  const judgeAddress = (host: string, address: string, port: number): AddressDecision => {
    const kind = kindOf(address);
    if (isIP(address) !== 0 && holds(deniedNetworks, address))
      return refused("host", "is closed by the config");
    if (kind === null) return { allowed: true };
    const opened = kind === "private" && (isNamed(inUrls(host), port) || holds(allowedNetworks, address));
    return opened ? { allowed: true } : refused(kind, says[kind]);
  };

  return {
    judgeAddress,
    judgeUrl(text) {
      if (text.length > longestUrlChars || !URL.canParse(text))
        return { ...refused("url", "is no address that can be opened"), host: "this text" };
      const url = new URL(text);
      const host = plainHost(url.hostname);
      const no = (reason: RefusalReason, why: string): UrlDecision => ({
        ...refused(reason, why),
        host: host === "" ? url.protocol : host,
      });
      if (url.protocol !== "http:" && url.protocol !== "https:")
        return no("scheme", "is opened by http or https alone");
      if (url.username !== "" || url.password !== "")
        return no("credentials", "is opened without a name and a password in the address");
      if (host === "" || host.startsWith(".") || url.hostname.includes("..")) return no("url", "is no host");
      if (isDenied(host)) return no("host", "is closed by the config");
      const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
      const literal = bareHost(host);
      const isOpened = isNamed(host, port) || (isIP(literal) !== 0 && holds(allowedNetworks, literal));
      if (!ports.has(port) && !isOpened) return no("port", `may not be dialled at port ${port}`);
      if (isIP(literal) !== 0) {
        const decision = judgeAddress(literal, literal, port);
        if (!decision.allowed) return { ...decision, host };
      }
      // A dot at the end says the same to DNS, and something else to certificates.
      if (url.hostname !== host) url.hostname = host;
      return { allowed: true, url };
    },
  };
}

const inUrls = (host: string): string =>
  isIP(host) === 6 ? plainHost(new URL(`http://[${host}]/`).hostname) : plainHost(host);

const refused = (reason: RefusalReason, why: string): Refused => ({ allowed: false, reason, says: why });
