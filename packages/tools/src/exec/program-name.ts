// Knows the folders of the system's programs. A name means a program only there: one of the same name
// elsewhere may be anything.

const systemFolders = [
  "/usr/local/bin",
  "/usr/bin",
  "/bin",
  "/usr/local/sbin",
  "/usr/sbin",
  "/sbin",
  "/opt/homebrew/bin",
];

/** The name of a program of the system, from its absolute path; null for any other. */
export function programName(program: string): string | null {
  const at = program.lastIndexOf("/");
  return systemFolders.includes(program.slice(0, at)) ? program.slice(at + 1) : null;
}
