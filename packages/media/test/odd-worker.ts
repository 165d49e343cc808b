// A process that answers tasks as a test says: late, oddly, never, or by dying.
process.on("disconnect", () => process.exit());
process.on("message", ({ does }: { readonly does: string }) => {
  if (does === "nothing") return;
  process.send?.({ ready: true });
  if (does === "dies") process.exit(3);
  if (does.startsWith("says ")) process.send?.({ said: does.slice(5), pid: process.pid });
});
