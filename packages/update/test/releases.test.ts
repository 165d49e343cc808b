// Which releases there are, which one is taken, and what makes one refused: every answer of a folder or a
// server.
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bringFile, fileFor, settleFolder, unpackVersion } from "../src/bring-release.ts";
import { compareVersions, isVersion } from "../src/release-version.ts";
import { checkedSource, chosen, releasesAt, type Release } from "../src/releases.ts";

let folder = "";
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "parley-releases-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const releaseOf = (version: string, files: readonly object[] = []): object => ({
  format: 1,
  product: "parley",
  version,
  commit: "abc",
  time: "2026-01-02T03:04:05Z",
  schema: 7,
  files,
});
const put = (path: string, text: string): void => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const putRelease = (path: string, version: string): void =>
  put(`${path}/release.json`, JSON.stringify(releaseOf(version)));
/** What a promise is refused with, as `code: words`, with the folder of the test written as F. */
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    (value) => `went through: ${JSON.stringify(value)}`,
    (error: { code: string; message: string }) =>
      `${error.code}: ${error.message.replaceAll(folder, "F").replaceAll(/127\.0\.0\.1:\d+/g, "HOST")}`,
  );

describe("versions", () => {
  // As semver orders them (https://semver.org, 11.4), with numbers that a comparison as text would mix up.
  const ordered = [
    "0.9.9",
    "0.10.0",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "1.0.10",
    "1.2.0",
    "2.0.0",
    "10.0.0",
  ];
  test("are older, the same or newer as semver says, for every pair", () => {
    const told = ordered.map((a) => ordered.map((b) => Math.sign(compareVersions(a, b))));
    expect(told).toEqual(ordered.map((_, n) => ordered.map((_other, m) => Math.sign(n - m))));
  });

  test("are three numbers, with a suffix or without", () => {
    const words = ["1.2.3", "1.2.3-rc.1", "0.0.0", "999999999.0.0", `1.2.3-${"a".repeat(64)}`];
    expect(words.filter(isVersion)).toEqual(words);
    const others = [
      "1.2",
      "v1.2.3",
      "1.2.3-",
      "1.2.3+b",
      "1.2.3 ",
      "../1.2.3",
      "1.2.3/..",
      "1000000000.0.0",
      "latest",
    ];
    expect([...others, `1.2.3-${"a".repeat(65)}`].filter(isVersion)).toEqual([]);
  });
});

test.each([
  ["/releases", "/releases"],
  ["https://a.example/r//", "https://a.example/r"],
  ["HTTPS://a.example/r", "HTTPS://a.example/r"],
  ["http://127.0.0.1:8080/r/", "http://127.0.0.1:8080/r"],
  ["http://localhost/r", "http://localhost/r"],
  ["http://[::1]:1/r", "http://[::1]:1/r"],
  ["releases", "releases is no absolute path and no https address"],
  ["ftp://a.example", "ftp://a.example is no absolute path and no https address"],
  ["http://a.example/r", "http://a.example/r is not encrypted: releases are taken by https"],
  [
    "http://127.0.0.1.a.example/r",
    "http://127.0.0.1.a.example/r is not encrypted: releases are taken by https",
  ],
  ["https://a.example/r?x=1", "https://a.example/r?x=1 has a query; name the folder of the releases alone"],
  ["https://a.example/r#x", "https://a.example/r#x has a query; name the folder of the releases alone"],
])("the source %s becomes %s", (source, told) => {
  let said: string;
  try {
    said = checkedSource(source);
  } catch (error) {
    said = (error as Error).message;
    expect(error).toMatchObject({ code: "invalid" });
  }
  expect(said).toBe(told);
});

