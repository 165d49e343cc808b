// The commands of `parley devices` and `parley node`, as the command line knows them.
import type { Command } from "commander";
import { several } from "../../several.ts";
import type { Operations } from "../../operations.ts";

export function addDevices(program: Command, { command, terminal, done }: Operations): void {
  const devices = program
    .command("devices")
    .description("who may use the control plane beside the gateway's own token");
  command(devices, "list", "show them").action(async () =>
    done(await (await import("./devices.ts")).devicesList(await terminal())),
  );
  command(devices, "mint <name>", "make a token, shown this once")
    .option("--scopes <list>", "read, write, approve, admin, with commas between", "read")
    .action(async (name: string, flags: { scopes?: string }) =>
      done(await (await import("./devices.ts")).devicesMint(await terminal(), name, flags)),
    );
  command(devices, "revoke <id>", "make its token worthless and close what it has open")
    .option("--grant <list>", "take back only these grants of a paired device, with commas between")
    .action(async (id: string, flags: { grant?: string }) =>
      done(await (await import("./devices.ts")).devicesRevoke(await terminal(), id, flags)),
    );
  command(devices, "rotate <id>", "make its token anew: the old one is worthless, all else of it stays")
    .option("--by-hand", "tell a paired device nothing over its connection: its token may be in other hands")
    .action(async (id: string, flags: { byHand?: boolean }) =>
      done(await (await import("./devices.ts")).devicesRotate(await terminal(), id, flags)),
    );
  command(devices, "unlock", "answer whoever showed wrong tokens before at full speed again").action(
    async () => done(await (await import("./devices.ts")).devicesUnlock(await terminal())),
  );
  command(
    devices,
    "pair",
    "make a code that pairs one computer or phone for agents to use, within ten minutes",
  )
    .requiredOption("--name <name>", "what it is called")
    .option(
      "--grant <list>",
      "notify, camera, microphone, location, clipboard, share of a browser; notify, run, files, screenshot of a computer",
      "notify",
    )
    .action(async (flags: { name: string; grant: string }) =>
      done(await (await import("./devices.ts")).devicesPair(await terminal(), flags)),
    );
  command(devices, "link", "print an address for a browser that works once, for ten minutes").action(
    async () => done(await (await import("./devices.ts")).devicesLink(await terminal())),
  );

  const node = program.command("node").description("this computer as a device that agents may use");
  command(node, "run", "connect to a gateway and do what it asks, as far as it is offered here")
    .option("--url <url>", "the gateway's address; without it, the one that it was paired with")
    .option("--code <code>", "of `parley devices pair`, the first time")
    .option("--allow <command>", 'a command that may run, as "git *"; may be repeated', several)
    .option("--folder <path>", "the folder whose files may be read and written")
    .option("--screenshot", "let it take pictures of the screen")
    .option("--state <path>", "where it keeps its token and what it did; without it, in the state folder")
    .action(async (flags: object) =>
      done(await (await import("./node.ts")).nodeRun(await terminal(), flags)),
    );
}
