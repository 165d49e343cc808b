// The labelled hops of one message, and for each how a test knows from outside that the daemon stands exactly
// there. Two means do it: the fakes hold a call that arrived, before or after acting; and a lock on the
// database holds the commit that comes next.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../e2e/daemon.ts";
import { createRoute } from "./discord-side.ts";
import type { Medium, Stage } from "./stage.ts";

export interface Hop {
  readonly name: string;
  readonly medium: Medium;
  readonly streams?: true;
  /** Discord has forgotten the session by the next start: only the history knows what was said meanwhile. */
  readonly forgets?: true;
  readonly tools?: true;
  /** Sets the trap; the daemon is not running yet when `early`. */
  readonly early?: (at: Stage) => void;
  /** Resolves when the daemon stands at the hop. The message is said by it. */
  readonly reach: (at: Stage) => Promise<void>;
  /** How often the answer shows too many times, and is flagged: only where nobody can know. */
  readonly doubled?: number;
  /** Resends after an unknown outcome. */
  readonly flagged?: number;
  /** Previews that nobody finishes. */
  readonly orphans?: number;
  /**
   * Another medium's hop, or its neighbour, takes the same way: only the long run goes through this one too.
   */
  readonly alike?: true;
}

/** The event loop of the daemon is at the lock by then: it has nothing else to do. */
const atTheLockMs = 250;

const hang = { kind: "hang" } as const;
const editRoute = "PATCH /channels/:channel/messages/:message";

/** The model's answer is ready, and the commit that it leads to cannot happen. */
async function freezeAtModel(at: Stage, medium: Medium): Promise<void> {
  let asked = false;
  at.onModel(() => {
    at.freeze();
    asked = true;
    return "an answer that dies with the process";
  });
  at.says(medium);
  await eventually(() => asked);
  await pause(atTheLockMs);
}

async function holdModel(at: Stage, medium: Medium): Promise<void> {
  let asked = false;
  at.onModel(() => {
    asked = true;
    return { hang: "headers" };
  });
  at.says(medium);
  await eventually(() => asked);
}

async function holdCreate(at: Stage, when: "before" | "after"): Promise<void> {
  at.discord.inject({ method: createRoute, when, trouble: hang });
  at.says("discord");
  const call = await at.called(createRoute, 1);
  await eventually(() => when === "before" || call.acted);
}

async function holdSend(at: Stage, when: "before" | "after"): Promise<void> {
  at.w.telegram.inject({ method: "sendMessage", when, trouble: hang });
  at.says("telegram");
  const call = await at.called("sendMessage", 1);
  await eventually(() => when === "before" || call.acted);
}

async function holdTool(at: Stage, medium: Medium): Promise<void> {
  at.onModel(() => ({ toolCalls: [{ name: "sleep", args: { seconds: 2 } }] }));
  at.says(medium);
  await eventually(() => childrenOf(at.daemon.pid).length > 0);
}

/** Enough of a text to open a preview, and then nothing more. */
function growAndHang(at: Stage): void {
  at.onModel(() => ({
    text: "Let me look into that for you. ".repeat(20),
    betweenMs: 200,
    cutAtByte: 3_000,
    hang: "body",
  }));
}

