// A clock that cannot be right: without a battery, or before the network is there, machines begin at 1970. Then every certificate is refused
// and every time that is stored is wrong, which nothing else would say.

/** Older than any release of this program. */
const impossibleBeforeMs = Date.UTC(2020, 0, 1);

/** Null where nothing is known to be wrong. */
export function clockTrouble(nowMs: number): string | null {
  if (nowMs >= impossibleBeforeMs) return null;
  const said = new Date(nowMs).toISOString().slice(0, 10);
  return `this machine's clock says ${said}: certificates are refused and every time is wrong. Set it, as with: timedatectl set-ntp true`;
}
