// Which devices are connected now, so that revoking one ends what it has open: sockets and answers that still run. A device that was revoked
// while it logged in finds the door closed.

export interface Clients {
  /** `leave` ends the connection. Returns how to sign off; null for a device that was revoked meanwhile. */
  join(device: string, leave: () => void): (() => void) | null;
  count(device: string): number;
  /** Ends all of its connections, and every later one. Returns how many there were. */
  close(device: string): number;
}

/** Only those matter that were just about to join. */
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
