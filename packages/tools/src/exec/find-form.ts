// Describes find(1) with the tests and actions that only look and print. It leaves out -exec and its kin,
// -delete, everything that writes or opens a list, and following links.
import type { KnownForm } from "./known-form.ts";

const alone = new Set(
  (
    "( ) ! , -a -and -o -or -not -print -print0 -ls -prune -quit -depth -d -xdev -mount -empty -true -false -readable -writable -executable " +
    "-daystart -noleaf -nouser -nogroup"
  ).split(" "),
);
const withText = new Set(
  (
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -maxdepth -mindepth -size -mtime -mmin -atime -amin " +
    "-ctime -cmin -perm -user -group -uid -gid -links -inum -printf"
  ).split(" "),
);
const withPath = new Set(["-newer", "-anewer", "-cnewer", "-samefile"]);

export function findForm(args: readonly string[]): KnownForm | null {
  const reads: string[] = [];
  let at = args[0] === "-P" ? 1 : 0;
  for (; at < args.length && !/^[-(!,]/.test(args[at] ?? ""); at += 1) reads.push(args[at] ?? "");
  for (; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (alone.has(word)) continue;
    const value = args[at + 1];
    if (value === undefined || !(withText.has(word) || withPath.has(word))) return null;
    if (withPath.has(word)) reads.push(value);
    at += 1;
  }
  return { reads, writes: [] };
}
