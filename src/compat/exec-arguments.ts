// The flags by which this process was registered, in a form that works for its forks in any directory.
import { pathToFileURL } from 'node:url';

const FLAGS = ['--require', '-r', '--import'];

/**
 * Node resolves `--import sallyport/register` against the working directory, and `fork` hands
 * process.execArgv on to a child that may have another.
 *
 * @param execArgv changed in place
 * @param path the file that stands for `name`
 */
export function makeAbsolute(execArgv: string[], name: string, path: string): void {
  for (const [index, word] of execArgv.entries()) {
    const [flag = '', value] = word.split('=', 2);
    const absolute = (of: string): string => (of === '--import' ? pathToFileURL(path).href : path);
    const before = execArgv[index - 1] ?? '';
    if (word === name && FLAGS.includes(before)) execArgv[index] = absolute(before);
    else if (value === name && FLAGS.includes(flag)) execArgv[index] = `${flag}=${absolute(flag)}`;
  }
}
