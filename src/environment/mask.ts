// A value as it may be shown: enough to recognise it by, never all of it.

/** Shorter values would be told half by their first characters. */
const SHORTEST = 16;
const SHOWN = 4;

/**
 * The first four characters and `…`; of a URL with user information the scheme and the host, with `…`
 * for the rest; only `…` where there are fewer than 16 characters.
 */
export function maskValue(value: string): string {
  const characters = Array.from(value);
  if (characters.length < SHORTEST) return '…';
  const url =
    /^([a-z][a-z0-9+.-]{0,20}):\/\/[^\s/?#]+@([\w.-]{1,100}|\[[\da-f:.]{2,45}\])(?=[:/?#]|$)([^@]*)$/i;
  // A second `@` further on: an unescaped slash in a password makes another part look like the host.
  const [, scheme, host] = url.exec(value) ?? [];
  if (scheme !== undefined && host !== undefined) return `${scheme}://…@${host}…`;
  return `${printable(characters.slice(0, SHOWN).join(''))}…`;
}

function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '?');
}
