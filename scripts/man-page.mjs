// Writes man/sallyport.1 from the commands as the command line itself tells them: `npm run man`.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { root } from './tools.mjs';

/** Of the text; a release sets it. */
const DATE = '2026-11-30';

export const page = path.join(root, 'man/sallyport.1');

export function readCommands() {
  const main = path.join(root, 'dist/cli/main.js');
  const { stdout, stderr, status } = spawnSync(process.execPath, [main, 'completion', 'json'], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`build first: npm run build:typescript\n${stderr}`);
  return JSON.parse(stdout).program;
}

const named = { '\\': '\\e', '-': '\\-', "'": '\\(aq', '`': '\\(ga', '^': '\\(ha', '~': '\\(ti' };
const special = /[\\'`^~]|[^ -~\n]/gu;

const escape = (character) =>
  named[character] ??
  `\\[u${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`;

/** A line must not begin like a request. */
const guard = (line) => line.replace(/^(?=\.)/, '\\&');

/** Columns of a line of text in the file, as mandoc wants them. */
const WIDTH = 78;

/** Prose in the file: a sentence begins a line, so that formatters know where one ends. */
function wrap(text) {
  return text.split(/(?<=[a-z0-9)]\.) (?=[A-Z\\])/).flatMap((sentence) => {
    const lines = [''];
    for (const word of sentence.split(' ')) {
      const longer = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`;
      if (longer.length <= WIDTH) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines.map(guard);
  });
}

/** What is typed: every `-` is one. */
const formatCode = (text) => text.replace(special, escape).replaceAll('-', '\\-');

/** Prose: `-` is a hyphen, but for options. */
function formatText(text) {
  return text
    .replace(special, escape)
    .replace(/(?<![\w\\])--?(?=[\w ])[\w-]*/g, (option) => option.replaceAll('-', '\\-'));
}

const bold = (text) => `\\fB${text}\\fR`;

/** `--pass <N[=M]>`: what is typed in bold, what is meant in italics. */
function formatFlags(flags) {
  return flags
    .split(/(<[^>]+>)/)
    .map((part) =>
      part.startsWith('<')
        ? `\\fI${formatCode(part.slice(1, -1))}\\fR`
        : bold(formatCode(part.trim())),
    )
    .filter((part) => part !== bold(''))
    .join(' ');
}

const sentence = (text) =>
  `${text[0].toUpperCase()}${text.slice(1)}${/[.:]$/.test(text) ? '' : '.'}`;

const formatList = (rows) =>
  rows.flatMap(([term, text]) => ['.TP', term, ...wrap(formatText(sentence(text)))]);

/** Paragraphs: `Word: text`, a list of lines that are indented, or text. */
function formatNotes(notes) {
  if (notes === '') return [];
  return notes.split(/\n\s*\n/).flatMap((paragraph) => {
    const [first, ...rest] = paragraph.split('\n');
    if (rest.length > 0 && rest.every((line) => line.startsWith('  '))) {
      const lines = rest.map((line) => guard(formatCode(line.slice(2))));
      return ['.PP', formatText(first), '.PP', '.RS 4', '.nf', ...lines, '.fi', '.RE'];
    }
    const text = paragraph.replaceAll(/\s*\n\s*/g, ' ');
    const [, label, body] = /^([A-Z][a-z]+(?: [a-z]+)?|[A-Z]+): (.*)$/s.exec(text) ?? [];
    if (label === undefined) return ['.PP', ...wrap(formatText(text))];
    return ['.TP', bold(label), ...wrap(formatText(sentence(body)))];
  });
}

/** commander has a line for each form, the first without the name of the program. */
function formatUsage(names, usage) {
  const [first, ...others] = usage.split('\n');
  return [`${names.join(' ')} ${first}`, ...others.map((line) => line.trim())];
}

function formatCommand(command, above) {
  const names = [...above, command.name];
  if (command.commands.length > 0) {
    const below = command.commands.filter(({ name }) => name !== 'help');
    return below.flatMap((each) => formatCommand(each, names));
  }
  const options = command.options.filter(({ long }) => long !== '--help');
  const args = command.arguments.filter(({ description }) => description !== '');
  return [
    `.SS "${formatCode(names.join(' '))}"`,
    ...formatUsage(names, command.usage).flatMap((line, index) => [
      ...(index === 0 ? [] : ['.br']),
      bold(formatCode(line)),
    ]),
    '.PP',
    ...wrap(formatText(command.description)),
    ...formatList(args.map(({ name, description }) => [`\\fI${name}\\fR`, description])),
    ...formatList(options.map(({ flags, description }) => [formatFlags(flags), description])),
    ...formatNotes(command.notes),
  ];
}

/** For the list of all pages: a clause, without a full stop. */
const nameOf = ({ description }) =>
  (description[0].toLowerCase() + description.slice(1)).replace(/\.$/, '');

export function formatPage(program, version) {
  const commands = program.commands.filter(({ name }) => name !== 'help');
  const lines = [
    `.\\" Made by scripts/man-page.mjs of what the command line tells of itself: not to be edited.`,
    `.TH SALLYPORT 1 "${DATE}" "sallyport ${version}" "User Commands"`,
    // Paths and options are not to be broken, and lines not to be filled with blanks.
    '.nh',
    '.ad l',
    '.SH NAME',
    ...wrap(`sallyport \\- ${formatText(nameOf(program))}`),
    '.SH SYNOPSIS',
    `${bold('sallyport')} \\fIcommand\\fR [\\fIoptions\\fR] ...`,
    '.br',
    `${bold('sallyport')} ${bold('\\-\\-help')} | ${bold('\\-\\-version')}`,
    '.SH DESCRIPTION',
    ...formatList(commands.map(({ name, summary }) => [bold(formatCode(name)), summary])),
    '.PP',
    `${bold('sallyport help')} \\fIcommand\\fR prints what this page says of a command.`,
    'Options that are said to be repeatable may be given several times.',
    'Where a command has',
    `${bold('\\-\\-json')}, what it prints has a JSON Schema, in the folder`,
    '.I schema',
    'of the package.',
    '.SH COMMANDS',
    ...commands.flatMap((command) => formatCommand(command, [program.name])),
    '.SH ENVIRONMENT',
    '.TP',
    bold('NO_COLOR'),
    'Where it is set and not empty, nothing is printed in colours.',
    'Elsewhere than on a terminal nothing is either.',
    '.SH SEE ALSO',
    ['env(1)', 'timeout(1)', 'lsof(8)', 'ss(8)', 'setpriv(1)', 'proc(5)']
      .map((name) => name.replace(/(\w+)(\(\d\))/, '\\fB$1\\fR$2'))
      .join(',\n'),
    '.PP',
    'The pages in the folder',
    '.I docs',
    'of the package: options.md, run.md, audit.md, review.md, environment.md,',
    'credentials.md, json.md.',
  ];
  return `${lines.join('\n')}\n`;
}

export function readVersion() {
  return JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).version;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(page, formatPage(readCommands(), readVersion()));
  console.log(`man-page: wrote ${path.relative(root, page)}`);
}
