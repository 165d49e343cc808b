// Names the sizes of a prompt and who reads along: both decide which workspace files and sections it takes.

/** `full` answers people, `minimal` is for subagents, `none` is the identity line alone. */
export type PromptMode = "full" | "minimal" | "none";

/** `private`: one person and the agent. `shared`: others read along, so MEMORY.md stays out. */
export type Audience = "private" | "shared";
