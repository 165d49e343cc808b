// What is kept of settings: one thing at a time, whoever asks meanwhile, and another try after a failure.
import { expect, test } from "vitest";
import { remade } from "../../src/wiring/remade.ts";

function setUp() {
  const log: string[] = [];
  const trouble: { make: boolean; end: boolean } = { make: false, end: false };
  let nth = 0;
  const of = remade(
    async ({ port }: { readonly port: number }) => {
      nth += 1;
      const name = `${port}#${nth}`;
      log.push(`makes ${name}`);
      const fails = trouble.make;
      await Promise.resolve();
      if (fails) throw new Error(`${name} is taken`);
      return name;
    },
    async (made) => {
      log.push(`ends ${made}`);
      if (trouble.end) throw new Error(`${made} does not end`);
    },
  );
  const settled = async () => {
    await new Promise<void>((resolve) => setImmediate(resolve));
    return log.splice(0);
  };
  return { of, trouble, settled };
}

test("equal settings share one, also while it is being made; others end it, also where they were there before", async () => {
  const { of, settled } = setUp();
  expect(await Promise.all([of({ port: 1 }), of({ port: 1 })])).toEqual(["1#1", "1#1"]);
  expect(await of({ port: 1 })).toBe("1#1");
  expect(await settled()).toEqual(["makes 1#1"]);
  expect(await of({ port: 2 })).toBe("2#2");
  expect(await of({ port: 1 })).toBe("1#3");
  expect((await settled()).toSorted()).toEqual(["ends 1#1", "ends 2#2", "makes 1#3", "makes 2#2"]);
  await of.close();
  await of.close();
  expect(await settled()).toEqual(["ends 1#3"]);
  expect(await of({ port: 1 })).toBe("1#4");
});

test("one that could not be made is tried again, and needs no end", async () => {
  const { of, trouble, settled } = setUp();
  trouble.make = true;
  await expect(of({ port: 1 })).rejects.toThrow("1#1 is taken");
  const failing = of({ port: 1 });
  const closing = of.close();
  await expect(failing).rejects.toThrow("1#2 is taken");
  await closing;
  // A failure that comes late forgets nothing newer.
  const late = of({ port: 1 });
  trouble.make = false;
  const newer = of({ port: 2 });
  await expect(late).rejects.toThrow("1#3 is taken");
  expect(await newer).toBe("2#4");
  expect(await of({ port: 2 })).toBe("2#4");
  expect(await settled()).toEqual(["makes 1#1", "makes 1#2", "makes 1#3", "makes 2#4"]);
});

test("one that does not end holds up nothing but the close", async () => {
  const { of, trouble } = setUp();
  await of({ port: 1 });
  trouble.end = true;
  expect(await of({ port: 2 })).toBe("2#2");
  await expect(of.close()).rejects.toThrow("2#2 does not end");
  await of.close();
});
