// Tells what a skill or a hook needs of this machine, and what of it is there.
import type { MethodResult } from "@parley/protocol";
import type { Style } from "./console.ts";

export type Styling = (style: Style, text: string) => string;

type Needing = Pick<MethodResult<"skills.info">, "always" | "requirements">;

const kinds = {
  os: "system",
  bin: "program",
  anyBins: "one program of",
  env: "variable",
  config: "config",
} as const;

export function requirementLines({ always, requirements }: Needing, style: Styling): readonly string[] {
  return [
    ...(always && requirements.length > 0 ? ["Needs     nothing: it is marked always"] : []),
    ...requirements.map(
      ({ kind, what, satisfied }) =>
        `Needs     ${kinds[kind]} ${what}  ${satisfied ? style("green", "there") : style("yellow", "missing")}`,
    ),
  ];
}
