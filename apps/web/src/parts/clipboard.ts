// Copies text for a person. Browsers have their clipboard only on this machine or over https; a page in a LAN
// over http copies out of a field, as pages did before.

/** False where the browser or the person forbids it. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard === undefined) return copyFromField(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copyFromField(text),
  );
}

function copyFromField(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.className = "sr-only";
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  // Focus stays where the person was.
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return isCopied;
}
