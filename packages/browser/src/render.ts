// Looks at a page of the agent's own in a Chromium that has no network: the page is all there is. Started for
// one look and ended after it, so nothing is left of it.
import { Fault, type Clock } from "@parley/protocol";
import { drawnPage, type Rendered, type Rendering } from "./drawn-page.ts";
import { startAlone, type Launch } from "./launch.ts";

const reasonChars = 300;

/** Throws Fault. */
export async function renderPage(
  options: Launch & { readonly clock: Clock },
  rendering: Rendering,
  signal: AbortSignal,
): Promise<Rendered> {
  const { browser, end } = await startAlone(options);
  const stop = (): void => void end().catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) throw new Fault("aborted", "the call was stopped");
    return await drawnPage(browser, rendering, options.clock);
  } catch (error) {
    if (signal.aborted) throw new Fault("aborted", "the call was stopped", { cause: error });
    if (error instanceof Fault) throw error;
    const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new Fault("invalid", `the page failed: ${first.slice(0, reasonChars)}`, { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
    await end().catch(() => {});
  }
}
