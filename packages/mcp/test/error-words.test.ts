import { expect, test } from "vitest";
import { errorWords } from "../src/error-words.ts";

test("what a schema refused of a server's answer is told in words, and another failure as it is", () => {
  const issues = JSON.stringify([{ expected: "string", code: "invalid_type", path: ["issuer"] }], null, 2);
  const said = "what it sent is not of the protocol";
  expect(errorWords(new Error(issues))).toBe(said);
  expect(errorWords(new Error(`Probe failed: ${issues}`))).toBe(`Probe failed: ${said}`);
  expect(errorWords(new Error("it refuses connections"))).toBe("it refuses connections");
});
