// Registers the service worker that shows messages while no page is open.

/** Null where the browser has none: the page then works while it is open. */
export async function registered(): Promise<ServiceWorkerRegistration | null> {
  if (!("serviceWorker" in navigator)) return null;
  try {
    const { default: workerUrl } = await import("./device-worker.ts?worker&url");
    // The page's policy lets no other address through, and no other name for it.
    const policy = trusted()?.createPolicy("parley-worker", { createScriptURL: () => workerUrl });
    const url = policy?.createScriptURL("") ?? workerUrl;
    await navigator.serviceWorker.register(url as string, {
      scope: new URL("./device", location.href).pathname,
    });
    return await navigator.serviceWorker.ready;
  } catch {
    // Without it the page works while it is open.
    return null;
  }
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { readonly createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): unknown };
}

function trusted(): TrustedTypes | undefined {
  return (globalThis as { readonly trustedTypes?: TrustedTypes }).trustedTypes;
}