describe("of several releases", () => {
  const list = (...versions: string[]): Release[] =>
    versions.map((version) => ({ ...releaseOf(version), at: `/r/${version}` }) as Release);
  const said = (releases: readonly Release[], version?: string): string => {
    try {
      return chosen(releases, version).version;
    } catch (error) {
      return `${(error as { code: string }).code}: ${(error as Error).message}`;
    }
  };
  test("the newest without a suffix is taken, one with a suffix only where there is no other or it is named", () => {
    const some = list("3.0.0-rc.2", "3.0.0-rc.1", "2.0.0", "1.0.0");
    expect(said(some)).toBe("2.0.0");
    expect(said(some, "3.0.0-rc.1")).toBe("3.0.0-rc.1");
    expect(said(some, "1.0.0")).toBe("1.0.0");
    expect(said(list("3.0.0-rc.2", "3.0.0-rc.1"))).toBe("3.0.0-rc.2");
    expect(said(some, "4.0.0")).toBe(
      "missing: there is no version 4.0.0 there: 3.0.0-rc.2, 3.0.0-rc.1, 2.0.0, 1.0.0",
    );
    expect(said([])).toBe("missing: there is no release there");
  });

  test("a folder has its own and those of the folders in it, the newest first; hidden ones are none", async () => {
    putRelease(".", "1.9.0");
    putRelease("b", "1.10.0");
    putRelease("a", "1.2.0");
    putRelease(".draft", "9.0.0");
    putRelease("a/deeper", "8.0.0");
    mkdirSync(join(folder, "empty"));
    const found = await releasesAt(folder, null);
    expect(found.map(({ version, at }) => [version, at.replace(folder, "F")])).toEqual([
      ["1.10.0", "F/b"],
      ["1.9.0", "F"],
      ["1.2.0", "F/a"],
    ]);
    expect(found[0]).toEqual({ ...releaseOf("1.10.0"), at: join(folder, "b") });
  });

  test("a folder without any, or that is not there, is told", async () => {
    expect(await refusal(releasesAt(folder, null))).toBe(
      "missing: F has no release (release.json, or folders with one)",
    );
    expect(await refusal(releasesAt(join(folder, "gone"), null))).toBe("missing: there is no folder F/gone");
  });

  const file = { name: "a.tgz", kind: "npm", bytes: 1, sha256: "a".repeat(64) };
  test.each([
    ["{", "is no JSON"],
    ["[]", "is not what a release has at its root"],
    [{ ...releaseOf("1.0.0"), format: 2 }, "is not what a release has at format"],
    [{ ...releaseOf("1.0.0"), product: "other" }, "is not what a release has at product"],
    [releaseOf("latest"), "is not what a release has at version"],
    [{ ...releaseOf("1.0.0"), schema: 1.5 }, "is not what a release has at schema"],
    [releaseOf("1.0.0", [{ ...file, name: "../a.tgz" }]), "is not what a release has at files.0.name"],
    [releaseOf("1.0.0", [{ ...file, name: "a/.." }]), "is not what a release has at files.0.name"],
    [releaseOf("1.0.0", [{ ...file, name: "/a.tgz" }]), "is not what a release has at files.0.name"],
    [releaseOf("1.0.0", [file, { ...file, name: "a b" }]), "is not what a release has at files.1.name"],
    [releaseOf("1.0.0", [{ ...file, bytes: -1 }]), "is not what a release has at files.0.bytes"],
    [
      releaseOf("1.0.0", [{ ...file, sha256: "A".repeat(64) }]),
      "is not what a release has at files.0.sha256",
    ],
    [
      releaseOf("1.0.0", [{ ...file, sha256: "a".repeat(63) }]),
      "is not what a release has at files.0.sha256",
    ],
  ])("a release.json with a wrong field says which one (%#)", async (value, words) => {
    put("release.json", typeof value === "string" ? value : JSON.stringify(value));
    const told = await refusal(releasesAt(folder, null));
    expect(told).toBe(`invalid: F/release.json ${words}`);
  });
});

describe("with a key", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  const text = JSON.stringify(releaseOf("1.0.0"));
  const signature = sign(null, Buffer.from(text), privateKey).toString("base64");

  test("a release is taken only when that key signed it, byte for byte", async () => {
    put("release.json", text);
    expect(await refusal(releasesAt(folder, pem))).toBe(
      "denied: F is not signed (release.json.sig is missing)",
    );
    put("release.json.sig", `${signature}\n`);
    expect((await releasesAt(folder, pem)).map(({ version }) => version)).toEqual(["1.0.0"]);
    const other = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();
    const unsigned = "denied: F/release.json is not signed by the key of update.publicKey";
    expect(await refusal(releasesAt(folder, other))).toBe(unsigned);
    put("release.json", `${text} `);
    expect(await refusal(releasesAt(folder, pem))).toBe(unsigned);
    expect(await refusal(releasesAt(folder, "no key"))).toBe("invalid: update.publicKey is no key in PEM");
  });

  test("one release of several that nobody signed refuses them all", async () => {
    put("a/release.json", text);
    put("a/release.json.sig", signature);
    putRelease("b", "2.0.0");
    expect(await refusal(releasesAt(folder, pem))).toBe(
      "denied: F/b is not signed (release.json.sig is missing)",
    );
  });
});

