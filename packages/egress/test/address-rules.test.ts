// Spellings of addresses that must stay closed, and of those that must open.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressGuard } from "../src/address-rules.ts";

const guard = addressGuard();
const reasonOf = (url: string, of = guard): string => {
  const decision = of.judgeUrl(url);
  return decision.allowed ? "allowed" : decision.reason;
};
const judge = (address: string, of = guard): string => {
  const decision = of.judgeAddress("site.test", address, 443);
  return decision.allowed ? "allowed" : decision.reason;
};

/** First and last addresses of each closed network, and their neighbours outside. */
const closedV4: readonly (readonly [
  first: string,
  last: string,
  before: string | null,
  after: string | null,
])[] = [
  ["0.0.0.0", "0.255.255.255", null, "1.0.0.0"],
  ["10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"],
  ["169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["224.0.0.0", "239.255.255.255", "223.255.255.255", null],
  ["240.0.0.0", "255.255.255.255", null, null],
];

const closedV6 = [
  "::",
  "::1",
  "::7f00:1",
  "::ffff:7f00:1",
  "0:0:0:0:0:ffff:7f00:1",
  "::ffff:8.8.8.8",
  "::ffff:0:127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b::8.8.8.8",
  "64:ff9b:1::a00:1",
  "100::1",
  "100:0:0:1::1",
  "2001::1",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2",
  "2001:2::1",
  "2001:10::1",
  "2001:20::1",
  "2001:1ff:ffff::1",
  "2001:db8::1",
  "2001:db8:ffff:ffff::1",
  "2002:7f00:1::",
  "2002:808:808::1",
  "2620:4f:8000::1",
  "3fff::1",
  "3fff:fff:ffff::1",
  "4000::1",
  "5f00::1",
  "fc00::1",
  "fd00::1",
  "fd00:ec2::254",
  "fd20:ce::254",
  "fdff:ffff::1",
  "fe80::1",
  "fe80::1%eth0",
  "febf::1",
  "fec0::1",
  "feff::1",
  "ff00::1",
  "ff02::1",
  "ff0e::1",
];
const openV6 = [
  "2000::1",
  "2001:200::1",
  "2001:4860:4860::8888",
  "2606:4700:4700::1111",
  "2a00:1450::1",
  "2c0f::1",
  "3ffe::1",
  "2003::1",
];

const number = (address: string): number =>
  address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const dotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");

/** Ways to write one IPv4 address that inet_aton and browsers read alike. */
function spellings(address: string): string[] {
  const value = number(address);
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  const octal = (part: number): string => `0${part.toString(8)}`;
  const hex = (part: number): string => `0x${part.toString(16)}`;
  return [
    address,
    `${address}.`,
    String(value),
    hex(value),
    `0X${value.toString(16).toUpperCase()}`,
    octal(value),
    [a, b, c, d].map(octal).join("."),
    [a, b, c, d].map(hex).join("."),
    `${octal(a)}.${hex(b)}.${c}.${d}`,
    `${a}.${b * 65_536 + c * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `0000${octal(a)}.${b}.${c}.${d}`,
    address.replaceAll(/./g, (char) => `%${char.charCodeAt(0).toString(16)}`),
    address.replaceAll(".", "。"),
    address.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    address.replaceAll(/\d/g, (digit) => String.fromCodePoint(0x1d7ce + Number(digit))),
    `${address.slice(0, 1)}\u00ad${address.slice(1)}`,
    `${address.slice(0, 2)}\t${address.slice(2)}`,
  ];
}

const hexPair = (address: string): string => {
  const value = number(address);
  return `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
};
/** Ways to carry an IPv4 address in an IPv6 one. */
const carried = (address: string): string[] => [
  `::${address}`,
  `::ffff:${address}`,
  `0:0:0:0:0:FFFF:${hexPair(address)}`,
  `::ffff:0:${hexPair(address)}`,
  `64:ff9b::${address}`,
  `64:ff9b:1::${hexPair(address)}`,
  `2002:${hexPair(address)}::1`,
  `2001:0:${hexPair(address)}::1`,
  `2001:0:4136:e378:8000:63bf:${hexPair(dotted(~number(address) >>> 0))}`,
];

describe("the rules of addresses", () => {
  it("close each special network to its last address, in every spelling, and nothing beside it", () => {
    for (const [first, last, before, after] of closedV4) {
      for (const address of [first, last]) {
        expect(judge(address), address).not.toBe("allowed");
        for (const written of spellings(address))
          expect(reasonOf(`http://${written}/`), written).toBe(judge(address));
        for (const written of carried(address)) {
          expect(judge(written), written).not.toBe("allowed");
          expect(reasonOf(`https://[${written}]/`), written).not.toBe("allowed");
        }
      }
      for (const address of [before, after])
        if (address !== null) expect(judge(address), address).toBe("allowed");
    }
  });

  it("close all of IPv6 that is no public unicast", () => {
    for (const address of closedV6) {
      expect(judge(address), address).not.toBe("allowed");
      expect(reasonOf(`http://[${address}]/`), address).not.toBe("allowed");
    }
    for (const address of openV6) {
      expect(judge(address), address).toBe("allowed");
      expect(reasonOf(`http://[${address}]/`), address).toBe("allowed");
    }
  });

  it("say of any IPv4 address what its network says, however it is written", () => {
    const closed = closedV4.map(([first, last]) => [number(first), number(last)] as const);
    // Not at the border of a network that the table above names.
    const others = ["192.31.196.", "192.52.193.", "192.175.48.", "100.100.100.200"];
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), (value) => {
        const address = dotted(value);
        fc.pre(!others.some((start) => address.startsWith(start)));
        const isClosed = closed.some(([first, last]) => value >= first && value <= last);
        for (const written of spellings(address))
          expect(reasonOf(`http://${written}/`) === "allowed", written).toBe(!isClosed);
        for (const written of carried(address)) expect(judge(written), written).not.toBe("allowed");
      }),
      { numRuns: 500 },
    );
  });

  it("close every IPv6 address outside 2000::/3, in short and in long", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 }), (groups) => {
        const [first = 0] = groups;
        fc.pre(first < 0x2000 || first > 0x3fff);
        const long = groups.map((group) => group.toString(16).padStart(4, "0")).join(":");
        expect(judge(long)).not.toBe("allowed");
        expect(judge(long.toUpperCase())).not.toBe("allowed");
        expect(reasonOf(`http://[${long}]/`)).not.toBe("allowed");
      }),
      { numRuns: 500 },
    );
  });

  it("never take text for an address that is none", () => {
    for (const text of [
      "",
      "localhost",
      "1.2.3",
      "1.2.3.4.5",
      "8.8.8.8%1",
      "2606:4700::1%lo",
      "0x8.8.8.8",
      " 8.8.8.8",
    ])
      expect(judge(text), text).toBe("reserved");
  });

  it.each([
    ["file:///etc/passwd", "scheme"],
    ["ftp://example.org/", "scheme"],
    ["gopher://example.org/", "scheme"],
    ["data:text/html,hello", "scheme"],
    ["javascript:alert(1)", "scheme"],
    ["view-source:http://example.org/", "scheme"],
    ["ws://example.org/", "scheme"],
    ["http://name@example.org/", "credentials"],
    ["http://name:word@example.org/", "credentials"],
    ["http://example.org:word@127.0.0.1/", "credentials"],
    ["http://example.org:22/", "port"],
    ["http://example.org:6379/", "port"],
    ["https://example.org:80443/", "url"],
    ["http://", "url"],
    ["http://a..b/", "url"],
    ["http://127.0.0.1../", "url"],
    ["http://8.8.8.8../", "url"],
    ["//example.org/", "url"],
    ["example.org", "url"],
    ["http://[fe80::1%25eth0]/", "url"],
    ["http://[::1/", "url"],
    ["http://exa mple.org/", "url"],
    ["http://256.256.256.256/", "url"],
    [`http://example.org/${"a".repeat(9_000)}`, "url"],
    ["http:/\\127.0.0.1/", "private"],
    ["http:127.0.0.1", "private"],
    ["http://①②⑦.⓪.⓪.①/", "private"],
    ["HTTP://127.1:80/", "private"],
    ["https://127.0.0.1:80/", "private"],
    ["http://169.254.169.254/latest/meta-data/", "link-local"],
    ["http://example.org", "allowed"],
    ["https://example.org.:443/a?b#c", "allowed"],
    ["https://bücher.example/", "allowed"],
    ["http://example.org:443/", "allowed"],
  ])("say of %s: %s", (url, reason) => {
    expect(reasonOf(url)).toBe(reason);
  });

  it("hand the host on without the dot at its end", () => {
    const decision = guard.judgeUrl("https://Example.ORG./a");
    expect(decision.allowed && decision.url.href).toBe("https://example.org/a");
  });

  it("say of each network what kind it is, because only what is private can be opened", () => {
    const kinds = (addresses: string): readonly string[] =>
      addresses.split(" ").map((address) => judge(address));
    const all = (reason: string, count: number): readonly string[] =>
      Array.from({ length: count }, () => reason);
    expect(
      kinds("10.0.0.1 100.64.0.1 127.0.0.1 172.31.0.1 192.168.0.1 ::1 fc00::1 fdff::1 fec0::1 feff::1"),
    ).toEqual(all("private", 10));
    expect(
      kinds(
        "169.254.1.1 168.63.129.16 100.100.100.200 192.0.0.192 fe80::1 febf::1 fd00:ec2::1 fd00:ec2:ffff::1 fd20:ce::254",
      ),
    ).toEqual(all("link-local", 9));
    expect(
      kinds(
        "0.0.0.0 192.0.0.1 192.0.0.191 192.0.2.1 192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255 192.88.99.1 " +
          "192.175.48.0 192.175.48.255 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 255.255.255.255 " +
          "2001:1ff::1 2001:db8::1 2002::1 2620:4f:8000::1 3fff::1 :: ::ffff:8.8.8.8 64:ff9b::1 ff02::1",
      ),
    ).toEqual(all("reserved", 25));
    expect(
      kinds(
        "192.31.195.255 192.31.197.0 192.52.192.255 192.52.194.0 192.175.47.255 192.175.49.0 " +
          "2620:4f:7fff::1 2620:4f:8001::1 3fff:1000::1",
      ),
    ).toEqual(all("allowed", 9));
    // Neighbours of single addresses are what their network is.
    expect(
      kinds("100.100.100.199 100.100.100.201 fd20:ce::253 fd20:ce::255 fd00:ec1::1 fd00:ec3::1"),
    ).toEqual(all("private", 6));
  });

  it("refuse in whole words, with the host and nothing more", () => {
    const rules = addressGuard({
      allowedHosts: ["10.0.0.7:8080"],
      deniedHosts: ["*.closed.example", "closed.example:8080"],
      deniedNetworks: ["8.8.4.0/24"],
    });
    const told = (url: string): string => {
      const decision = rules.judgeUrl(url);
      return decision.allowed ? decision.url.href : `${decision.reason}: ${decision.host} ${decision.says}`;
    };
    const longest = `http://a.test/${"x".repeat(8_192 - "http://a.test/".length)}`;
    expect(
      [
        longest,
        `${longest}x`,
        "no address",
        "mailto:a@b.test",
        "ftp://Files.test/secret",
        "http://:word@a.test/",
        "http://a.test:8080/secret",
        "https://a.test:80/",
        "http://a.CLOSED.example./",
        "https://closed.example/",
        "http://8.8.4.9/",
        "http://10.0.0.7:8080/x?y#z",
        "http://10.0.0.7/",
        "http://[FE80::1]/",
        "http://0/",
      ].map(told),
    ).toEqual([
      longest,
      "url: this text is no address that can be opened",
      "url: this text is no address that can be opened",
      "scheme: mailto: is opened by http or https alone",
      "scheme: files.test is opened by http or https alone",
      "credentials: a.test is opened without a name and a password in the address",
      "port: a.test may not be dialled at port 8080",
      "https://a.test:80/",
      "host: a.closed.example is closed by the config",
      "host: closed.example is closed by the config",
      "host: 8.8.4.9 is closed by the config",
      "http://10.0.0.7:8080/x?y#z",
      "private: 10.0.0.7 lies in a private network",
      "link-local: [fe80::1] has a link-local address, where machines keep their credentials",
      "reserved: 0.0.0.0 has an address that is not of the public internet",
    ]);
  });

  it("refuse without words of the address beyond its host", () => {
    const decision = guard.judgeUrl("http://10.0.0.1/secret?key=word");
    expect(decision).toEqual({
      allowed: false,
      host: "10.0.0.1",
      reason: "private",
      says: "lies in a private network",
    });
  });
});

