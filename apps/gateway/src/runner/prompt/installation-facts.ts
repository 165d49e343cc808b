// What every prompt of this installation says alike: where docs and command line are, the shell, the key behind the codes of owner ids.
import { join } from "node:path";
import type { Config } from "@parley/config";
import type { Ids } from "@parley/protocol";
import { gatewayTokenIn } from "../../control/gateway-token.ts";
import { commandLine, documentation, templatesFolder } from "../../installation.ts";
import type { House } from "./prompt-facts.ts";

/** Without a configured key one is made and kept: another key would change the codes, and with them the stable prompt (I12). */
export async function houseOf({ commands }: Config, home: string, shell: string | undefined, ids: Ids): Promise<House> {
  const base: House = { docs: documentation(), cli: commandLine(), templates: templatesFolder, shell };
  if (commands.ownerDisplay === "raw") return base;
  return { ...base, ownerKey: commands.ownerDisplaySecret?.reveal() ?? (await gatewayTokenIn(join(home, "owner-display-key"), ids)) };
}
