// What signals do to a daemon that an operator, or somebody else of the same user, sends them.
import { afterEach, expect, test } from "vitest";
import { cleanUp, startDaemon } from "./daemon.ts";

afterEach(cleanUp);

test("SIGUSR1 opens no inspector, also for a daemon that was started without its launcher", async () => {
  const daemon = await startDaemon({ config: {} });
  daemon.kill("SIGUSR1");
  // The inspector says so on standard error before it serves anything.
  for (let n = 0; n < 5; n += 1) expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200);
  expect(await daemon.stop()).toBe(0);
  expect(daemon.log()).not.toContain("Debugger listening");
});
