// The commands of `parley cron`, as the command line knows them; what they do is beside it.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";
import type { JobFlags } from "./job-flags.ts";

export function addCron(program: Command, { command, terminal, done }: Operations): void {
  const cron = program.command("cron").description("reminders and scheduled jobs");
  command(cron, "list", "show the jobs, the next one first")
    .option("--all", "also what is switched off (they are shown anyway; for scripts)")
    .option("--agent <id>", "only the jobs of this agent")
    .action(async (flags: { agent?: string }) =>
      done(await (await import("./cron.ts")).cronList(await terminal(), flags.agent)),
    );
  command(cron, "get <id>", "show one job, by its id or name").action(async (id: string) =>
    done(await (await import("./cron.ts")).cronGet(await terminal(), id)),
  );
  withJobFlags(command(cron, "add [name]", "make a job: say when, and what is done"))
    .option("--name <name>", "its name, in place of the first word")
    .action(async (name: string | undefined, flags: JobFlags) =>
      done(
        await (
          await import("./cron.ts")
        ).cronAdd(await terminal(), name === undefined ? flags : { ...flags, name }),
      ),
    );
  withJobFlags(command(cron, "edit <id>", "change a job; what is not named stays"))
    .option("--name <name>", "another name")
    .option("--if-version <n>", "only if nobody changed it since that version")
    .action(async (id: string, flags: JobFlags & { ifVersion?: string }) =>
      done(await (await import("./cron.ts")).cronEdit(await terminal(), id, flags)),
    );
  command(cron, "rm <id>", "remove a job and its history").action(async (id: string) =>
    done(await (await import("./cron.ts")).cronRemove(await terminal(), id)),
  );
  command(cron, "run <id>", "run it now, beside its schedule").action(async (id: string) =>
    done(await (await import("./cron.ts")).cronRun(await terminal(), id)),
  );
  command(cron, "runs <id>", "show what became of its instants, the newest first")
    .option("--limit <n>", "how many", "20")
    .action(async (id: string, flags: { limit: string }) =>
      done(await (await import("./cron.ts")).cronRuns(await terminal(), id, flags.limit)),
    );
  command(cron, "status", "show how many jobs there are, what fails, and what comes next").action(async () =>
    done(await (await import("./cron.ts")).cronStatus(await terminal())),
  );
  command(cron, "enable <id>", "let a job run, also one that was paused").action(async (id: string) =>
    done(await (await import("./cron.ts")).cronSwitch(await terminal(), id, true)),
  );
  command(cron, "disable <id>", "stop a job without removing it").action(async (id: string) =>
    done(await (await import("./cron.ts")).cronSwitch(await terminal(), id, false)),
  );
  command(cron, "explain [schedule]", "say what a schedule or a job means: words and its next instants")
    .option("--cron <expression>", "five fields, six with seconds, or @daily")
    .option("--every <span>", 'like "30m" or "1h30m"')
    .option("--at <time>", 'like "2026-12-24T09:00" or "20m"')
    .option("--watch <path>", 'like "notes/*.md"')
    .option("--tz <zone>", 'like "Europe/Berlin"')
    .option("--count <n>", "how many instants", "10")
    .option("--from <time>", "from this instant on, ISO; default: now")
    .action(async (schedule: string | undefined, flags: { [name: string]: string }) =>
      done(await (await import("./cron.ts")).cronExplain(await terminal(), schedule, flags)),
    );
  command(cron, "wake <text...>", "tell the agent something, now or with its next heartbeat")
    .option("--mode <mode>", "now or next-heartbeat", "now")
    .option("--agent <id>", "this agent")
    .option("--session <key>", "in this session; default: where the first owner talks to it")
    .action(async (words: string[], flags: { mode: string; agent?: string; session?: string }) =>
      done(await (await import("./cron.ts")).cronWake(await terminal(), words.join(" "), flags)),
    );
}

function withJobFlags(command: Command): Command {
  return command
    .option("--at <time>", 'once: "2026-12-24T09:00", with "Z" or "+01:00", or "20m" from now')
    .option("--every <span>", 'again and again: "30m", "1h30m", "2d"')
    .option("--cron <expression>", "five fields (minute hour day month weekday), six with seconds, or @daily")
    .option("--tz <zone>", "time zone of --at and --cron, such as Europe/Berlin")
    .option("--watch <path>", 'when files of the workspace change: "inbox", "notes/*.md"')
    .option("--debounce <span>", "with --watch: how long they must be quiet; default 5s")
    .option("--message <text>", "what the agent is to do, in a turn of its own")
    .option("--system-event <text>", "what a session is told, such as a reminder")
    .option("--session <target>", "main, isolated, or session:<key>")
    .option("--agent <id>", "the agent; default: the main one")
    .option("--model <model>", "PROVIDER/MODEL for isolated runs")
    .option("--thinking <level>", "thinking of isolated runs")
    .option("--tools <names>", "the only tools that it may use, with commas")
    .option("--light-context", "without the workspace's files in the prompt")
    .option("--timeout-seconds <n>", "longest time of a run")
    .option("--announce", "tell the answer in a conversation (the default where there is one)")
    .option("--no-deliver", "tell nobody; the answer stays in the session")
    .option("--webhook <url>", "send the answer there by POST")
    .option("--to <conversation>", 'where it is announced: "telegram:123", or as `parley lanes` names it')
    .option("--best-effort-deliver", "run on where nothing can be sent, and call a webhook only once")
    .option("--wake <mode>", "now or next-heartbeat, for a system event")
    .option("--misfire <policy>", "latest, all or none: what runs of what was missed")
    .option("--overlap <policy>", "skip, queue or replace: while a run goes on")
    .option("--catch-up <span>", "how far back is caught up, at most 4d")
    .option("--exact", "without the spread of jobs of every hour")
    .option("--stagger <span>", "spread the instants by a fixed part of this")
    .option("--max-runs <n>", "end after so many runs, 1 or more; default: never")
    .option("--delete-after-run", "remove the job once it has run")
    .option("--keep-after-run", "keep a job of one run")
    .option("--max-tokens-per-day <n>", "tokens that its runs may use within a day")
    .option("--disabled", "make it switched off");
}
