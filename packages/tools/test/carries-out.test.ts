import { expect, test } from "vitest";
import { carriesOut } from "../src/carries-out.ts";

const heard = {
  trusted: [
    "Look at https://wiki.example.org/a, please",
    "and docs.example.net",
    "SAID.test: is it in dot.test? Not xpart.test, 1part.test, -part.test, .part.test, part.test-x, part.testx or",
    "x.part-of.test.y; but my-both.test and both.test, and last.test.",
  ],
  sources: ["far.test"],
  read: [
    "[next](https://far.test/list?page=2) https://evil.test/?q=",
    [" ", ")", "]", ">", '"', "'", "<", ",", ";", "."]
      .map((end) => `https://end.test/?n=${end.charCodeAt(0)}${end}`)
      .join("x"),
    "https://end.test/?n=45- https://end.test/?last=12 and https://end.test/?last=1",
  ],
};

test.each<[string, boolean]>([
  // Nothing that could carry anything.
  ["https://new.test/", false],
  ["https://new.test/a/page.html", false],
  ["https://new.test/?", false],
  // Hosts that people named.
  ["https://wiki.example.org/search?q=secret", false],
  ["https://docs.example.net/?v=3", false],
  ["https://a.wiki.example.org/?q=secret", true],
  ["https://example.org/?q=secret", true],
  ["https://wiki.example.org.evil.test/?q=secret", true],
  // Links that were read, and more than them.
  ["https://far.test/list?page=2", false],
  ["https://far.test/list?page=25", true],
  ["https://far.test/list?page=", true],
  ["https://evil.test/?q=secret", true],
  // Data in the path and in the name.
  [`https://new.test/${"a".repeat(64)}`, true],
  [`https://${"a".repeat(25)}.new.test/`, true],
  ["https://a.b.c.d.new.test/", true],
  // The last that are short enough, and each mark that ends an address where it was read.
  [`https://new.test/${"a".repeat(63)}`, false],
  [`https://${"a".repeat(24)}.new.test/`, false],
  ["https://b.c.d.new.test/", false],
  ["https://new.test/?a", true],
  ["https://new.test/#secret", false],
  ...[" ", ")", "]", ">", '"', "'", "<", ",", ";", "."].map((end): [string, boolean] => [
    `https://end.test/?n=${end.charCodeAt(0)}`,
    false,
  ]),
  ["https://end.test/?n=45", true],
  ["https://end.test/?last=1", false],
  // A host is named whole, in any case, also at the end of a sentence.
  ["https://said.test/?q=1", false],
  ["https://last.test/?q=1", false],
  ["https://dot.test./?q=1", false],
  ["https://part.test/?q=1", true],
  ["https://part-of.test/?q=1", true],
  ["https://both.test/?q=1", false],
  ["no address", false],
  ["http://./?q=secret", true],
  ["mailto:a@b.test?body=secret", false],
  ["data:text/html,?q=secret", false],
])("%s carries data out: %s", (url, expected) => {
  expect(carriesOut(url, heard)).toBe(expected);
});
