import { type FakeModels, fakeModels } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wires } from "./collect.ts";
import { cutAt, recorded } from "./cut.ts";

let server: FakeModels;
beforeAll(async () => {
  server = await fakeModels();
});
afterAll(() => server.close());

// The long tier cuts at every byte (cut.long.test.ts); here the ends of all events, their neighbours, and
// samples between.
describe.each(wires)("$name, cut in the middle", (wire) => {
  it.each([false, true])("is never taken for an answer (connection reset: %s)", async (reset) => {
    const { bytes, boundaries } = recorded(wire.wire);
    const near = boundaries.flatMap((at) => [at - 2, at - 1, at, at + 1]);
    const between = Array.from({ length: 40 }, (_, nth) => Math.floor((nth * bytes.length) / 40));
    const offsets = [...new Set(reset ? near : [...near, ...between])].filter((at) => at < bytes.length);
    expect(await cutAt(server, wire, offsets, reset)).toBeGreaterThan(offsets.length / 2);
  });
});
