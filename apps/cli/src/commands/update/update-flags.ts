// `parley update` is told by these flags what to look for and what it may do.
export interface UpdateFlags {
  readonly check?: boolean;
  readonly to?: string;
  readonly from?: string;
  readonly watch?: string;
  readonly restoreBackup?: boolean;
  readonly askedBy?: string;
  readonly resume?: boolean;
  readonly atStart?: string;
}
