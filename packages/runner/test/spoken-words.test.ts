// What of an answer is said aloud.
import { expect, test } from "vitest";
import { spokenWords } from "../src/speech/spoken-answer.ts";

test.each([
  ["It is **sunny**, and `warm`.", "It is sunny, and warm."],
  ["See [the page](https://example.org) or https://example.org/x now.", "See the page or now."],
  ["Do this:\n\n```sh\nrm -rf /\n```\n\nThen rest.", "Do this:\nThen rest."],
  ["```\nonly code\n```", ""],
  ["~~~py\nnever closed", ""],
  ["Fine 👍🏽!", "Fine !"],
  ["🎉 🇩🇪 👨‍👩‍👧 …!", ""],
  ["1️⃣ Rest.", "1 Rest."],
  ["", ""],
])("%j is said as %j", (markdown, words) => {
  expect(spokenWords([{ kind: "text", markdown }]).replaceAll(/\s*\n\s*/g, "\n")).toBe(words);
});

test.each(["`", "~"])("a line of 100,000 times %s is read once, not in every length", (sign) => {
  expect(spokenWords([{ kind: "text", markdown: `Rest.\n\n${sign.repeat(100_000)}` }])).toMatch(/^Rest\./);
});
