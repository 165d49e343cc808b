// Forms behind buttons, at their bounds.
import { type Button, silentLog } from "@parley/protocol";
import { expect, test } from "vitest";
import { forms } from "../../src/discord/interactions/forms.ts";
import { keptMemory } from "./rig.ts";

const asks = (value: string, more: Partial<Button> = {}): Button => ({
  label: `Ask ${value}`,
  value,
  form: [{ name: "tea", label: "Which?" }],
  ...more,
});

test("a form has Discord's measures: a title and labels of 45 characters, five fields, each short unless it is long", async () => {
  const kept = forms(keptMemory(), silentLog);
  const fields = Array.from({ length: 6 }, (_, nth) => ({
    name: `f${nth}`,
    label: String(nth).repeat(46),
    ...(nth === 1 ? { long: true } : {}),
  }));
  await kept.keep([[asks("a", { label: "T".repeat(46), form: fields })], [{ label: "plain", value: "p" }]]);
  const form = kept.find("a");
  expect(form?.title).toBe("T".repeat(45));
  expect(form?.components).toEqual(
    [0, 1, 2, 3, 4].map((nth) => ({
      type: 18,
      label: String(nth).repeat(45),
      component: { type: 4, custom_id: `f${nth}`, style: nth === 1 ? 2 : 1, required: true },
    })),
  );
  expect(kept.find("p")).toBeNull();
  await kept.keep([[{ label: "Named", form: [{ name: "x", label: "X" }] }]]);
  expect(kept.find("Named")?.custom_id).toBe("Named");
});

test("the newest two hundred forms are kept, and one that is sent again is the newest, as it was sent last", async () => {
  const memory = keptMemory();
  const kept = forms(memory, silentLog);
  for (let nth = 0; nth < 200; nth += 1) await kept.keep([[asks(`b${nth}`)]]);
  await kept.keep([[asks("b0", { label: "Again" })]]);
  expect([kept.find("b0")?.title, kept.find("b1")?.title]).toEqual(["Again", "Ask b1"]);
  await kept.keep([[asks("b200")]]);
  const next = forms(memory, silentLog);
  await next.load();
  expect([next.find("b0")?.title, next.find("b1"), next.find("b200")?.title]).toEqual([
    "Again",
    null,
    "Ask b200",
  ]);
});
