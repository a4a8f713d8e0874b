// Other people's text for a terminal: shown, and never obeyed.

/** Names of programs and files are other people's text: it must not move the cursor or ring a bell. */
export function clean(text: string): string {
  return text.replace(
    // eslint-disable-next-line no-control-regex -- they are what is looked for
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (found) => {
      const code = found.codePointAt(0) ?? 0;
      return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
    },
  );
}
