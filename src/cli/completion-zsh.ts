// Commands as plain data → a completion function for zsh.
import type { ArgumentModel, CommandModel, Completes, OptionModel } from './command-model.js';

export function formatZsh(program: CommandModel): string {
  return `#compdef sallyport
# zsh completion of sallyport, made by 'sallyport completion zsh'.

_sallyport_processes() {
  local -a processes
  processes=(/proc/<->(N:t))
  _describe -t processes process processes
}

# The command that is to be started. A -- right before it is still there.
_sallyport_rest() {
  if [[ $words[1] == -- ]]; then
    shift words
    ((--CURRENT))
  fi
  _normal
}

${formatCommand(program, '_sallyport')}
# Loaded by compinit from a file it is the function itself; sourced it says what it completes.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _sallyport "$@"
else
  compdef _sallyport sallyport
fi
`;
}

function formatCommand(command: CommandModel, name: string): string {
  const functions = command.commands.map((each) => formatCommand(each, `${name}_${each.name}`));
  const specs = [
    ...command.options.map(formatOption),
    ...(command.commands.length > 0
      ? [quote(`1:command:${name}_commands`), quote('*::argument:->argument')]
      : formatArguments(command)),
  ];
  // -s is not given: no option of one letter goes with another. -S: nothing after -- is an option.
  const body = `${name}() {
  local context state state_descr line
  local -A opt_args
${command.rest === 'dashes' ? formatDashes() : ''}  _arguments -S -C \\
    ${specs.join(' \\\n    ')}
${command.commands.length > 0 ? formatDispatch(command, name) : ''}}
`;
  return [...functions, ...formatList(command, name), body].join('\n');
}

/** After `--` begins the command line of another program. */
function formatDashes(): string {
  return `  local dashes=\${words[(i)--]}
  if ((dashes < CURRENT)); then
    shift dashes words
    ((CURRENT -= dashes))
    _normal
    return
  fi
`;
}

function formatDispatch(command: CommandModel, name: string): string {
  const cases = command.commands.map((each) => `    ${each.name}) ${name}_${each.name} ;;`);
  return `  [[ $state == argument ]] || return
  case $line[1] in
${cases.join('\n')}
  esac
`;
}

function formatList(command: CommandModel, name: string): string[] {
  if (command.commands.length === 0) return [];
  const lines = command.commands.map((each) =>
    quote(`${each.name}:${each.summary.replaceAll(':', '\\:')}`),
  );
  return [
    `${name}_commands() {
  local -a commands
  commands=(
    ${lines.join('\n    ')}
  )
  _describe -t commands command commands
}
`,
  ];
}

function formatOption({
  long,
  short,
  value,
  isRepeatable,
  description,
  completes,
}: OptionModel): string {
  const text = `[${description.replace(/[[\]\\:]/g, '\\$&')}]`;
  if (value === null) {
    if (short === null) return quote(`${isRepeatable ? '*' : ''}${long}${text}`);
    return `'(${short} ${long})'{${short},${long}}${quote(text)}`;
  }
  const what = value.replace(/[\\:]/g, '\\$&');
  return quote(`${isRepeatable ? '*' : ''}${long}=${text}:${what}:${formatAction(completes)}`);
}

function formatArguments(command: CommandModel): string[] {
  if (command.rest === 'arguments') {
    // Whatever follows the command is its own, also what looks like an option of ours.
    return [quote('(-)1:command:_command_names -e'), quote('*::argument:_sallyport_rest')];
  }
  return command.arguments.map((argument, index) =>
    quote(`${position(argument, index)}:${argument.name}:${formatAction(argument.completes)}`),
  );
}

/** One that may be left out has two colons. */
function position({ isVariadic, isRequired }: ArgumentModel, index: number): string {
  if (isVariadic) return '*';
  return isRequired ? String(index + 1) : `${index + 1}:`;
}

function formatAction(completes: Completes): string {
  switch (completes.kind) {
    case 'words':
      return `(${completes.words.join(' ')})`;
    case 'beginnings':
      return `compadd -S "" -- ${completes.words.join(' ')}`;
    case 'file':
      return '_files';
    case 'directory':
      return '_files -/';
    case 'user':
      return '_users';
    case 'variable':
      return '_parameters -g "*export*"';
    case 'process':
      return '_sallyport_processes';
    case 'command':
      return '_command_names -e';
    case 'nothing':
      return ' ';
  }
}

/** Single quotes: zsh expands nothing in them. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
