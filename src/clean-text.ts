// Other people's text for a terminal: shown, and never obeyed.

// eslint-disable-next-line no-control-regex -- they are what is looked for
const ACTING = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
/** What JSON.stringify leaves as it is of them: CSI in one character, and what turns the line round. */
const ACTING_IN_JSON = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Names of programs and files are other people's text: it must not move the cursor or ring a bell. */
export function clean(text: string): string {
  return text.replace(ACTING, (found) => {
    const code = found.codePointAt(0) ?? 0;
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

/** The same value as JSON, in which nothing acts on a terminal. */
export function cleanJson(value: unknown, space: number): string {
  return JSON.stringify(value, null, space).replace(
    ACTING_IN_JSON,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
