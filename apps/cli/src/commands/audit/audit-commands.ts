// `parley audit`, as the command line knows it.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";

export function addAudit(program: Command, { command, terminal, done }: Operations): void {
  command(program, "audit", "show who asked the gateway for what, by which token")
    .option("--since <time>", "since then: 2h, 7d, or a date")
    .option("--method <words>", "only methods with this in their name, as config")
    .option("--by <who>", "only of this one: gateway-token, once, device:ID")
    .option("-n, --lines <n>", "so many of the last ones", "50")
    .option("--export <file>", "write all of them to a new file, one JSON object a line")
    .action(async (flags: object) =>
      done(await (await import("./audit-list.ts")).auditList(await terminal(), flags)),
    );
}
