// What an answer to a question chooses, where the options are numbers themselves.
import { expect, test } from "vitest";
import { chosenAnswer } from "../src/questions/question.ts";

const options = ["3", "2", "1"];

test("a press means the option of its button, whatever the options say", () => {
  expect(["#1", "#2", "#3"].map((pressed) => chosenAnswer({ options }, pressed))).toEqual(options);
});

test("written words mean the option that has them, else the option of that number", () => {
  expect(chosenAnswer({ options }, " 1 ")).toBe("1");
  expect(chosenAnswer({ options: ["Red", "Blue"] }, "2")).toBe("Blue");
  expect(chosenAnswer({ options: ["Red", "Blue"] }, "#9")).toBe("#9");
});
