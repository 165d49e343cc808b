// The commands that show what an agent is told, what it may do and what it cost, and decide what waits for a
// person, as the command line knows them.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";

export function addAgentViews(program: Command, { command, terminal, done }: Operations): void {
  const prompt = program
    .command("prompt")
    .description("what the agent is told: its system prompt, section by section");
  const promptCommand = (usage: string, description: string): Command =>
    command(prompt, usage, description)
      .option("--session <key>", "the session; without it, the one that last changed")
      .option(
        "--turn <n>",
        'one of its turns by number, "last", or -2 for the one before; without it, what the next turn would get',
      );
  promptCommand("show", "print the text").action(async (choice: { session?: string; turn?: string }) => {
    done(await (await import("./prompt.ts")).promptShow(await terminal(), choice));
  });
  promptCommand(
    "explain",
    "every section in or out, why, its zone and size; files, tools, and what moved",
  ).action(async (choice: { session?: string; turn?: string }) => {
    done(await (await import("./prompt.ts")).promptExplain(await terminal(), choice));
  });
  promptCommand("diff", "what moved: from the last turn to now; with --turn, from the turn before it to it")
    .option("--with <session>", "compare with another session instead")
    .action(async (choice: { session?: string; turn?: string; with?: string }) => {
      done(await (await import("./prompt.ts")).promptDiff(await terminal(), choice));
    });
  const models = program.command("models").description("the language models");
  command(models, "list", "show them: what they can do, what they cost, who uses them").action(async () => {
    done(await (await import("./models.ts")).modelsList(await terminal()));
  });
  command(models, "test [id]", "make one small real call: latency, first token, tool calling").action(
    async (id: string | undefined) => {
      done(await (await import("./models.ts")).modelsTest(await terminal(), id));
    },
  );
  command(program, "usage", "show what was used and what it cost")
    .option("--by <what>", "session, agent, channel, person, model or day", "agent")
    .option("--days <n>", "the last days, today included", "30")
    .action(async (choice: { by?: string; days?: string }) => {
      done(await (await import("./usage.ts")).usage(await terminal(), choice));
    });
  const approvals = program.command("approvals").description("commands that wait for a person's decision");
  command(approvals, "list", "show what waits, and what was allowed for good")
    .option("--all", "also what was decided")
    .action(async ({ all }: { all?: boolean }) => {
      done(await (await import("../approvals.ts")).approvalsList(await terminal(), all === true));
    });
  command(approvals, "resolve <id> <decision>", "decide: once, always or deny").action(
    async (id: string, decision: string) => {
      done(await (await import("../approvals.ts")).approvalsResolve(await terminal(), id, decision));
    },
  );
  command(approvals, "revoke <id>", "take back what was allowed for good").action(async (id: string) => {
    done(await (await import("../approvals.ts")).approvalsRevoke(await terminal(), id));
  });
  command(program, "questions", "show the questions that agents asked and that wait for an answer")
    .option("--all", "also those that have ended")
    .action(async ({ all }: { all?: boolean }) => {
      done(await (await import("../questions.ts")).questionsList(await terminal(), all === true));
    });
  const canvas = program.command("canvas").description("the pages that agents show");
  command(canvas, "list", "show them, the one that changed last first").action(async () => {
    done(await (await import("../canvas.ts")).canvasList(await terminal()));
  });
  command(canvas, "link <session>", "print a link that works once, to look at one").action(
    async (key: string) => {
      done(await (await import("../canvas.ts")).canvasLink(await terminal(), key));
    },
  );
  const tools = program.command("tools").description("what the agent can do");
  const toolsCommand = (name: string, description: string): Command =>
    command(tools, name, description).option(
      "--session <key>",
      "the session; without it, the one that last changed",
    );
  toolsCommand("list", "show them: ready, taken away, not to be had").action(
    async ({ session }: { session?: string }) => {
      done(
        await (
          await import("./tools.ts")
        ).toolsList(await terminal(), { session, explain: false, only: undefined }),
      );
    },
  );
  toolsCommand("explain [tool]", "the same of all or of one, with every reason, group and profile").action(
    async (only: string | undefined, { session }: { session?: string }) => {
      done(await (await import("./tools.ts")).toolsList(await terminal(), { session, explain: true, only }));
    },
  );
  command(tools, "hold", "end what tools do and hold them all, as /estop does").action(async () => {
    done(await (await import("./tools-hold.ts")).toolsHold(await terminal()));
  });
  command(tools, "resume", "let tools go on after /estop").action(async () => {
    done(await (await import("./tools-hold.ts")).toolsResume(await terminal()));
  });
}
