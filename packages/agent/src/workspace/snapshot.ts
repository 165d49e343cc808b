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
  readonly state: "present" | "missing";
  /** What is injected; empty when missing. */
  readonly text: string;
  /** UTF-16 units in the file before any cut. */
  readonly rawChars: number;
  readonly truncated: boolean;
}

export interface BootstrapSnapshot {
  readonly files: readonly BootstrapFile[];
}
