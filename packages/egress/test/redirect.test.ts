// Redirects between encrypted and plain origins, which need no server to be judged.
import { answerTable } from "@parley/testkit";
import { describe, expect, it } from "vitest";
import { isRedirect, nextHop, type Hop } from "../src/redirect.ts";

const hop: Hop = {
  url: new URL("https://a.test/page"),
  method: "GET",
  headers: { accept: "*/*", authorization: "Bearer word" },
  body: undefined,
};

describe("the request after a redirect", () => {
  it("leaves https only when the caller asked for it", () => {
    const answer = { status: 302, location: "http://a.test/plain" };
    expect(() => nextHop(hop, answer, false)).toThrow("a.test redirects from https to http");
    const next = nextHop(hop, answer, true);
    expect([next.url.href, next.headers]).toEqual(["http://a.test/plain", { accept: "*/*" }]);
  });

  it("takes a change of port for another origin", () => {
    expect(nextHop(hop, { status: 308, location: "https://a.test:444/" }, false).headers).toEqual({
      accept: "*/*",
    });
    expect(nextHop(hop, { status: 308, location: "/other" }, false).headers).toEqual(hop.headers);
  });

  it("stays a HEAD", () => {
    for (const status of [301, 302, 303, 307, 308])
      expect(nextHop({ ...hop, method: "HEAD" }, { status, location: "/" }, false).method).toBe("HEAD");
  });

  it("is one for five statuses alone", () => {
    const all = Array.from({ length: 400 }, (_, n) => n + 200);
    expect(all.filter(isRedirect)).toEqual([301, 302, 303, 307, 308]);
  });

  it("keeps, changes and leaves behind what its status and its origin say", async () => {
    const headers = {
      accept: "*/*",
      "accept-language": "de",
      "accept-encoding": "gzip",
      "user-agent": "Tester",
      authorization: "Bearer word",
      cookie: "a=b",
      "content-type": "text/plain",
      "content-language": "de",
      "content-encoding": "gzip",
    };
    const rows = [301, 302, 303, 307, 308].flatMap((status) =>
      ["GET", "POST", "PUT"].flatMap((method) =>
        ["/there", "https://b.test/there"].map((location) => ({ status, method, location })),
      ),
    );
    const places = [
      "",
      "?b",
      "#c",
      "//b.test/x",
      "mailto:a@b.test",
      "http://a.test/",
      "https://A.test:443/x",
      "https://[",
    ];
    const table = answerTable(rows, ({ status, method, location }) => {
      const body = method === "GET" ? undefined : "said";
      const next = nextHop({ ...hop, method, headers, body }, { status, location }, false);
      return { ...next, url: next.url.href, headers: Object.keys(next.headers).join(" ") };
    });
    const where = answerTable(places, (location) => nextHop(hop, { status: 302, location }, false).url.href);
    await expect(`${table}\n${where}`).toMatchFileSnapshot("tables/redirects.txt");
  });
});
