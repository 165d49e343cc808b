// Properties draw the same cases in every run, unless PARLEY_SEED asks for new ones.
import fc from "fast-check";
import { expect, test } from "vitest";

test("every property draws under one seed, and one that fails tells it", () => {
  const asked = process.env["PARLEY_SEED"] ?? "1";
  const drawn = (): string => fc.sample(fc.nat(), 9).join(" ");
  expect(drawn() === drawn()).toBe(asked !== "random");
  expect(() => fc.assert(fc.property(fc.nat(), () => false))).toThrow(
    `seed: ${asked === "random" ? "" : `${asked},`}`,
  );
});
