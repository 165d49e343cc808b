import { type FakeModels, fakeModels } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wires } from "./collect.ts";
import { cutAt, recorded } from "./cut.ts";

let server: FakeModels;
beforeAll(async () => {
  server = await fakeModels();
});
afterAll(() => server.close());

describe.each(wires)("$name, cut at every byte", (wire) => {
  it("is never taken for an answer", { timeout: 120_000 }, async () => {
    const offsets = Array.from(recorded(wire.wire).bytes.keys());
    expect(await cutAt(server, wire, offsets, false)).toBeGreaterThan(offsets.length / 2);
  });
});
