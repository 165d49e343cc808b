// Notices a clock that cannot be right: a machine without a battery begins at 1970 until the network tells
// the time. Every certificate is refused meanwhile and every stored time is wrong, and nothing else would say
// why.

/** Older than any release of this program. */
const impossibleBeforeMs = Date.UTC(2020, 0, 1);

/** Null where nothing is known to be wrong. */
export function clockTrouble(nowMs: number): string | null {
  if (nowMs >= impossibleBeforeMs) return null;
  const said = new Date(nowMs).toISOString().slice(0, 10);
  return `this machine's clock says ${said}: certificates are refused and every time is wrong. Set it, as with: timedatectl set-ntp true`;
}
