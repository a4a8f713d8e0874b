// The forms in which a secret is printed: as it is, in a URL, in JSON, in Base64.

/** Each form once. A form that is not here is not masked: see the limits in the documentation. */
export function formsOf(value: string): Set<string> {
  return new Set([value, ...jsonForms(value), ...urlForms(value), ...base64Forms(value)]);
}

function jsonForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  // Python and others write what is not ASCII as \u…, PHP each / as \/.
  const ascii = json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [json, ascii, json.replaceAll('/', '\\/'), ascii.replaceAll('/', '\\/')];
}

function urlForms(value: string): string[] {
  // Half of a character cannot stand in a URL.
  if (/\p{Surrogate}/u.test(value)) return [];
  const component = encodeURIComponent(value);
  const strict = component.replace(/[!'()*]/g, percent);
  const form = strict.replaceAll('~', percent('~')).replaceAll('%20', '+');
  // Those who write a form or a path leave more letters as they are.
  const path = component.replace(/%(?:3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent);
  const encoded = [component, strict, form, form.replaceAll('%2A', '*'), path];
  const isLower = (text: string): string =>
    text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
  return [...encoded, ...encoded.map(isLower)];
}

const percent = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** Bytes of zeros that stand for what comes before it, and the characters that depend on them. */
const ALIGNMENTS = [
  { before: 0, mixed: 0 },
  { before: 1, mixed: 2 },
  { before: 2, mixed: 3 },
] as const;

/**
 * Three bytes are four characters, so that it looks different at each of three places in a longer text.
 * The characters at its edges depend on its neighbours too, and hold up to four bits of it: they belong
 * to it where nothing follows, or a line end, and else stay.
 */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  return ALIGNMENTS.flatMap(({ before, mixed }) => {
    const encode = (...parts: Buffer[]): string =>
      Buffer.concat([Buffer.alloc(before), bytes, ...parts])
        .toString('base64')
        .slice(mixed);
    const padded = encode();
    const whole = padded.replace(/=+$/, '');
    const bits = (before + bytes.length) * 8;
    const pure = whole.slice(0, Math.floor(bits / 6) - mixed);
    const line = encode(Buffer.from('\n'));
    const standard = [pure, whole, padded, line.replace(/=+$/, ''), line];
    return [...standard, ...standard.map(toUrlAlphabet)];
  });
}

const toUrlAlphabet = (text: string): string => text.replaceAll('+', '-').replaceAll('/', '_');
