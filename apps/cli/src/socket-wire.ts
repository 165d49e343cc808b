// The wire to a running gateway: one WebSocket. No reconnecting: a command is short.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { controlPath, frameBytes, sleep, systemClock } from "@parley/protocol";
import { CommandFailure, exitCodes } from "./exit.ts";
import { notRunning, type GatewayAddress } from "./gateway-address.ts";
import type { Wire } from "./wire.ts";

/** Longer than a gateway is ever busy with one thing. */
const answersWithinMs = 5_000;
/** As many times as long, while more programs want a core than it has: the gateway waits for its turn too. */
const patience = 4;
const healthWithinMs = 2_000;

/**
 * Rejects with CommandFailure: "unavailable" when no gateway is there, "timeout" when one is and does not
 * answer.
 */
export async function socketWire(address: GatewayAddress): Promise<Wire> {
  const socket = new WebSocket(`${address.url.replace(/^http/, "ws")}${controlPath}`);
  const closed = new Promise<CommandFailure>((resolve) => {
    socket.addEventListener("close", ({ code, reason }) => {
      resolve(
        new CommandFailure(
          "unavailable",
          `The gateway closed the connection: ${reason === "" ? `code ${code}` : reason}.`,
        ),
      );
    });
  });
  const opened = new Promise<boolean>((resolve) => {
    socket.addEventListener("open", () => resolve(true));
    socket.addEventListener("error", () => resolve(false));
  });
  const waiting = new AbortController();
  const answered = await Promise.race([opened, silence(waiting.signal).then(() => null)]);
  waiting.abort();
  if (answered !== true) {
    socket.close();
    throw await whyNot(address, answered === null);
  }
  return {
    closed,
    send(text) {
      if (socket.readyState !== WebSocket.OPEN)
        throw new CommandFailure("unavailable", "The connection to the gateway is closed.");
      // The gateway hangs up on a larger frame, and whoever waits for it to be back would send it again.
      const bytes = Buffer.byteLength(text);
      if (bytes > frameBytes) throw tooLarge(bytes);
      socket.send(text);
    },
    listen: (listener) => socket.addEventListener("message", ({ data }) => listener(String(data))),
    close: () => socket.close(),
  };
}

function tooLarge(bytes: number): CommandFailure {
  const [has, most] = [bytes, frameBytes].map((each) => each.toLocaleString("en"));
  return new CommandFailure(
    "invalid",
    `This is too much at once: ${has} bytes, and the gateway takes ${most}. Nothing was sent. Make it shorter, or give it in parts.`,
    exitCodes.usage,
  );
}

/** Resolves when a gateway that hangs would have been waited for long enough. */
async function silence(signal: AbortSignal): Promise<void> {
  for (let round = 0; round < patience; round += 1) {
    await sleep(systemClock(), answersWithinMs, signal);
    if (!isCrowded()) return;
  }
}

/** Linux tells how many programs want a core at this moment; elsewhere no machine counts as crowded. */
function isCrowded(): boolean {
  try {
    const [running = 0] = readFileSync("/proc/loadavg", "utf8").split(" ")[3]?.split("/").map(Number) ?? [];
    return running > 2 * availableParallelism();
  } catch {
    return false; // No such file.
  }
}

/** A refused WebSocket says nothing of its cause; who listens there is told by what anybody may ask. */
async function whyNot(
  { url, pid, configTrouble }: GatewayAddress,
  isSilent: boolean,
): Promise<CommandFailure> {
  const refused = (detail: string, advice?: string): CommandFailure =>
    notRunning(url, configTrouble, detail, advice);
  if (isSilent) {
    const who = pid === null ? "What listens there" : `Its process ${pid}`;
    const words = `The gateway at ${url} does not answer. ${who} said nothing within ${answersWithinMs / 1_000} s: it hangs, or is very busy.`;
    return new CommandFailure(
      "timeout",
      `${words}\n\`parley stop\` ends it, and \`parley start\` goes on where it stood: nothing is lost.`,
    );
  }
  let health: string;
  const giveUp = new AbortController();
  const timer = systemClock().after(healthWithinMs, () => giveUp.abort());
  try {
    health = await (await fetch(`${url}/healthz`, { signal: giveUp.signal })).text();
  } catch {
    // Refused, or not HTTP: either way no gateway is there.
    return refused("nothing answers there");
  } finally {
    timer.cancel();
  }
  if (/^\{"ok":(?:true|false)\}$/.test(health))
    return new CommandFailure(
      "unavailable",
      `The gateway at ${url} takes no connection now: it is stopping, or has too many. Try again.`,
    );
  return refused(
    "another program answers there",
    "Stop that program, or set gateway.port; then run `parley start`.",
  );
}
