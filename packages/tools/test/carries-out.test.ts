import { expect, test } from "vitest";
import { carriesOut } from "../src/carries-out.ts";

const heard = {
  trusted: ["Look at https://wiki.example.org/a, please", "and docs.example.net"],
  sources: ["far.test"],
  read: ["[next](https://far.test/list?page=2) https://evil.test/?q="],
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
  ["no address", false],
  ["http://./?q=secret", true],
  ["mailto:a@b.test?body=secret", false],
  ["data:text/html,?q=secret", false],
])("%s carries data out: %s", (url, expected) => {
  expect(carriesOut(url, heard)).toBe(expected);
});
