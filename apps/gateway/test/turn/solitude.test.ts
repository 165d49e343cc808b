// Suspects run alone, everybody else together, in the order they came.
import { expect, test } from "vitest";
import { solitude } from "../../src/turn/solitude.ts";

function gate() {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), passed };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("whoever runs alone waits for the others and holds up those after it", async () => {
  const house = solitude();
  const running: string[] = [];
  const gates = new Map(["a", "b", "suspect", "c"].map((name) => [name, gate()]));
  const run = (name: string) => async (): Promise<void> => {
    running.push(name);
    await gates.get(name)?.passed;
    running.splice(running.indexOf(name), 1);
  };
  const all = [house.together(run("a")), house.together(run("b")), house.alone(run("suspect")), house.together(run("c"))];
  await settle();
  expect(running).toEqual(["a", "b"]);
  gates.get("a")?.open();
  await settle();
  expect(running).toEqual(["b"]);
  gates.get("b")?.open();
  await settle();
  expect(running).toEqual(["suspect"]);
  gates.get("suspect")?.open();
  await settle();
  expect(running).toEqual(["c"]);
  gates.get("c")?.open();
  await Promise.all(all);
});

test("work that fails leaves the house to the next", async () => {
  const house = solitude();
  await expect(house.alone(() => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
  await expect(house.together(() => Promise.reject(new Error("bang")))).rejects.toThrow("bang");
  expect(await house.alone(async () => "fine")).toBe("fine");
});
