// Describes a file that an action runs, as it was when the action was resolved.

export interface BoundFile {
  /** Below the workspace. */
  readonly path: string;
  /** Hex. */
  readonly sha256: string;
}
