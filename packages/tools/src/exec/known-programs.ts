// Lists the programs that Parley vouches for, with their arguments: they start no other program, load no
// code, and touch no file but those they name. Any program or option that is not listed here may start
// others. Sources: GNU's manual pages, checked against BSD's.
import { findForm } from "./find-form.ts";
import { gitForm } from "./git-form.ts";
import { readForm, type Grammar, type KnownForm } from "./known-form.ts";
import { programName } from "./program-name.ts";

const any = Number.POSITIVE_INFINITY;
const hashes: Grammar = { short: "btz", long: "binary text tag zero", paths: any };
const said: Grammar = { raw: true };
const search: Grammar = {
  // Not -f and --file: they open a list. Not -R: it follows links. Not -z: elsewhere it unpacks.
  short: "abcEFGhHiIlLnoPqrsUvwxyA#B#C#m#e:",
  long:
    "extended-regexp fixed-strings basic-regexp perl-regexp regexp= ignore-case no-ignore-case invert-match word-regexp line-regexp count " +
    "color[=] colour[=] files-without-match files-with-matches max-count=# only-matching quiet silent no-messages byte-offset with-filename " +
    "no-filename label= line-number initial-tab null after-context=# before-context=# context=# text binary-files= exclude= exclude-dir= " +
    "include= recursive line-buffered",
  text: 1,
  textBy: ["e", "regexp"],
  paths: any,
};

/** Filters: with no path among their words they only read their input. */
const filters: { readonly [program: string]: Grammar } = {
  cut: {
    short: "b:c:d:f:nsz",
    long: "bytes= characters= fields= delimiter= output-delimiter= complement only-delimited zero-terminated",
    paths: any,
  },
  // A second path would be written.
  uniq: {
    short: "cdDiuzf#s#w#",
    long: "count repeated unique ignore-case zero-terminated skip-fields=# skip-chars=# check-chars=#",
    paths: 1,
  },
  head: {
    short: "qvzn#c#",
    long: "quiet silent verbose zero-terminated lines=# bytes=#",
    digits: true,
    paths: any,
  },
  // Not -f and --follow: they would wait for ever.
  tail: {
    short: "qvzn#c#",
    long: "quiet silent verbose zero-terminated lines=# bytes=#",
    digits: true,
    paths: any,
  },
  tr: { short: "cCdst", long: "complement delete squeeze-repeats truncate-set1", text: 2 },
  // Not --files0-from: it opens a list of files.
  wc: { short: "cmlLw", long: "bytes chars lines words max-line-length", paths: any },
};