describe("a server", () => {
  const served = async <T>(answer: RequestListener, use: (address: string) => Promise<T>): Promise<T> => {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  };

  test("with a list is asked for its twenty newest, one without for the one release beside", async () => {
    const asked: string[] = [];
    const versions = Array.from({ length: 22 }, (_, n) => `1.${n}.0`);
    const found = await served(
      (request, response) => {
        asked.push(request.url ?? "");
        const [, version] = /^\/v\/(.*)\/release\.json$/.exec(request.url ?? "") ?? [];
        if (request.url === "/releases.json")
          response.end(
            JSON.stringify({ releases: versions.map((each) => ({ version: each, path: `v/${each}` })) }),
          );
        else response.end(JSON.stringify(releaseOf(version ?? "0.0.0")));
      },
      (address) => releasesAt(address, null),
    );
    expect(found.map(({ version }) => version)).toEqual(versions.toReversed().slice(0, 20));
    expect(asked).toHaveLength(21);

    const alone = await served(
      (request, response) => {
        response.statusCode = request.url === "/release.json" ? 200 : 404;
        response.end(JSON.stringify(releaseOf("1.0.0")));
      },
      (address) => releasesAt(address, null),
    );
    expect(alone.map(({ version }) => version)).toEqual(["1.0.0"]);
  });

  test.each<[string, RequestListener, string]>([
    [
      "that has nothing",
      (_, response) => void response.writeHead(404).end(),
      "missing: http://HOST has no release.json",
    ],
    [
      "where it is gone",
      (_, response) => void response.writeHead(410).end(),
      "missing: http://HOST has no release.json",
    ],
    [
      "that fails",
      (_, response) => void response.writeHead(500).end(),
      "unavailable: http://HOST/releases.json answered 500",
    ],
    [
      "that wants a login",
      (_, response) => void response.writeHead(401).end(),
      "unavailable: http://HOST/releases.json answered 401",
    ],
    [
      "that sends on to another server",
      (_, response) => void response.writeHead(302, { location: "https://evil.example/x" }).end(),
      "denied: http://HOST/releases.json leads to another server (https://evil.example)",
    ],
    [
      "that sends on without saying where",
      (_, response) => void response.writeHead(302).end(),
      "unavailable: http://HOST/releases.json answered 302",
    ],
    [
      "that sends on to itself",
      (request, response) => void response.writeHead(302, { location: request.url }).end(),
      "unavailable: http://HOST/releases.json leads in circles",
    ],
    [
      "that hangs up",
      (request) => void request.socket.destroy(),
      "unavailable: http://HOST/releases.json cannot be reached: other side closed",
    ],
    [
      "that sends pages",
      (_, response) => void response.end("<html>"),
      "invalid: http://HOST/releases.json is no JSON",
    ],
    [
      "that lists what leads out of its folder",
      (_, response) =>
        void response.end(JSON.stringify({ releases: [{ version: "1.0.0", path: "a/../b" }] })),
      "invalid: http://HOST/releases.json is not what a release has at releases.0.path",
    ],
    [
      "that lists what is no version",
      (_, response) =>
        void response.end(
          JSON.stringify({
            releases: [
              { version: "1.0.0", path: "a" },
              { version: "v1", path: "b" },
            ],
          }),
        ),
      "invalid: http://HOST/releases.json is not what a release has at releases.1.version",
    ],
    [
      "whose list is as long as may be",
      (_, response) => void response.end(" ".repeat(4_000_000)),
      "invalid: http://HOST/releases.json is no JSON",
    ],
    [
      "that says that nothing changed",
      (_, response) => void response.writeHead(304).end(),
      "unavailable: http://HOST/releases.json answered 304",
    ],
    [
      "that never ends its list",
      (_, response) => void response.end(" ".repeat(4_000_001)),
      "invalid: http://HOST/releases.json is too long",
    ],
  ])("%s is told so", async (_, answer, words) => {
    expect(await served(answer, (address) => refusal(releasesAt(address, null)))).toBe(words);
  });

  test("may send on within itself, four times and no oftener", async () => {
    const hops =
      (most: number): RequestListener =>
      (request, response) => {
        const hop = Number(request.url?.split("?")[1] ?? 0);
        if (hop < most) response.writeHead(307, { location: `/file?${hop + 1}` }).end();
        else response.end("hello");
      };
    const file = { name: "file", kind: "npm", bytes: 5, sha256: sha("hello") };
    const brought = (most: number): Promise<string> =>
      served(hops(most), (at) => refusal(bringFile({ at } as Release, file, join(folder, "to"))));
    expect(await brought(4)).toBe("went through: undefined");
    expect(readFileSync(join(folder, "to"), "utf8")).toBe("hello");
    expect(await brought(5)).toBe("unavailable: http://HOST/file leads in circles");
    expect(existsSync(join(folder, "to"))).toBe(false);
  });
});

