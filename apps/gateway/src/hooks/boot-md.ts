// Gives each agent the words of its BOOT.md when the gateway starts, as a turn with the authority of its
// owner, in a session of its own. The turn's row is made from the start, so that one start gives it once; a
// run that an earlier start left unfinished goes on, and counts for this start too. Its answer is sent to
// nobody: the agent writes to people by the message tool.
import { readFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { saysNothing } from "@parley/agent";
import type { Config } from "@parley/config";
import { formatSessionKey, type Address, type Clock, type Log } from "@parley/protocol";
import { operatorSender, scheduleRow, type FileOrigins } from "@parley/runner";
import { spanMs } from "@parley/schedules";
import type { Inbox, Sessions } from "@parley/store";
import type { BundledHook } from "./hook-runner.ts";
import { beginOwnSession } from "./own-session.ts";

export interface BootMdOptions {
  readonly config: Pick<Config, "agents" | "hooks">;
  /** Where the agent's first owner talks with it. */
  readonly homeOf: (agent: string) => Promise<{ readonly place: Address | null }>;
  readonly inbox: Pick<Inbox, "accept" | "find">;
  readonly sessions: Pick<Sessions, "open" | "reset" | "trim" | "patch">;
  readonly origins: Pick<FileOrigins, "of"> | undefined;
  /** Names this start. */
  readonly bootId: string;
  readonly clock: Clock;
  readonly log: Log;
}

const fileChars = 20_000;

export function bootMd(options: BootMdOptions): BundledHook {
  const { config, homeOf, inbox, sessions, origins, bootId, clock, log } = options;

  async function wordsOf(workspace: string): Promise<string | null> {
    const path = join(workspace, "BOOT.md");
    const bytes = await readFile(path).catch(() => null); // Without the file there is nothing to do.
    if (bytes === null) return null;
    const text = bytes.toString("utf8");
    if (saysNothing(text)) return null;
    const originOf = await origins?.of(workspace);
    const foreign = originOf?.(path, createHash("sha256").update(bytes).digest("hex")) ?? null;
    if (foreign === null) return text.slice(0, fileChars).toWellFormed();
    log.warn(
      { path, reason: foreign.reason, who: foreign.who },
      "BOOT.md is not followed: no owner wrote it",
    );
    return null;
  }

  return async ({ context }) => {
    // Another process of the gateway was there already: the gateway itself did not start.
    if (context["first"] === false) return;
    const seen = new Set<string>();
    for (const { id, workspace } of config.agents.list) {
      if (seen.has(workspace)) continue;
      seen.add(workspace);
      const words = await wordsOf(workspace);
      if (words === null) continue;
      const lane = formatSessionKey({ kind: "hook", agent: id, name: "boot" });
      const open = await Promise.all(
        (["claimed", "waiting"] as const).map((state) => inbox.find({ lane, state, limit: 1 })),
      );
      if (open.flat().length > 0) {
        log.info({ agent: id }, "BOOT.md is still being followed since an earlier start");
        continue;
      }
      const { place } = await homeOf(id);
      const nowMs = clock.now();
      await beginOwnSession(sessions, lane, spanMs(config.hooks.sessionRetention) ?? 0, nowMs);
      await inbox.accept([
        scheduleRow({
          id: `boot:${bootId}:${id}`,
          lane,
          place: null,
          job: "boot",
          sender: place === null ? operatorSender : `${place.channel}:${place.peer}`,
          owner: true,
          authority: "owner",
          text: `The gateway has started. Follow BOOT.md below. Your answer here is sent to nobody: to tell somebody something, use the message tool. When there is nothing to do, do nothing.\n\n${words}`,
          turn: "",
          nowMs,
          kind: "hook",
          internal: { slot: { version: 0, instantMs: nowMs, own: true }, run: { label: "BOOT.md" } },
        }),
      ]);
      log.info({ agent: id, workspace }, "BOOT.md is followed");
    }
  };
}