/** They read. Their name alone may stand in an allowlist. */
const readers: { readonly [program: string]: Grammar } = {
  arch: {},
  b2sum: hashes,
  base64: { short: "dw#", long: "decode wrap=#", paths: 1 },
  basename: { short: "azs:", long: "multiple zero suffix=", text: any },
  cat: {
    short: "AbeEnstTuv",
    long: "show-all number number-nonblank show-ends show-tabs show-nonprinting squeeze-blank",
    paths: any,
  },
  cksum: { paths: any },
  cmp: { short: "blsn#", long: "print-bytes verbose quiet silent bytes=#", paths: 2 },
  comm: {
    short: "123z",
    long: "check-order nocheck-order output-delimiter= total zero-terminated",
    paths: 2,
  },
  // Not -s and --set, nor an operand without "+": they set the clock.
  date: {
    short: "uRI?",
    long: "date= utc universal iso-8601[=] rfc-3339= rfc-email",
    text: 1,
    textForm: /^\+/,
  },
  df: {
    short: "ahHikmPT",
    long: "all human-readable si inodes local portability print-type total",
    paths: any,
  },
  // Not -l: it starts pr. Not -r: it follows links.
  diff: {
    short: "aBbcdEeiNnqstTuwyU#C#W#",
    long:
      "brief unified[=] context[=] side-by-side normal ignore-case ignore-all-space ignore-space-change ignore-blank-lines " +
      "ignore-trailing-space new-file text minimal report-identical-files color[=] label= width=# suppress-common-lines strip-trailing-cr",
    paths: 2,
    filesOnly: true,
  },
  dirname: { short: "z", long: "zero", text: any },
  du: {
    short: "abchkmsSx0d#",
    long: "all apparent-size bytes total human-readable si max-depth=# summarize separate-dirs one-file-system exclude= null",
    paths: any,
  },
  echo: said,
  egrep: search,
  false: said,
  fgrep: search,
  // Not -f, -m, -C, -z: they open lists, load and write tables, start unpackers.
  file: { short: "bik", long: "brief mime mime-type mime-encoding keep-going", paths: any },
  fold: { short: "bsw#", long: "bytes spaces width=#", paths: any },
  grep: search,
  groups: { text: any },
  hexdump: { short: "bCcdoxvn#s#", paths: any },
  // An operand would set it.
  hostname: { short: "fsiI", long: "fqdn long short ip-address all-ip-addresses" },
  id: { short: "agGnruz", long: "group groups name real user zero", text: any },
  logname: {},
  ls: {
    short: "aAbBcCdfFgGhiklmnopqQrRsStuUvxXZ1",
    long:
      "all almost-all author escape ignore-backups color[=] directory classify[=] file-type format= full-time group-directories-first no-group " +
      "human-readable si hide= indicator-style= inode ignore= kibibytes literal numeric-uid-gid quote-name quoting-style= reverse recursive " +
      "size sort= time= time-style= width=# zero",
    paths: any,
  },
  md5sum: hashes,
  nl: { short: "pb:f:h:i#l#n:s:v#w#", paths: any },
  nproc: { long: "all ignore=#" },
  od: {
    short: "abcdfilosvxA:j#N#t:",
    long: "address-radix= format= skip-bytes=# read-bytes=# output-duplicates",
    paths: any,
  },
  paste: { short: "szd:", long: "serial delimiters= zero-terminated", paths: any },
  // Not -v: a shell's own printf would set a variable.
  printf: { text: any },
  pwd: { short: "LP", long: "logical physical" },
  readlink: {
    short: "efmnqsvz",
    long: "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero",
    paths: any,
  },
  realpath: {
    short: "emqsz",
    long: "canonicalize-existing canonicalize-missing quiet strip no-symlinks zero",
    paths: any,
  },
  rev: { paths: any },
  // Not --pre, --hostname-bin, -z: they start programs. Not -f: it opens a list. Not -L: it follows links.
  rg: {
    short: "cFHIilNnoPpqsSUuvwxA#B#C#m#g:t:T:e:",
    long:
      "regexp= fixed-strings ignore-case case-sensitive smart-case invert-match word-regexp line-regexp count count-matches color= heading " +
      "no-heading files files-with-matches files-without-match max-count=# max-depth=# only-matching quiet no-messages with-filename " +
      "no-filename line-number no-line-number column after-context=# before-context=# context=# text glob= iglob= type= type-not= type-list " +
      "hidden no-ignore multiline multiline-dotall pcre2 json stats sort= sortr= trim null unrestricted vimgrep",
    text: 1,
    textBy: ["e", "regexp", "files", "type-list"],
    paths: any,
  },
  seq: { short: "wf:s:", long: "equal-width format= separator=", text: 3 },
  sha1sum: hashes,
  sha224sum: hashes,
  sha256sum: hashes,
  sha384sum: hashes,
  sha512sum: hashes,
  sleep: { text: any },
  // Not -o, --compress-program, --files0-from, -T: they write, start a program, open a list.
  sort: {
    short: "bdfghiMnRrVcCmsuzk:t:",
    long:
      "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort " +
      "random-sort reverse version-sort sort= check[=] merge stable unique zero-terminated key= field-separator= debug",
    paths: any,
  },
  stat: { short: "ftc:", long: "file-system terse format= printf=", paths: any },
  tac: { short: "brs:", long: "before regex separator=", paths: any },
  // Not -o, and not -R, which starts tree again. Not -l: it follows links.
  tree: { short: "adfipsughDNQCtrUvxFJL#P:I:", long: "dirsfirst noreport prune du si", paths: any },
  true: said,
  uname: {
    short: "asnrvmpio",
    long: "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system",
  },
  uptime: { short: "ps", long: "pretty since" },
  which: { short: "a", paths: any },
  whoami: {},
};

/** They write what they name, like the file tools. */
const makers: { readonly [program: string]: Grammar } = {
  mkdir: { short: "pvm:", long: "parents verbose mode=", paths: any, writes: true },
  touch: { short: "acmd:t:", long: "no-create date= time=", paths: any, writes: true },
};

/** They start nothing, but change and remove: what a person may allow for good, and no name alone allows. */
const changers: { readonly [program: string]: Grammar } = {
  chmod: { short: "cfvR", long: "changes quiet silent verbose recursive", text: 1, paths: any, writes: true },
  cp: {
    short: "afHiLlnPpRrsTuvx",
    long: "archive force recursive no-clobber verbose update parents",
    paths: any,
    writes: true,
  },
  ln: { short: "sfnrTv", long: "symbolic force no-dereference relative verbose", paths: any, writes: true },
  mv: { short: "finTuv", long: "force interactive no-clobber update verbose", paths: any, writes: true },
  rm: {
    short: "dfiIrRv",
    long: "dir force interactive[=] recursive verbose one-file-system",
    paths: any,
    writes: true,
  },
  rmdir: { short: "pv", long: "parents verbose ignore-fail-on-non-empty", paths: any, writes: true },
  tee: { short: "ai", long: "append ignore-interrupts", paths: any, writes: true },
};

/** `argv` with its program as an absolute path. Null: nobody vouches for what it would start or touch. */
export function knownForm(argv: readonly string[]): KnownForm | null {
  const [program = "", ...args] = argv;
  const name = programName(program);
  if (name === "git") return gitForm(args)?.form ?? null;
  if (name === "find") return findForm(args);
  const grammar = grammarOf(name, filters, readers, makers, changers);
  return grammar === undefined ? null : readForm(grammar, args);
}

/** Its name in an allowlist is enough for what is known of it. */
export function mayBeNamed(program: string): boolean {
  return grammarOf(programName(program), changers) === undefined;
}

/** True for a program that only reads its input and writes its output, wherever it runs. */
export function isSafeFilter(argv: readonly string[]): boolean {
  const [program = "", ...args] = argv;
  const grammar = grammarOf(programName(program), filters);
  const form = grammar === undefined ? null : readForm(grammar, args);
  return form !== null && form.reads.length === 0;
}

function grammarOf(
  name: string | null,
  ...tables: readonly { readonly [program: string]: Grammar }[]
): Grammar | undefined {
  if (name === null) return undefined;
  return tables.find((table) => Object.hasOwn(table, name))?.[name];
}
