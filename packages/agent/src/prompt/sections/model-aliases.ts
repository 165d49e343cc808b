// Short names for models, so that "use the fast one" can be done.
import { plainLine } from "../../plain-line.ts";
import type { StableSection } from "../section.ts";

const nameChars = 120;

export const modelAliases: StableSection = {
  id: "model_aliases",
  title: "Model Aliases",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 20,
  render: ({ modelAliases: list }) =>
    list.length === 0
      ? null
      : [
          "Prefer aliases when a model is to be changed; the full provider/model works too.",
          ...list.map(
            ({ alias, model }) => `- ${plainLine(alias, nameChars)}: ${plainLine(model, nameChars)}`,
          ),
        ].join("\n"),
  why: ({ modelAliases: list }) =>
    list.length === 0 ? "no aliases are configured" : `${list.length} aliases are configured`,
};
