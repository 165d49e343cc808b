// Which polls a platform takes, at both sides of each limit.
import { expect, test } from "vitest";
import { checkPoll } from "../src/poll-limits.ts";

const limits = {
  questionChars: 10,
  fewestOptions: 2,
  mostOptions: 3,
  optionChars: 5,
  anonymous: false,
  mostHours: 48,
};
const poll = {
  kind: "poll",
  question: "q".repeat(10),
  options: ["a", "bbbbb"],
  multiple: false,
  anonymous: false,
};
const told = (more: object, taken = limits): string => {
  try {
    checkPoll({ ...poll, ...more } as never, taken, "Chat");
    return "taken";
  } catch (error) {
    const { code, message } = error as { readonly code: string; readonly message: string };
    return `${code}: ${message}`;
  }
};

test("a poll at its limits is taken, one beyond any of them is refused with what would be taken", () => {
  const sizes = "invalid: a poll on Chat has at most 10 characters of question and 2 to 3 options of 5";
  expect([told({}), told({ hours: 1 }), told({ hours: 48 }), told({ options: ["a", "b", "c"] })]).toEqual([
    "taken",
    "taken",
    "taken",
    "taken",
  ]);
  for (const more of [
    { question: "q".repeat(11) },
    { options: ["a"] },
    { options: ["a", "b", "c", "d"] },
    { options: ["a", "bbbbbb"] },
    { options: ["a", ""] },
  ])
    expect(told(more)).toBe(sizes);
  expect(told({ hours: 0 })).toBe("invalid: a poll on Chat is open for 1 to 48 hours, not 0");
  expect(told({ hours: 49, options: [] })).toBe("invalid: a poll on Chat is open for 1 to 48 hours, not 49");
  expect(told({ anonymous: true, hours: 0 })).toBe(
    "unsupported: polls on Chat show who voted: set anonymous to false",
  );
  expect(told({ anonymous: true }, { ...limits, anonymous: true })).toBe("taken");
});

test("a platform without limits of its own takes any", () => {
  expect(() => checkPoll({ ...poll, options: [], hours: 0 } as never, undefined, "Chat")).not.toThrow();
});
