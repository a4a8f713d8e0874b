// Commands as plain data → a completion script for fish 3.4 or later.
import type { ArgumentModel, CommandModel, Completes, OptionModel } from './command-model.js';

export function formatFish(program: CommandModel): string {
  const commands = flatten(program, []);
  return `# fish completion of sallyport, made by 'sallyport completion fish'.

# Prints where in the command line we are: a line with the command (run, profile/draft), one with how
# many arguments it has, and, one a line, the words of the command that is to be started.
function __sallyport_look
    set -l words (commandline -opc) (commandline -ct)
    set -l path ''
    set -l arguments 0
    set -l dashes 0
    set -l last (count $words)
    set -l i 2
    while test $i -lt $last
        set -l word $words[$i]
        if test "$word" = -- -a $dashes = 0
            set dashes 1
            if contains -- "$path" ${list(commands, ({ rest }) => rest === 'dashes')}
                printf '%s\\n' $path $arguments $words[(math $i + 1)..]
                return
            end
        else if string match -q -- '-*' $word; and test $dashes = 0
            contains -- "$path:$word" ${quoteAll(valueOptions(commands))}
            and set i (math $i + 1)
        else if contains -- (string trim -c / -- "$path/$word") ${list(commands, ({ name }) => name !== program.name)}
            set path (string trim -c / -- "$path/$word")
            set arguments 0
        else
            if contains -- "$path" ${list(commands, ({ rest }) => rest === 'arguments')}
                printf '%s\\n' $path $arguments $words[$i..]
                return
            end
            set arguments (math $arguments + 1)
        end
        set i (math $i + 1)
    end
    printf '%s\\n' "$path" $arguments
    # The command itself is being written.
    if contains -- "$path" ${list(commands, ({ rest }) => rest === 'arguments')}; and test $arguments = 0
        if not string match -q -- '-*' $words[-1]; or test $dashes = 1
            printf '%s\\n' $words[-1]
        end
    end
end

# $argv[1]: the command; $argv[2], where it is given: how many arguments it has.
function __sallyport_at
    set -l look (__sallyport_look)
    test "$look[1]" = "$argv[1]"; or return
    test (count $look) -lt 4; or return
    test (count $argv) -lt 2; or test "$look[2]" = "$argv[2]"
end

function __sallyport_has_rest
    set -l look (__sallyport_look)
    test (count $look) -gt 2
end

function __sallyport_rest
    set -l look (__sallyport_look)
    complete -C (string join ' ' -- (string escape -- $look[3..-2]) $look[-1])
end

complete -c sallyport -f
complete -c sallyport -n __sallyport_has_rest -a '(__sallyport_rest)'
${commands.flatMap(formatCommand).join('\n')}
`;
}

interface Placed {
  /** '' for the program itself, then `run`, `profile/draft`. */
  readonly path: string;
  readonly command: CommandModel;
}

function flatten(command: CommandModel, names: readonly string[]): Placed[] {
  return [
    { path: names.join('/'), command },
    ...command.commands.flatMap((each) => flatten(each, [...names, each.name])),
  ];
}

function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

const quoteAll = (each: readonly string[]): string => each.map(quote).join(' ');

function list(commands: readonly Placed[], wanted: (command: CommandModel) => boolean): string {
  return quoteAll(commands.flatMap(({ path, command }) => (wanted(command) ? [path] : [])));
}

function valueOptions(commands: readonly Placed[]): string[] {
  return commands.flatMap(({ path, command }) =>
    command.options.flatMap(({ long, value }) => (value === null ? [] : [`${path}:${long}`])),
  );
}

function formatCommand({ path, command }: Placed): string[] {
  return [
    ...command.commands.map(({ name, summary }) =>
      line([path, 0], ['-a', quote(name), '-d', quote(summary)]),
    ),
    ...command.options.map((option) => line([path], formatOption(option))),
    ...(command.commands.length > 0 ? [] : command.arguments.flatMap(formatArgument(path))),
  ];
}

function line(where: readonly (string | number)[], words: readonly string[]): string {
  const [path = '', count] = where;
  const at = count === undefined ? '' : ` ${count}`;
  return `complete -c sallyport -n ${quote(`__sallyport_at '${String(path)}'${at}`)} ${words.join(' ')}`;
}

function formatOption({ long, short, value, description, completes }: OptionModel): string[] {
  return [
    ...(short === null ? [] : ['-s', short.slice(1)]),
    '-l',
    long.slice(2),
    ...(value === null ? [] : ['-x', ...formatValues(completes)]),
    '-d',
    quote(description),
  ];
}

const formatArgument =
  (path: string) =>
  ({ isVariadic, completes }: ArgumentModel, index: number): string[] => {
    if (completes.kind === 'nothing' || completes.kind === 'command') return [];
    const where = isVariadic ? [path] : [path, index];
    return [line(where, formatValues(completes))];
  };

function formatValues(completes: Completes): string[] {
  switch (completes.kind) {
    case 'words':
    case 'beginnings':
      return ['-a', quote(completes.words.join(' '))];
    case 'file':
      // As after the name of a program that has no completion.
      return [
        '-a',
        quote('(__fish_complete_path (commandline -ct | string replace -r "^--[^=]*=" ""))'),
      ];
    case 'directory':
      return [
        '-a',
        quote('(__fish_complete_directories (commandline -ct | string replace -r "^--[^=]*=" ""))'),
      ];
    case 'user':
      return ['-a', quote('(__fish_complete_users)')];
    case 'variable':
      return ['-a', quote('(set --names --export)')];
    case 'process':
      return ['-a', quote('(__fish_complete_pids)')];
    case 'command':
    case 'nothing':
      return [];
  }
}
