// How much of a tool's answer is kept: to the byte, whole characters only, with both ends.
import { expect, test } from "vitest";
import { capped } from "../../src/loop/result-cap.ts";

const kept = async (
  text: string,
  isError = false,
): Promise<{ readonly text: string; readonly spilled: number }> => {
  let spilled = 0;
  const spill = async (): Promise<string> => `results/${(spilled += 1)}`;
  const [part] = await capped({ content: [{ type: "text", text }], isError }, "c", spill);
  return { text: part?.type === "text" ? part.text : "", spilled };
};

test("8,192 bytes stay whole; of more so many stay, three quarters of them from the beginning", async () => {
  for (const whole of ["x".repeat(8_192), "ж".repeat(4_096)])
    expect(await kept(whole)).toEqual({ text: whole, spilled: 0 });
  const { text, spilled } = await kept("x".repeat(8_000) + "y".repeat(193));
  expect([Buffer.byteLength(text), spilled]).toEqual([8_192, 1]);
  expect(text).toContain("\n[... 8193 characters in all; the whole text is in results/1 ...]\n");
  const [head = "", tail = ""] = text.split(/\n\[\.\.\..*\.\.\.\]\n/);
  expect(head).toMatch(/^x+$/);
  expect(tail).toMatch(/^x+y{193}$/);
  expect(head.length).toBe(Math.floor((head.length + tail.length) * 0.75));
  const wide = await kept("👍".repeat(3_000));
  expect(Buffer.byteLength(wide.text)).toBeLessThanOrEqual(8_192);
  expect(Buffer.byteLength(wide.text)).toBeGreaterThan(8_192 - 8);
  expect(wide.text.isWellFormed()).toBe(true);
});

test("an error of 400 characters stays whole; of a longer one the beginning", async () => {
  expect(await kept("e".repeat(400), true)).toEqual({ text: "e".repeat(400), spilled: 0 });
  const { text, spilled } = await kept("e".repeat(401), true);
  expect(spilled).toBe(1);
  expect(text).toMatch(/^e+\n\[\.\.\. 401 characters in all; the whole text is in results\/1 \.\.\.\]$/);
  expect(text.length).toBe(399);
});

test("nothing is said to be nothing, and what cannot be spilled is kept in part all the same", async () => {
  expect((await kept("")).text).toBe("(no output)");
  const full = await capped({ content: [{ type: "text", text: "x".repeat(9_000) }] }, "c", async () => {
    throw new Error("the disk is full");
  });
  expect(JSON.stringify(full)).toContain("9000 characters in all; the rest could not be kept");
});

test("of a result that is too long the pictures stay, of an error that is too long none; halves of a character go", async () => {
  const picture = { type: "image", mediaType: "image/png", path: "a.png" } as const;
  const words = (text: string) => ({ type: "text", text }) as const;
  const told: string[] = [];
  const spill = async (callId: string, text: string): Promise<string> => {
    told.push(`${callId}: ${text.length}`);
    return "f";
  };
  const keep = (text: string, isError: boolean, more: readonly object[] = [], maxBytes?: number) =>
    capped(
      { content: [picture, words(text), ...more] as never, isError },
      "call",
      spill,
      ...(maxBytes === undefined ? [] : [maxBytes]),
    );
  expect(await keep("", false)).toEqual([picture]);
  expect(await keep("short", true, [words("er")])).toEqual([words("short\ner"), picture]);
  expect(told).toEqual([]);
  // The mark takes 57 of the 400, so 343 are left, and no half of the character there.
  const failed = await keep(`${"e".repeat(342)}${"😀".repeat(30)}`, true);
  expect(failed).toEqual([
    words(`${"e".repeat(342)}\n[... 402 characters in all; the whole text is in f ...]`),
  ]);
  const mark = "\n[... 120 characters in all; the whole text is in f ...]\n";
  expect(await keep("x".repeat(119), false, [], 119)).toEqual([words("x".repeat(119)), picture]);
  expect(await keep(`${"x".repeat(100)}${"y".repeat(20)}`, false, [], mark.length + 21)).toEqual([
    words(`${"x".repeat(15)}${mark}${"y".repeat(6)}`),
    picture,
  ]);
  // A character that the cut would halve goes as a whole, and leaves its room to the end.
  expect(await keep(`${"ж".repeat(100)}${"y".repeat(20)}`, false, [], mark.length + 20)).toEqual([
    words(`${"ж".repeat(7)}${mark}${"y".repeat(6)}`),
    picture,
  ]);
  expect(told).toEqual(["call: 402", "call: 120", "call: 120"]);
});
