// How a page brings the worker that shows messages while it is closed: under which address, for which
// addresses, and through the policy of a browser that asks for one.
import { expect, test } from "vitest";
import { registered } from "../../src/device/register-worker.ts";
import { stub } from "./browser.ts";

const worker = { of: "the device" };

async function registering(more: object = {}, fails = false) {
  const asked: unknown[] = [];
  stub({
    location: { href: "https://h/under/device.html" },
    navigator: {
      serviceWorker: {
        register: async (...of: unknown[]) => {
          asked.push(...of);
          if (fails) throw new Error("not allowed");
        },
        ready: Promise.resolve(worker),
      },
    },
    ...more,
  });
  return { made: await registered(), asked };
}

test("it is registered for the device's addresses alone, and waited for until it is ready", async () => {
  const { made, asked } = await registering();
  expect(made).toBe(worker);
  expect(asked).toEqual([expect.stringContaining("device-worker"), { scope: "/under/device" }]);
});

test("a browser that trusts no plain address gets it from a policy of this name, whatever it is asked for", async () => {
  const made: string[] = [];
  const { asked } = await registering({
    trustedTypes: {
      createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => {
        made.push(name);
        return { createScriptURL: (url: string) => ({ trusted: rules.createScriptURL(url) }) };
      },
    },
  });
  expect(made).toEqual(["parley-worker"]);
  expect(asked[0]).toEqual({ trusted: expect.stringContaining("device-worker") });
});

test("without one the page works while it is open", async () => {
  const { made } = await registering({}, true);
  expect(made).toBe(null);
  stub({ navigator: {} });
  expect(await registered()).toBe(null);
});