describe("what operators open and close", () => {
  const opened = addressGuard({
    allowedHosts: [
      "wiki.corp.example",
      "Build.corp.example:8443",
      "10.0.0.7",
      "[fd00::7]:9000",
      "bücher.example",
    ],
    allowedNetworks: ["172.20.0.0/16", "fd12::/32"],
    deniedHosts: ["bad.example", "*.worse.example"],
    deniedNetworks: ["8.8.0.0/16"],
    allowedPorts: [8080],
  });
  const at = (host: string, address: string, port = 443): boolean =>
    opened.judgeAddress(host, address, port).allowed;

  it("open a private network to the exact host alone", () => {
    expect(at("wiki.corp.example", "10.1.2.3")).toBe(true);
    expect(at("wiki.corp.example.", "127.0.0.1")).toBe(true);
    expect(at("WIKI.corp.example", "fd00::1")).toBe(true);
    expect(at("xn--bcher-kva.example", "10.0.0.1")).toBe(true);
    for (const host of [
      "awiki.corp.example",
      "wiki.corp.example.evil.test",
      "corp.example",
      "a.wiki.corp.example",
    ])
      expect(at(host, "10.1.2.3"), host).toBe(false);
    expect(reasonOf("http://10.0.0.7/", opened)).toBe("allowed");
    expect(reasonOf("http://0xa.7/", opened)).toBe("allowed");
    expect(reasonOf("http://10.0.0.8/", opened)).toBe("private");
  });

  it("open a port to the host that names it", () => {
    expect(reasonOf("https://build.corp.example:8443/", opened)).toBe("allowed");
    expect(reasonOf("https://wiki.corp.example:8443/", opened)).toBe("allowed");
    expect(reasonOf("https://other.corp.example:8443/", opened)).toBe("port");
    expect(reasonOf("https://build.corp.example:8444/", opened)).toBe("port");
    expect(reasonOf("http://[fd00::7]:9000/", opened)).toBe("allowed");
    expect(reasonOf("http://example.org:8080/", opened)).toBe("allowed");
  });

  it("leave the other ports of a private host closed that is named with one, also 80 and 443", () => {
    expect(reasonOf("http://[fd00::7]/", opened)).toBe("private");
    expect(reasonOf("https://[fd00::7]/", opened)).toBe("private");
    expect(reasonOf("http://[fd00::7]:8080/", opened)).toBe("private");
    expect(at("build.corp.example", "10.1.2.3", 8443)).toBe(true);
    expect(at("build.corp.example", "10.1.2.3", 443)).toBe(false);
  });

  it("never open link-local, metadata or unspecified addresses", () => {
    const wide = addressGuard({
      allowedHosts: ["site.test", "169.254.169.254"],
      allowedNetworks: ["0.0.0.0/0", "::/0"],
    });
    for (const address of [
      "169.254.169.254",
      "168.63.129.16",
      "100.100.100.200",
      "0.0.0.0",
      "::",
      "fd00:ec2::254",
      "fe80::1",
      "224.0.0.1",
      "::ffff:10.0.0.1",
    ])
      expect(judge(address, wide), address).not.toBe("allowed");
    expect(reasonOf("http://169.254.169.254/", wide)).toBe("link-local");
    expect(judge("10.0.0.1", wide)).toBe("allowed");
  });

  it("open and close networks", () => {
    expect(at("site.test", "172.20.3.4")).toBe(true);
    expect(at("site.test", "172.21.3.4")).toBe(false);
    expect(at("site.test", "fd12::9")).toBe(true);
    expect(at("site.test", "fd13::9")).toBe(false);
    expect(at("site.test", "8.8.8.8")).toBe(false);
    expect(at("site.test", "8.9.8.8")).toBe(true);
  });

  it("open every port of a network to its literal addresses, and to no name", () => {
    const wide = addressGuard({ allowedNetworks: ["172.20.0.0/16", "fd12::/16"] });
    expect(
      [
        "http://172.20.3.4:9999/",
        "http://[fd12::9]:9999/",
        "http://172.21.3.4:9999/",
        "http://site.test:9999/",
      ].map((url) => reasonOf(url, wide)),
    ).toEqual(["allowed", "allowed", "port", "port"]);
  });

  it("close hosts by name", () => {
    expect(reasonOf("http://bad.example./", opened)).toBe("host");
    expect(reasonOf("http://a.bad.example/", opened)).toBe("allowed");
    expect(reasonOf("http://a.b.worse.example/", opened)).toBe("host");
    expect(reasonOf("http://worse.example/", opened)).toBe("allowed");
  });

  it("refuse what is written wrongly, by its words", () => {
    expect(() => addressGuard({ allowedHosts: ["http://wiki/"] })).toThrow('"http://wiki/" is no host');
    expect(() => addressGuard({ allowedHosts: ["wiki/path"] })).toThrow('"wiki/path" is no host');
    expect(() => addressGuard({ allowedNetworks: ["10.0.0.0"] })).toThrow('"10.0.0.0" is no network');
    for (const entry of ["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "fd00::/129", "fd00::/-1", "wiki/8"])
      for (const name of ["allowedNetworks", "deniedNetworks"])
        expect(() => addressGuard({ [name]: [entry] })).toThrow(
          `"${entry}" is no network: write it like 10.1.0.0/16 or fd00:12::/48`,
        );
    for (const entry of ["", "a b", "me@wiki", "wiki?x", "wiki#x", "wiki:99999"])
      for (const name of ["allowedHosts", "deniedHosts"])
        expect(() => addressGuard({ [name]: [entry] })).toThrow(
          `"${entry}" is no host: write it like wiki.example.org or 10.0.0.7:8080`,
        );
    // What stands at the very end of a family is one.
    addressGuard({ allowedNetworks: ["10.0.0.7/32", "fd00::7/128"], deniedNetworks: ["0.0.0.0/0"] });
  });
});
