// Tracks which devices are connected, so that revoking one, or making its token anew, ends its sockets and
// running answers. A device that is revoked during its login is refused, and so is one with an older token.

/** Ends a connection, which may be told why. */
type Leave = (why?: string) => void;

export interface Clients {
  /**
   * `leave` ends the connection. Returns the function that signs off; null for a device that was revoked
   * meanwhile, or whose token was made anew since `rotation`. `tell` sends a frame.
   */
  join(
    device: string,
    leave: Leave,
    by?: { readonly rotation: number; readonly tell?: (frame: string) => void },
  ): (() => void) | null;
  count(device: string): number;
  /** Ends all connections of the device and refuses later ones. Returns how many there were. */
  close(device: string): number;
  /**
   * Ends all connections but `spared` that came by a token before this rotation, and refuses later ones. A
   * `frame` is told first where there is exactly one, so that nobody else who has the token hears it.
   */
  rotated(
    device: string,
    rotation: number,
    spared?: Leave,
    frame?: string,
  ): { readonly closed: number; readonly isTold: boolean };
}

interface Connected {
  readonly leave: Leave;
  readonly rotation: number;
  readonly tell?: (frame: string) => void;
}

/** Only devices that were about to join matter. */
const mostRevoked = 1_000;

export function connectedClients(): Clients {
  const open = new Map<string, Set<Connected>>();
  /** The least rotation that may join. */
  const least = new Map<string, number>();

  function demand(device: string, rotation: number): void {
    least.delete(device);
    least.set(device, rotation);
    if (least.size > mostRevoked) least.delete(least.keys().next().value ?? "");
  }

  return {
    join(device, leave, by = { rotation: 0 }) {
      if (by.rotation < (least.get(device) ?? 0)) return null;
      const own = open.get(device) ?? new Set();
      const one = { ...by, leave };
      open.set(device, own.add(one));
      return () => {
        own.delete(one);
        if (own.size === 0 && open.get(device) === own) open.delete(device);
      };
    },
    count: (device) => open.get(device)?.size ?? 0,
    close(device) {
      demand(device, Infinity);
      const own = [...(open.get(device) ?? [])];
      for (const { leave } of own) leave();
      return own.length;
    },
    rotated(device, rotation, spared, frame) {
      demand(device, rotation);
      const older = [...(open.get(device) ?? [])].filter((one) => one.rotation < rotation);
      const [only, ...others] = older;
      const isTold = frame !== undefined && only?.tell !== undefined && others.length === 0;
      if (isTold) only.tell?.(frame);
      const ended = older.filter(({ leave }) => leave !== spared);
      for (const one of ended) {
        // Its socket may take a while to close, and counts no more.
        open.get(device)?.delete(one);
        one.leave("this device's token was made anew");
      }
      return { closed: ended.length, isTold };
    },
  };
}
