// Names the file in which an import keeps a secret that stood in the source.

/**
 * Under the state folder. Two keys of the config whose names differ in signs alone have a file each; `taken`
 * is what the files hold so far.
 */
export function secretFileName(key: string, secret: string, taken: ReadonlyMap<string, string>): string {
  const plain = `secrets/${key.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/-+$/, "")}`;
  let name = plain;
  for (let nth = 2; (taken.get(name) ?? secret) !== secret; nth += 1) name = `${plain}-${nth}`;
  return name;
}
