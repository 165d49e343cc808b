// Serves replays to the operator: of a stored turn or of one that was saved, with this gateway's config or
// another file's.
import type { Config } from "@parley/config";
import { Fault, type MethodParams, type MethodResult, type SavedTurn } from "@parley/protocol";
import { savedTurn } from "@parley/protocol";
import { absolute } from "./backup.ts";
import { recordedTurn } from "../replay/recorded-turn.ts";
import { replayTurn } from "../replay/replay-turn.ts";
import type { StorePorts } from "./ports.ts";

export function replayMethods(
  ports: Pick<
    StorePorts,
    "store" | "prompts" | "turnPreparer" | "modelCatalog" | "worldOf" | "clock" | "log"
  > & { readonly config: Config },
) {
  return {
    async "turns.replay"({
      id,
      saved: given,
      model,
      config: file,
      ask = true,
      save = false,
    }: MethodParams<"turns.replay">): Promise<MethodResult<"turns.replay">> {
      if ((id === undefined) === (given === undefined))
        throw new Fault("invalid", "name a turn or a session, or hand over one that was saved");
      const saved: SavedTurn =
        given === undefined ? await recordedTurn(ports, id ?? "") : savedTurn.parse(given);
      const world = file === undefined ? ports : await ports.worldOf(absolute(file));
      const replayed = await replayTurn(saved, world, { model, ask: ask && !save }, ports);
      return save ? { ...replayed, saved } : replayed;
    },
  };
}
