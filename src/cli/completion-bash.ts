// Commands as plain data → a completion script for bash 4.4 or later, with or without bash-completion.
import type { CommandModel, Completes, OptionModel } from './command-model.js';

/** One case for each command, by its words: `profile draft`. */
export function formatBash(program: CommandModel): string {
  const commands = flatten(program, []);
  return `# bash completion of sallyport, made by 'sallyport completion bash'.

# Words as they were written: bash cuts them at each = and :. What is to be put before the answer, and
# so is already there, is in _sallyport_before; COMP_WORDS has a word at the index in _sallyport_at.
_sallyport_split() {
  local line=\${COMP_LINE:0:COMP_POINT} i piece
  _sallyport_words=() _sallyport_at=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=\${COMP_WORDS[i]}
    if ((i == 0)) || [[ $line == [[:space:]]* ]]; then
      line=\${line#"\${line%%[![:space:]]*}"}
      _sallyport_words+=('')
      _sallyport_at+=("$i")
    fi
    ((i < COMP_CWORD)) || piece=$line
    _sallyport_words[-1]+=$piece
    line=\${line#"$piece"}
  done
  _sallyport_before=\${_sallyport_words[-1]%"$piece"}
  case $piece in =|:) _sallyport_before+=$piece ;; esac
}

# $1: a kind of value; $2: what is written of it; $3: what stands before it in the same word; the rest:
# the words that it may be.
_sallyport_value() {
  local kind=$1 written=$2 before=$3
  shift 3
  local IFS=$'\\n' found=()
  case $kind in
    words|beginnings) found=($(compgen -W "$*" -- "$written")) ;;
    file) compopt -o filenames 2>/dev/null; found=($(compgen -f -- "$written")) ;;
    directory) compopt -o filenames 2>/dev/null; found=($(compgen -d -- "$written")) ;;
    user) found=($(compgen -u -- "$written")) ;;
    variable) found=($(compgen -e -- "$written")) ;;
    process) found=($(compgen -W "$(cd /proc && printf '%s\\n' [0-9]*)" -- "$written")) ;;
  esac
  [[ $kind != beginnings ]] || compopt -o nospace 2>/dev/null
  found=("\${found[@]/#/"$before"}")
  COMPREPLY=("\${found[@]#"$_sallyport_before"}")
}

# The command that is to be started, from word $1 on.
_sallyport_rest() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "\${_sallyport_at[$1]}"
  elif (($1 == \${#_sallyport_words[@]} - 1)) && [[ \${_sallyport_words[-1]} != */* ]]; then
    local IFS=$'\\n'
    COMPREPLY=($(compgen -c -- "\${_sallyport_words[-1]}"))
  else
    _sallyport_value file "\${_sallyport_words[-1]}" ''
  fi
}

_sallyport() {
  local _sallyport_words _sallyport_at _sallyport_before
  local path='' argument=0 dashes=0 i word name last written
  COMPREPLY=()
  _sallyport_split
  last=$((\${#_sallyport_words[@]} - 1))
  written=\${_sallyport_words[last]}
  for ((i = 1; i < last; i++)); do
    word=\${_sallyport_words[i]}
    if [[ $word == -- && $dashes == 0 ]]; then
      dashes=1
      case $path in
        ${patterns(commands, ({ rest }) => rest === 'dashes')}) _sallyport_rest $((i + 1)); return ;;
      esac
    elif [[ $word == -* && $dashes == 0 ]]; then
      case $path:$word in
        ${valuePatterns(commands)})
          ((++i))
          if ((i == last)); then _sallyport_option "$path" "$word" "$written" ''; return; fi
          ;;
      esac
    else
      case "$path $word" in
        ${commandPatterns(commands)}) path="$path $word" argument=0 ;;
        *)
          case $path in
            ${patterns(commands, ({ rest }) => rest === 'arguments')}) _sallyport_rest "$i"; return ;;
          esac
          ((++argument))
          ;;
      esac
    fi
  done
  if [[ $written == --*=* && $dashes == 0 ]]; then
    name=\${written%%=*}
    _sallyport_option "$path" "$name" "\${written#*=}" "$name="
  elif [[ $written == -* && $dashes == 0 ]]; then
    case $path in
${commands.map(({ path, command }) => `      ${quote(path)}) _sallyport_value words "$written" '' ${command.options.map(({ long }) => long).join(' ')} ;;`).join('\n')}
    esac
  else
    case $path:$argument in
${commands.flatMap(formatArguments).join('\n')}
    esac
  fi
}

# $1: the command; $2: its option; $3: what is written of the value; $4: what stands before it.
_sallyport_option() {
  case $1:$2 in
${commands.flatMap(formatOptions).join('\n')}
  esac
}

complete -F _sallyport sallyport
`;
}

interface Placed {
  /** '' for the program itself, then ` run`, ` profile draft`. */
  readonly path: string;
  readonly command: CommandModel;
}

function flatten(command: CommandModel, names: readonly string[]): Placed[] {
  const path = names.map((name) => ` ${name}`).join('');
  return [
    { path, command },
    ...command.commands.flatMap((each) => flatten(each, [...names, each.name])),
  ];
}

/** Single quotes: bash expands nothing in them. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function patterns(commands: readonly Placed[], wanted: (command: CommandModel) => boolean): string {
  return join(commands.flatMap(({ path, command }) => (wanted(command) ? [path] : [])));
}

function commandPatterns(commands: readonly Placed[]): string {
  return join(commands.flatMap(({ path }) => (path === '' ? [] : [path])));
}

function valuePatterns(commands: readonly Placed[]): string {
  const all = commands.flatMap(({ path, command }) =>
    command.options.filter(takesValue).map(({ long }) => `${path}:${long}`),
  );
  return join(all);
}

const takesValue = ({ value }: OptionModel): boolean => value !== null;

const join = (each: readonly string[]): string => each.map(quote).join('|');

function formatOptions({ path, command }: Placed): string[] {
  return command.options
    .filter(({ completes }) => completes.kind !== 'nothing')
    .map(
      ({ long, completes }) =>
        `    ${quote(`${path}:${long}`)}) _sallyport_value ${formatKind(completes, '"$3"', '"$4"')} ;;`,
    );
}

/** What may come as the next word that is no option. */
function formatArguments({ path, command }: Placed): string[] {
  if (command.commands.length > 0) {
    const words = command.commands.map(({ name }) => name);
    return [
      `      ${quote(`${path}:0`)}) _sallyport_value ${formatKind({ kind: 'words', words }, '"$written"', "''")} ;;`,
    ];
  }
  return command.arguments.flatMap(({ isVariadic, completes }, index) => {
    const pattern = isVariadic ? `${quote(`${path}:`)}*` : quote(`${path}:${index}`);
    if (completes.kind === 'nothing') return [];
    if (completes.kind === 'command') return [`      ${pattern}) _sallyport_rest "$last" ;;`];
    return [`      ${pattern}) _sallyport_value ${formatKind(completes, '"$written"', "''")} ;;`];
  });
}

function formatKind(completes: Completes, written: string, before: string): string {
  const words = 'words' in completes ? completes.words.map(quote) : [];
  return [completes.kind, written, before, ...words].join(' ');
}
