// `parley replay` and `parley eval`, as the command line knows them; what they do is beside this file.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";

export function addReplay(program: Command, { command, terminal, done }: Operations): void {
  command(
    program,
    "replay <turn-or-session>",
    "run a past turn again with what holds now: nothing is sent or stored, the model is asked",
  )
    .option("--model <name>", "ask this model instead")
    .option("--config <file>", "with another config file")
    .option("--no-ask", "compare the prompt alone, and ask no model")
    .option("--save <file>", "write the turn to a file for `parley eval` instead")
    .action(async (id: string, flags: object) =>
      done(await (await import("./replay-turn.ts")).replayTurn(await terminal(), id, flags)),
    );
  command(
    program,
    "eval <folder>",
    "run the turns again that stand in a folder; exit code 1 where one does other than it should",
  )
    .option("--model <name>", "ask this model instead")
    .option("--config <file>", "with another config file")
    .action(async (folder: string, flags: object) =>
      done(await (await import("./eval-turns.ts")).evalTurns(await terminal(), folder, flags)),
    );
}
