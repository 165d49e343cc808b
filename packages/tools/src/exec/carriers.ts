// Programs that run what they are told: shells, interpreters, wrappers, remote logins. Naming one in an allowlist would allow everything, so
// its name alone never matches; and options by which otherwise harmless programs start others.
import { basename } from "node:path";

const carriers = new Set(
  [
    "sh bash dash zsh ksh mksh ash fish csh tcsh rbash busybox toybox pwsh",
    "env nice nohup timeout xargs stdbuf setsid sudo su doas runuser chroot unshare nsenter ionice chrt taskset time watch parallel script expect",
    "strace ltrace gdb lldb perf prlimit systemd-run at batch crontab entr flock setpriv capsh firejail bwrap proot fakeroot",
    "node nodejs deno bun tsx ts-node npx npm pnpm yarn corepack python pypy perl ruby irb php lua luajit tclsh wish Rscript R julia java jshell scala groovy",
    "awk gawk mawk nawk sed jq ed ex vi vim nvim view emacs nano less more man m4 make gmake cmake ninja cargo go gcc cc clang ld osascript",
    "ssh scp sftp rsync docker podman kubectl nerdctl lxc machinectl ncat nc socat telnet ftp tmux screen dtach",
    "sqlite3 mysql mariadb psql mongosh openssl gpg hg svn tcpdump ip nmap aria2c pandoc latex pdflatex xelatex lualatex tex gnuplot octave",
    "mvn gradle ant sbt rake composer dotnet swift ghci erl elixir iex clojure kotlin just task terraform ansible helm vagrant run-parts split",
    "start-stop-daemon rlwrap unbuffer sshpass logrotate dumb-init tini gosu su-exec chpst newgrp sg pkexec mount xdg-open open",
    "tar zip curl wget fd busctl logger install pip pip3 uv uvx pipx gem bundle apt apt-get dpkg dnf yum apk brew snap flatpak ld.so ld-linux-x86-64.so.2 ld-linux-aarch64.so.1",
  ]
    .join(" ")
    .split(" "),
);

/** Versioned names too: python3.12, perl5, lua5.4. */
export function isCarrier(program: string): boolean {
  const name = basename(program);
  return carriers.has(name) || carriers.has(name.replace(/[-.\d]+$/, ""));
}

/** Options that start a program, load code or write a file of the caller's choice. Short ones also count inside a bundle ("-zIsh"). */
const startingOptions: { readonly [program: string]: { readonly long: readonly string[]; readonly short?: string } } = {
  find: { long: ["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"] },
  git: {
    long: [
      "--config-env",
      "--exec-path",
      "--upload-pack",
      "--receive-pack",
      "--exec",
      "--ext-diff",
      "--textconv",
      "--open-files-in-pager",
      "--output",
      "--git-dir",
      "--work-tree",
      "--template",
      "--separate-git-dir",
      "--unsafe-paths",
    ],
    short: "cOo",
  },
  sort: { long: ["--compress-program", "--output", "--files0-from", "--temporary-directory"], short: "oT" },
  grep: { long: ["--file"], short: "f" },
  rg: { long: ["--pre", "--hostname-bin", "--search-zip", "--file"], short: "zf" },
};
/** git's commands that run what a repository, its configuration or the line itself says, or write where the line says. */
const gitCarriers = new Set(
  "bisect difftool mergetool filter-branch rebase submodule config hook daemon shell alias clone archive worktree checkout-index fast-import fast-export bundle mailinfo pack-objects maintenance credential instaweb send-email svn p4 gui citool for-each-repo".split(
    " ",
  ),
);

/** Null when no argument makes the program start another; else the argument. */
export function startingOption(argv: readonly string[]): string | null {
  const name = basename(argv[0] ?? "");
  const options = startingOptions[name];
  if (options === undefined) return null;
  const args = argv.slice(1);
  const found = args.find(
    (arg) =>
      // getopt takes unambiguous beginnings of long options.
      options.long.some((long) => arg === long || arg.startsWith(`${long}=`) || (arg.startsWith("--") && isBeginning(arg, long))) ||
      (options.short !== undefined && /^-[^-]/.test(arg) && options.short.split("").some((letter) => arg.includes(letter))),
  );
  if (found !== undefined) return found;
  return name === "git" ? (args.find((arg) => gitCarriers.has(arg)) ?? null) : null;
}

function isBeginning(arg: string, long: string): boolean {
  const [name = ""] = arg.split("=");
  return name.length > 2 && long.startsWith(name);
}
