// The workspace files as one turn sees them: names, sizes and the text that goes into the prompt.

/** In the order of Project Context. */
export const bootstrapNames = [
  "AGENTS.md",
  "SOUL.md",
  "TOOLS.md",
  "IDENTITY.md",
  "USER.md",
  "HEARTBEAT.md",
  "MEMORY.md",
  "BOOTSTRAP.md",
] as const;
export type BootstrapName = (typeof bootstrapNames)[number];

export interface BootstrapFile {
  readonly name: BootstrapName;
  readonly path: string;
  /** `refused`: there is something of that name which may not be read. */
  readonly state: "present" | "missing" | "refused";
  /** What is injected; of a refused file the reason, of a missing one nothing. */
  readonly text: string;
  /** UTF-16 units in the file before any cut. */
  readonly rawChars: number;
  readonly truncated: boolean;
  /** For operators: why it is refused, or who wrote it when that was not an owner. */
  readonly note?: string;
}

export interface BootstrapSnapshot {
  readonly files: readonly BootstrapFile[];
}
