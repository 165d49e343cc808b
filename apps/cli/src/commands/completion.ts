// `parley completion bash|zsh|fish`: a script for the shell, made from the commands themselves, so that it
// never lags behind them.
import type { Command } from "commander";
import { document, words, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";

/** Words that may follow the words of `path`. */
interface Place {
  /** "", "outbox", "outbox list". */
  readonly path: string;
  readonly words: readonly Word[];
}

interface Word {
  readonly name: string;
  readonly description: string;
}

const shells: { readonly [shell: string]: (places: readonly Place[]) => string } = { bash, zsh, fish };

export function completion(terminal: Console, shell: string, program: Command): ExitCode {
  const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
  if (script === undefined) {
    throw new CommandFailure(
      "invalid",
      `There is no completion for "${shell}", only for: ${Object.keys(shells).join(", ")}`,
      exitCodes.usage,
    );
  }
  const text = script(placesOf(program, ""));
  if (terminal.json) document(terminal.out, { shell, script: text });
  else words(terminal.out, text);
  return exitCodes.ok;
}

function placesOf(command: Command, path: string): Place[] {
  const options = command.options.map(({ long, short, description }) => ({
    name: long ?? short ?? "",
    description,
  }));
  const own = command.commands.map((each) => ({ name: each.name(), description: each.description() }));
  const below = command.commands.flatMap((each) =>
    placesOf(each, path === "" ? each.name() : `${path} ${each.name()}`),
  );
  return [{ path, words: [...own, ...options, { name: "--help", description: "show help" }] }, ...below];
}

function names({ words }: Place): string {
  return words.map(({ name }) => name).join(" ");
}

/** bash 3.2, which macOS has, too. */
function bash(places: readonly Place[]): string {
  return `# Put this into ~/.bashrc:  eval "$(parley completion bash)"
_parley() {
  local path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  local words=""
  while :; do
    case "$path" in
${places.map((place) => `      "${place.path}") words="${names(place)}" ;;`).join("\n")}
    esac
    if [ -n "$words" ] || [ -z "$path" ]; then break; fi
    case "$path" in *" "*) path="\${path% *}" ;; *) path="" ;; esac
  done
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _parley parley`;
}

function zsh(places: readonly Place[]): string {
  const described = ({ words }: Place): string =>
    words.map((word) => quoted(`${word.name}:${word.description}`, ":")).join(" ");
  return `#compdef parley
# Put this into ~/.zshrc, after compinit:  eval "$(parley completion zsh)"
_parley() {
  local place="" word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ "$word" == -* ]] || place="\${place:+$place }$word"
  done
  while :; do
    case "$place" in
${places.map((place) => `      "${place.path}") found=(${described(place)}) ;;`).join("\n")}
    esac
    if (( \${#found} )) || [[ -z "$place" ]]; then break; fi
    if [[ "$place" == *" "* ]]; then place="\${place% *}"; else place=""; fi
  done
  _describe -o parley found || _files
}
compdef _parley parley`;
}

/** In zsh's list a colon separates a word from what is said of it. */
function quoted(text: string, separator: string): string {
  const at = text.indexOf(separator);
  const escaped = `${text.slice(0, at)}${separator}${text.slice(at + 1).replaceAll(":", "\\:")}`;
  return `'${escaped.replaceAll("'", "'\\''")}'`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words }) =>
    words.map(({ name, description }) => {
      const what = name.startsWith("--") ? `-l ${name.slice(2)}` : `-a ${name}`;
      const text = `'${description.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
      return `complete -c parley -n '__parley_at "${path}"' ${what} -d ${text}`;
    }),
  );
  return `# Put this into ~/.config/fish/completions/parley.fish
function __parley_at
  set -l words (string match -v -- '-*' (commandline -opc)[2..-1])
  test "$argv[1]" = "$words"
end
complete -c parley -f
${lines.join("\n")}`;
}
