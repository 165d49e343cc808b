// Names of environment variables that change how programs are found, started or run. Setting one can run
// code, so Parley refuses them from skills and from skill settings. A child process gets an allowlist anyway;
// this list guards the names that are added to it.

const exact = new Set([
  "PATH",
  "PATHEXT",
  "HOME",
  "USERPROFILE",
  "SHELL",
  "COMSPEC",
  "IFS",
  "ENV",
  "CDPATH",
  "PS4",
  "PROMPT_COMMAND",
  "EDITOR",
  "VISUAL",
  "PAGER",
  "BROWSER",
  "LESSOPEN",
  "LESSCLOSE",
  "MANPAGER",
  "JAVA_TOOL_OPTIONS",
  "JDK_JAVA_OPTIONS",
  "CLASSPATH",
  "GLIBC_TUNABLES",
  "TMPDIR",
]);

const prefixes =
  /^(?:NODE_|LD_|DYLD_|BASH_|ZDOTDIR|PARLEY_|PYTHON|PERL5|PERL_|RUBYOPT|RUBYLIB|GEM_|BUNDLE_|LUA_|GIT_|SSH_ASKPASS|SUDO_|npm_|YARN_|PNPM_|COREPACK_|PIP_|UV_|CARGO_|RUSTC|RUSTFLAGS|GO(?:FLAGS|ROOT|ENV)$|MAKEFLAGS|_JAVA_|OPENSSL_|SYSTEMD_)/i;

export function isUnsafeEnvName(name: string): boolean {
  return exact.has(name.toUpperCase()) || prefixes.test(name);
}
