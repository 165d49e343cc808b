// Redirects between encrypted and plain origins, which need no server to be judged.
import { describe, expect, it } from "vitest";
import { nextHop, type Hop } from "../src/redirect.ts";

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
});
