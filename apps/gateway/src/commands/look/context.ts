// Implements /context: reports the parts of the current prompt by size and reason, never their text. Only the
// operator sees paths and contents (I8).
import { diff, type PromptDiff, type PromptExplanation } from "@parley/agent";
import type { PastLaneCommand } from "../chat-command.ts";

const usage = "Usage: /context list (sizes), or /context detail (every section with its reason, every tool).";

export const context: PastLaneCommand = {
  name: "context",
  summary: "what my prompt is made of: list or detail",
  place: "past-lane",
  onlyTells: true,
  async run(
    { args, inbound: { address, guild, parent }, route: { agent, session: key } },
    { store: { sessions }, turnPreparer, prompts },
  ) {
    const wanted = args.trim().toLowerCase() || "list";
    if (wanted !== "list" && wanted !== "detail") return usage;
    const session = await sessions.open(key);
    const place = {
      address,
      ...(guild === undefined ? {} : { guild }),
      ...(parent === undefined ? {} : { parent }),
    };
    const { explanation, facts } = await turnPreparer.prompt({ agent, session, place });
    const last = prompts.last(session);
    const before = last === null ? null : await prompts.explanation(last);
    return [
      ...summary(explanation),
      ...files(explanation),
      ...(wanted === "detail"
        ? [...sections(explanation), ...tools(explanation)]
        : [`Sections: ${counted(explanation)}`]),
      ...skills(facts.stable.skills.length),
      before === null ? "Moved: nothing to compare with yet" : moved(diff(before, explanation)),
      ...(wanted === "list" ? ["More: /context detail"] : []),
    ].join("\n");
  },
};

function summary({
  mode,
  chars,
  tokens,
  stableTokens,
  volatileTokens,
  boundary,
  tools: schemas,
  estimator,
}: PromptExplanation): string[] {
  const schemaTokens = schemas.reduce((sum, tool) => sum + tool.tokens, 0);
  const schemaChars = schemas.reduce((sum, tool) => sum + tool.chars, 0);
  return [
    `Prompt: ${mode}, ${count(chars)} characters, about ${count(tokens)} tokens (${estimator})`,
    `Stable: about ${count(stableTokens)} tokens, up to the cache boundary at character ${count(boundary)}; volatile: ${count(volatileTokens)}`,
    `Tools: ${schemas.length}, their schemas are ${count(schemaChars)} characters, about ${count(schemaTokens)} tokens`,
  ];
}

function files({ files: list }: PromptExplanation): string[] {
  if (list.length === 0) return ["Workspace files: none"];
  return [
    "Workspace files, raw → injected characters:",
    ...list.map(({ name, state, rawChars, injectedChars, truncated, note }) =>
      state === "present"
        ? `- ${name}: ${count(rawChars)} → ${count(injectedChars)}${truncated ? " (cut)" : ""}${note === undefined ? "" : ` (not confirmed by an owner)`}`
        : `- ${name}: ${state === "missing" ? "missing" : "may not be read"}`,
    ),
  ];
}

function sections({ sections: list, truncations }: PromptExplanation): string[] {
  const of = (zone: "stable" | "volatile"): string[] =>
    list
      .filter((section) => section.zone === zone)
      .map(({ id, tokens, hash, included, reason }) =>
        included
          ? `- ${id}: ${count(tokens)} tokens, \`${hash.slice(0, 8)}\` (${reason})`
          : `- ~~${id}~~: out (${reason})`,
      );
  const cuts = truncations.map(
    (cut) => `- ${cut.section}: ${cut.how}, ${count(cut.keptChars)} of ${count(cut.rawChars)} characters`,
  );
  return [
    "Stable sections:",
    ...of("stable"),
    "Volatile sections, after the cache boundary:",
    ...of("volatile"),
    ...(cuts.length === 0 ? [] : ["Cuts:", ...cuts]),
  ];
}

function tools({ tools: list }: PromptExplanation): string[] {
  return list.length === 0
    ? []
    : [
        "Tool schemas:",
        ...list.map(
          ({ name, chars, tokens }) => `- ${name}: ${count(chars)} characters, about ${count(tokens)} tokens`,
        ),
      ];
}

function counted({ sections: list }: PromptExplanation): string {
  const included = list.filter((section) => section.included).length;
  return `${included} in, ${list.length - included} out`;
}

function skills(many: number): string[] {
  return many === 0 ? [] : [`Skills listed: ${many}`];
}

function moved({ moves, files: names, tools: schemas, stableMoved }: PromptDiff): string {
  if (moves.length === 0 && schemas.length === 0) return "Moved since the last turn: nothing";
  const what = [
    ...moves.map(({ id, change }) => `${id} ${change}`),
    ...(schemas.length === 0 ? [] : [`schemas of ${schemas.join(", ")}`]),
  ];
  const because = names.length === 0 ? "" : ` (${names.join(", ")})`;
  const cost =
    stableMoved || schemas.length > 0 ? "; the cached prefix is lost" : "; the cached prefix holds";
  return `Moved since the last turn: ${what.join(", ")}${because}${cost}`;
}

function count(n: number): string {
  return n.toLocaleString("en-US");
}
