// Limits the size of a skill that is installed, whatever its archive claims.

export const installLimits = {
  /** Of the archive itself. */
  archiveBytes: 32 * 1024 * 1024,
  files: 1_000,
  fileBytes: 16 * 1024 * 1024,
  totalBytes: 64 * 1024 * 1024,
  pathChars: 240,
  depth: 12,
} as const;
