// Lets a suspect run alone: a turn in which the process died twice must not take others along a third time, and only a death alone
// proves that it is the cause. Everybody else shares.
export interface Solitude {
  /** Runs `work` beside others. */
  together<T>(work: () => Promise<T>): Promise<T>;
  /** Waits until nobody runs, then runs `work` while all others wait. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

export function solitude(): Solitude {
  let sharing = 0;
  let alone = false;
  const waiting: { readonly alone: boolean; readonly go: () => void }[] = [];

  function admit(): void {
    for (let first = waiting[0]; first !== undefined && !alone; first = waiting[0]) {
      if (first.alone && sharing > 0) return;
      waiting.shift();
      if (first.alone) alone = true;
      else sharing += 1;
      first.go();
    }
  }

  function enter(wantsAlone: boolean): Promise<void> {
    return new Promise((go) => {
      waiting.push({ alone: wantsAlone, go });
      admit();
    });
  }

  return {
    async together(work) {
      await enter(false);
      try {
        return await work();
      } finally {
        sharing -= 1;
        admit();
      }
    },
    async alone(work) {
      await enter(true);
      try {
        return await work();
      } finally {
        alone = false;
        admit();
      }
    },
  };
}
