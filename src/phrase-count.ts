// A number with its noun, as people say it.

/** `1 process`, `0 processes`. @param many of the noun, with its verb where there is one */
export function phraseCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