export const hops: readonly Hop[] = [
  {
    name: "the fetch is not answered yet",
    medium: "telegram",
    early: (at) => at.w.telegram.inject({ method: "getUpdates", trouble: hang }),
    async reach(at) {
      await at.called("getUpdates", 1);
      at.says("telegram");
    },
  },
  {
    name: "fetched, not committed",
    medium: "telegram",
    alike: true,
    async reach(at) {
      await at.called("getUpdates", 2);
      at.freeze();
      at.says("telegram");
      await pause(atTheLockMs);
    },
  },
  {
    name: "accepted, its confirmation never heard",
    medium: "telegram",
    async reach(at) {
      await at.called("getUpdates", 2);
      at.w.telegram.inject({ method: "getUpdates", times: null, trouble: hang });
      await holdModel(at, "telegram");
      await at.called("getUpdates", 3);
    },
  },
  { name: "the model is asked", medium: "telegram", alike: true, reach: (at) => holdModel(at, "telegram") },
  {
    name: "the model has answered, nothing committed",
    medium: "telegram",
    alike: true,
    reach: (at) => freezeAtModel(at, "telegram"),
  },
  {
    name: "the platform received the send and did not act",
    medium: "telegram",
    reach: (at) => holdSend(at, "before"),
    flagged: 1,
  },
  {
    name: "the platform acted and did not answer",
    medium: "telegram",
    reach: (at) => holdSend(at, "after"),
    doubled: 1,
    flagged: 1,
  },
  {
    name: "the platform answered, nothing recorded",
    medium: "telegram",
    async reach(at) {
      at.w.telegram.inject({ method: "sendMessage", trouble: { kind: "delay", delayMs: 300 } });
      at.says("telegram");
      await at.called("sendMessage", 1);
      at.freeze();
      await pause(300 + atTheLockMs);
    },
    doubled: 1,
    flagged: 1,
  },
  {
    name: "sent and recorded",
    medium: "telegram",
    alike: true,
    async reach(at) {
      at.says("telegram");
      await at.quiet("telegram");
    },
  },

  {
    name: "the preview was received, not shown",
    medium: "telegram",
    alike: true,
    streams: true,
    async reach(at) {
      growAndHang(at);
      await holdSend(at, "before");
    },
    flagged: 1,
  },
  {
    name: "the preview is shown, its answer swallowed",
    medium: "telegram",
    streams: true,
    async reach(at) {
      growAndHang(at);
      await holdSend(at, "after");
    },
    flagged: 1,
    orphans: 1,
  },
  {
    name: "an edit of the preview was received, not shown",
    medium: "telegram",
    streams: true,
    async reach(at) {
      growAndHang(at);
      at.w.telegram.inject({ method: "editMessageText", trouble: hang });
      at.says("telegram");
      await at.called("editMessageText", 1);
    },
  },
  {
    name: "the last edit is shown, its answer swallowed",
    medium: "telegram",
    alike: true,
    streams: true,
    async reach(at) {
      at.onModel(() => ({ text: "Let me look into that. ".repeat(12) + "It is re m1", betweenMs: 30 }));
      at.w.telegram.inject({
        method: "editMessageText",
        times: null,
        trouble: { kind: "delay", delayMs: 2_000 },
      });
      at.says("telegram");
      await eventually(() => at.texts("telegram").some((text) => text.includes("re m1")));
    },
  },

  {
    name: "a tool that writes is running",
    medium: "telegram",
    alike: true,
    tools: true,
    reach: (at) => holdTool(at, "telegram"),
  },
  {
    name: "the model is asked with the tool's result",
    medium: "telegram",
    tools: true,
    async reach(at) {
      let asked = false;
      at.onModel(() => {
        at.onModel(() => {
          asked = true;
          return { hang: "headers" };
        });
        return { toolCalls: [{ name: "append", args: { line: "once" } }] };
      });
      at.says("telegram");
      await eventually(() => asked);
    },
  },

  {
    name: "told, not committed",
    medium: "discord",
    async reach(at) {
      at.freeze();
      at.says("discord");
      await pause(atTheLockMs);
    },
  },
  { name: "the model is asked", medium: "discord", alike: true, reach: (at) => holdModel(at, "discord") },
  {
    name: "the model is asked, and Discord forgets the session",
    medium: "discord",
    forgets: true,
    reach: (at) => holdModel(at, "discord"),
  },
  {
    name: "the model has answered, nothing committed",
    medium: "discord",
    alike: true,
    reach: (at) => freezeAtModel(at, "discord"),
  },
  {
    name: "the platform received the send and did not act",
    medium: "discord",
    reach: (at) => holdCreate(at, "before"),
  },
  {
    name: "the platform acted and did not answer",
    medium: "discord",
    reach: (at) => holdCreate(at, "after"),
  },
  {
    name: "the platform acted and did not answer, and Discord forgets the session",
    medium: "discord",
    alike: true,
    forgets: true,
    reach: (at) => holdCreate(at, "after"),
  },
  {
    name: "the platform answered, nothing recorded",
    medium: "discord",
    async reach(at) {
      at.discord.inject({ method: createRoute, trouble: { kind: "delay", delayMs: 300 } });
      at.says("discord");
      await at.called(createRoute, 1);
      at.freeze();
      await pause(300 + atTheLockMs);
    },
  },
  {
    name: "sent and recorded",
    medium: "discord",
    async reach(at) {
      at.says("discord");
      await at.quiet("discord");
    },
  },
  {
    name: "the preview was received, not shown",
    medium: "discord",
    streams: true,
    async reach(at) {
      growAndHang(at);
      await holdCreate(at, "before");
    },
  },
  {
    name: "the preview is shown, its answer swallowed",
    medium: "discord",
    alike: true,
    streams: true,
    async reach(at) {
      growAndHang(at);
      await holdCreate(at, "after");
    },
  },
  {
    name: "an edit of the preview was received, not shown",
    medium: "discord",
    alike: true,
    streams: true,
    async reach(at) {
      growAndHang(at);
      at.discord.inject({ method: editRoute, trouble: hang });
      at.says("discord");
      await at.called(editRoute, 1);
    },
  },
  {
    name: "the last edit is shown, its answer swallowed",
    medium: "discord",
    streams: true,
    async reach(at) {
      at.onModel(() => ({ text: "Let me look into that. ".repeat(12) + "It is re m1", betweenMs: 30 }));
      at.discord.inject({ method: editRoute, times: null, trouble: { kind: "delay", delayMs: 2_000 } });
      at.says("discord");
      await eventually(() => at.texts("discord").some((text) => text.includes("re m1")));
    },
  },
  {
    name: "a tool that writes is running",
    medium: "discord",
    tools: true,
    reach: (at) => holdTool(at, "discord"),
  },

  {
    name: "said, not committed",
    medium: "web",
    async reach(at) {
      await at.web.history();
      at.freeze();
      at.says("web");
      await pause(atTheLockMs);
    },
  },
  { name: "the model is asked", medium: "web", reach: (at) => holdModel(at, "web") },
  {
    name: "half of the answer is on the page",
    medium: "web",
    async reach(at) {
      growAndHang(at);
      at.says("web");
      await eventually(() => at.web.growing() !== "");
    },
  },
  {
    name: "the model has answered, nothing committed",
    medium: "web",
    reach: (at) => freezeAtModel(at, "web"),
  },
  {
    name: "the answer is on the page",
    medium: "web",
    alike: true,
    async reach(at) {
      at.says("web");
      await eventually(() => at.web.heard().length > 0);
    },
  },
];

function childrenOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .trim()
    .split(" ")
    .filter((child) => child !== "");
}

/**
 * What the quick suite goes through; the longer tier takes the others. A kill with Discord is in
 * test/e2e/discord.test.ts.
 */
export const spread: readonly string[] = [
  "telegram: the platform acted and did not answer",
  "web: the model has answered, nothing committed",
];

export const isInSpread = ({ medium, name }: Hop): boolean => spread.includes(`${medium}: ${name}`);
