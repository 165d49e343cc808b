// Tracks which devices are connected, so that revoking one ends its sockets and running answers. A device
// that is revoked during its login is refused.

export interface Clients {
  /**
   * `leave` ends the connection. Returns the function that signs off; null for a device that was revoked
   * meanwhile.
   */
  join(device: string, leave: () => void): (() => void) | null;
  count(device: string): number;
  /** Ends all connections of the device and refuses later ones. Returns how many there were. */
  close(device: string): number;
}

/** Only devices that were about to join matter. */
const mostRevoked = 1_000;

export function connectedClients(): Clients {
  const open = new Map<string, Set<() => void>>();
  const revoked = new Set<string>();

  return {
    join(device, leave) {
      if (revoked.has(device)) return null;
      const own = open.get(device) ?? new Set();
      open.set(device, own.add(leave));
      return () => {
        own.delete(leave);
        if (own.size === 0 && open.get(device) === own) open.delete(device);
      };
    },
    count: (device) => open.get(device)?.size ?? 0,
    close(device) {
      revoked.add(device);
      if (revoked.size > mostRevoked) revoked.delete(revoked.values().next().value ?? "");
      const own = [...(open.get(device) ?? [])];
      for (const leave of own) leave();
      return own.length;
    },
  };
}