test("the file for an installation is of its kind, and of its platform unless npm brings it", () => {
  const file = (name: string, kind: string, platform?: string) => ({
    name,
    kind,
    bytes: 1,
    sha256: "",
    ...(platform === undefined ? {} : { platform }),
  });
  const release = {
    version: "1.2.0",
    files: [
      file("a", "tarball", "linux-arm64"),
      file("b", "tarball", "linux-x64"),
      file("c", "deb", "linux-x64"),
      file("d", "npm"),
    ],
  } as unknown as Release;
  const named = (kind: string, platform: string | null): string => fileFor(release, kind, platform).name;
  expect([named("tarball", "linux-arm64"), named("tarball", "linux-x64"), named("npm", null)]).toEqual([
    "a",
    "b",
    "d",
  ]);
  expect(named("npm", "linux-x64")).toBe("d");
  expect(() => named("tarball", "darwin-arm64")).toThrow("version 1.2.0 has no tarball for darwin-arm64");
  expect(() => named("tarball", null)).toThrow("version 1.2.0 has no tarball for this machine");
});

describe("a file of a release", () => {
  const right = { name: "p.tgz", kind: "npm", bytes: 5, sha256: sha("hello") };
  test.each([
    ["that is right is there, for its owner alone", right, "hello", "went through: undefined"],
    [
      "that is shorter",
      right,
      "hell",
      "invalid: p.tgz is not the file of the release: it has 4 bytes, not 5",
    ],
    [
      "that is longer",
      right,
      "hello!",
      "invalid: p.tgz is not the file of the release: it is longer than the release says",
    ],
    [
      "with another content",
      right,
      "hallo",
      "invalid: p.tgz is not the file of the release: its SHA-256 is another",
    ],
    ["that is missing", { ...right, name: "q.tgz" }, "hello", "missing: there is no F/q.tgz"],
  ])("%s", async (_, file, content, words) => {
    put("p.tgz", content);
    expect(await refusal(bringFile({ at: folder } as Release, file, join(folder, "to")))).toBe(words);
    expect(existsSync(join(folder, "to"))).toBe(words.startsWith("went"));
    if (words.startsWith("went")) expect(statSync(join(folder, "to")).mode & 0o777).toBe(0o600);
  });

  test("that would not fit four times into what is free is not begun", async () => {
    put("p.tgz", "hello");
    const huge = { ...right, bytes: 1e15 };
    expect(await refusal(bringFile({ at: folder } as Release, huge, join(folder, "to")))).toBe(
      "unavailable: there is too little space in F: free 4000000000 MB",
    );
    expect(readdirSync(folder)).toEqual(["p.tgz"]);
  });
});

