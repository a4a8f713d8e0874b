// Runs drivers in turns (A B C, B C A, …), so that whatever else the machine does meets them all.
import { DriverProcess } from './driver-process.mjs';

/**
 * Starts a process for each definition, hands them to `use` as entries { driver, failure } and
 * ends them all. A driver that cannot start is an entry with a failure, not an end of the trial.
 */
export async function withDrivers(definitions, use) {
  const entries = [];
  try {
    for (const definition of definitions) {
      const entry = { definition, driver: undefined, failure: undefined };
      entries.push(entry);
      try {
        entry.driver = await DriverProcess.start(definition);
      } catch (error) {
        entry.failure = error.message;
      }
    }
    return await use(entries);
  } finally {
    await Promise.all(entries.map(({ driver }) => driver?.end()));
  }
}

/** Asks each entry once; the first failure of an entry is kept and ends its part. */
export async function askEach(entries, ask) {
  const answers = new Map();
  for (const entry of entries) {
    if (entry.failure !== undefined) continue;
    try {
      answers.set(entry, await ask(entry.driver, entry));
    } catch (error) {
      entry.failure = error.message;
    }
  }
  return answers;
}

/** Asks all at once: for what is not measured. */
export async function askTogether(entries, ask) {
  await Promise.all(entries.map((entry) => askEach([entry], ask)));
}

/** Map of entry to its answers, one per round. */
export async function interleave(entries, rounds, ask) {
  const answers = new Map(entries.map((entry) => [entry, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % Math.max(entries.length, 1);
    const order = [...entries.slice(first), ...entries.slice(0, first)];
    for (const [entry, answer] of await askEach(order, ask)) answers.get(entry).push(answer);
  }
  return answers;
}
