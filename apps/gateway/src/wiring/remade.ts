// Keeps a thing that is made of settings: made at its first use, and anew when the settings are others
// or when it could not be made.

/** Makes a thing of settings at its first use, and anew when they are others; the old one is ended. */
export function remade<Settings, Made>(
  make: (settings: Settings) => Promise<Made>,
  end: (made: Made) => unknown,
): ((settings: Settings) => Promise<Made>) & { readonly close: () => Promise<void> } {
  let now: { readonly as: string; readonly made: Promise<Made> } | null = null;
  const close = async (): Promise<void> => {
    const was = now;
    now = null;
    if (was === null) return;
    // What was not made needs no end.
    const made = await was.made.catch(() => null);
    if (made !== null) await end(made);
  };
  const of = (settings: Settings): Promise<Made> => {
    const as = JSON.stringify(settings);
    if (now?.as === as) return now.made;
    // Calls under way fail, since their settings do not hold any more.
    void close().catch(() => {});
    const made = make(settings);
    const current = { as, made };
    now = current;
    // A port may be taken for a moment: the next call tries again.
    made.catch(() => {
      if (now === current) now = null;
    });
    return made;
  };
  return Object.assign(of, { close });
}
