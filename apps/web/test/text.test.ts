import { visibleText } from "@parley/protocol";
import { expect, test } from "vitest";
import { hasHidden, sessionTitle, sessionWords, unhidden } from "../src/parts/text.ts";
import { duration } from "../src/parts/time.ts";

test("what would not be seen is known by how it is written out", () => {
  expect(hasHidden(visibleText("rm -rf ~/a\u202egpj.exe"))).toBe(true);
  expect(hasHidden(visibleText("rm -rf ~/a"))).toBe(false);
});

test("what a program wrote is shown as it stands, but for what is not seen", () => {
  expect(unhidden("a\n\tb\r c\u202egpj\u200b \u{1f468}\u200d\u{1f469}")).toBe(
    "a\n\tb\\u{d} c\\u{202e}gpj\\u{200b} \u{1f468}\u200d\u{1f469}",
  );
});

test("a session without a name is called by its key", () => {
  expect(sessionWords("agent:main:telegram:dm:4242")).toBe("telegram dm 4242");
  expect(sessionWords("agent:main:telegram:dm:a%3Ab")).toBe("telegram dm a:b");
  expect(sessionWords("agent:main:x:%zz")).toBe("x %zz");
  expect(sessionWords("something")).toBe("something");
  const browser = "agent:main:web:dm:web-uip4jiyiwywp7hkhviau";
  expect([browser, `${browser}:thread:plans`].map(sessionWords)).toEqual([
    "web uip4…viau",
    "web uip4…viau plans",
  ]);
});

test("parts of a key are shown whole up to fourteen signs, and cut in the middle from there on", () => {
  const parts = ["a".repeat(14), "b".repeat(15), "web-c", ""];
  expect(sessionWords(`agent:helper:${parts.join(":")}`)).toBe(`${"a".repeat(14)} bbbb…bbbb web-c `);
  expect(
    [
      "agent:main",
      "agent:main:main",
      "Agent:main:main",
      "agent:main:web:dm:web-web-1",
      "agent:main:web:dm",
      "agent:main:web:group:web-1:thread:t",
      "agent:main:web:dm:w:x:t:more",
    ].map(sessionWords),
  ).toEqual([
    "agent:main",
    "main",
    "Agent:main:main",
    "web web-1",
    "web ",
    "web group web-1 thread t",
    "web w t",
  ]);
});

test("names and keys of sessions that people chose turn nothing around", () => {
  const key = "agent:main:web:dm:web-1:thread:a%E2%80%AEb";
  expect(sessionWords(key)).toBe("web 1 a\\u{202e}b");
  expect(sessionTitle({ key, name: "trip\u202egpj" })).toBe("trip\\u{202e}gpj");
});

test("a duration is said in two units at most", () => {
  expect([12.4, 1_500, 59_000, 60_000, 90_000, 3_600_000, 5_430_000].map(duration)).toEqual([
    "12 ms",
    "1.5 s",
    "59 s",
    "1 min",
    "1 min 30 s",
    "1 h",
    "1 h 30 min",
  ]);
});
