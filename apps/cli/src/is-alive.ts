// Whether there is a process of this number, whoever's it is.

export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process is there, too.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
