// Turns the entries of a run into the rows of a section.

/** `measure` gives the values of one entry; an entry that failed has none. */
export function buildRows(entries, measure) {
  return entries.map((entry) => {
    const { id, label, subject = false } = entry.definition;
    const version = entry.driver?.version;
    const row = { id, label: version ? `${label} ${version}` : label, subject };
    if (entry.failure !== undefined) return { ...row, failure: entry.failure };
    return { ...row, version, values: measure(entry) };
  });
}

/** The rates and times that one driver gave over all rounds, as one list. */
export function pool(answers, key) {
  return answers.flatMap((answer) => answer[key] ?? []);
}

/** Calls before the first that counts: by then what runs often is compiled, in every runtime. */
export const WARM_UP = 400;

/** The short name of a program that is started, as section ids have it. */
export const nameTarget = (file) => (file === '/bin/true' ? 'true' : 'freestanding');

export const describeTarget = (file) =>
  file === '/bin/true' ? file : 'a freestanding program that exits at once';

export const microseconds = (nanoseconds) => nanoseconds / 1e3;