describe("an archive", () => {
  type Entry = {
    name: string;
    type?: "file" | "directory" | "symlink";
    mode?: number;
    text?: string;
    linkname?: string;
  };
  const archive = async (entries: readonly Entry[]): Promise<string> => {
    const tar = pack();
    for (const { text = "", ...header } of entries) tar.entry(header, text);
    tar.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of tar) chunks.push(chunk as Buffer);
    const path = join(folder, "a.tgz");
    writeFileSync(path, gzipSync(Buffer.concat(chunks)));
    return path;
  };
  const tree = (at: string): string[] =>
    (readdirSync(at, { recursive: true }) as string[]).toSorted().map((name) => {
      const stat = statSync(join(at, name));
      return stat.isDirectory()
        ? `${name}/`
        : `${name} ${(stat.mode & 0o777).toString(8)} ${readFileSync(join(at, name), "utf8")}`;
    });

  test("brings what is below its prefix, programs as programs, and tells one file beside it", async () => {
    const path = await archive([
      { name: "parley/versions/1/bin/parley", mode: 0o755, text: "run" },
      { name: "parley/versions/1/readme", mode: 0o600, text: "read" },
      { name: "parley/versions/1/some", mode: 0o010, text: "group" },
      { name: "parley/versions/1/empty/", type: "directory" },
      { name: "parley/install.json", text: "facts" },
      { name: "parley/other", text: "not this" },
    ]);
    const to = join(folder, "to");
    expect(await unpackVersion(path, "parley/versions/1/", to, "parley/install.json")).toBe("facts");
    expect(tree(to)).toEqual(["bin/", "bin/parley 755 run", "empty/", "readme 644 read", "some 755 group"]);
    expect(await unpackVersion(path, "parley/versions/1/", join(folder, "again"), "nothing")).toBeNull();
  });

  test.each<[Entry, string]>([
    [{ name: "p/../../out", text: "x" }, "p/../../out, which leads out of its folder"],
    [{ name: "p/a/../b", text: "x" }, "p/a/../b, which leads out of its folder"],
    [{ name: "p//etc/x", text: "x" }, "p//etc/x, which leads out of its folder"],
    [{ name: "p/link", type: "symlink", linkname: "/etc" }, "p/link, which is no plain file"],
  ])("with %j is refused", async (entry, words) => {
    const path = await archive([entry]);
    const to = join(folder, "to");
    expect(await refusal(unpackVersion(path, "p/", to, ""))).toBe(`invalid: F/a.tgz has ${words}`);
    expect(existsSync(join(folder, "out"))).toBe(false);
  });

  test("that is none, or ends early, is told", async () => {
    put("a.tgz", "no archive");
    const to = join(folder, "to");
    expect(await refusal(unpackVersion(join(folder, "a.tgz"), "p/", to, ""))).toContain(
      "incorrect header check",
    );
    const whole = readFileSync(await archive([{ name: "p/a", text: "x".repeat(2_000) }]));
    writeFileSync(join(folder, "a.tgz"), whole.subarray(0, whole.length - 12));
    expect(await refusal(unpackVersion(join(folder, "a.tgz"), "p/", to, ""))).toContain(
      "unexpected end of file",
    );
  });

  test("that says of itself that it is larger than a gigabyte is given up before any of it is written", async () => {
    const saying = async (size: number): Promise<string> => {
      const tar = pack();
      tar.entry({ name: "p/a", size });
      const chunks: Buffer[] = [];
      for await (const chunk of tar) {
        chunks.push(chunk as Buffer);
        break;
      }
      writeFileSync(join(folder, "a.tgz"), gzipSync(Buffer.concat(chunks)));
      return refusal(unpackVersion(join(folder, "a.tgz"), "p/", join(folder, "to"), ""));
    };
    expect(await saying(1_000_000_001)).toBe("invalid: F/a.tgz unpacks to too much");
    expect(existsSync(join(folder, "to"))).toBe(false);
    expect(await saying(1_000_000_000)).not.toContain("too much");
  });

  test("gets its name when it is whole; one that is there already stays", () => {
    put("draft/new", "new");
    settleFolder(join(folder, "draft"), join(folder, "1.0.0"));
    put("draft/newer", "newer");
    settleFolder(join(folder, "draft"), join(folder, "1.0.0"));
    expect(tree(folder)).toEqual(["1.0.0/", "1.0.0/new 644 new"]);
  });
});
