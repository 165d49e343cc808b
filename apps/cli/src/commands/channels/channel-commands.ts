// The commands of `parley channels`, as the command line knows them.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";

export function addChannels(program: Command, { command, terminal, done }: Operations): void {
  const channels = program.command("channels").description("the accounts where people reach the agents");
  const ofAccount = "--account <account>";
  command(channels, "list", "show how each does").action(async () =>
    done(await (await import("./channels.ts")).channelsList(await terminal())),
  );
  command(channels, "places", "show where people wrote to an agent, the newest first")
    .option(ofAccount, "only through this one, as telegram:default")
    .action(async (flags: object) =>
      done(await (await import("./channels.ts")).channelsPlaces(await terminal(), flags)),
    );
  command(
    channels,
    "test <to> [text...]",
    "send a test message to telegram:ID, discord:channel:ID, discord:user:ID or a place that `places` shows",
  )
    .option(ofAccount, "through this one, as telegram:work")
    .option("--timeout <seconds>", "how long to wait for what becomes of it", "30")
    .option("--no-wait", "only hand it to the outbox")
    .action(async (to: string, words: string[], flags: object) =>
      done(await (await import("./channels.ts")).channelsTest(await terminal(), to, words.join(" "), flags)),
    );
}
