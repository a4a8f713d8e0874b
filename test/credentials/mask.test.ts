// Secrets are taken out of a stream wherever it is cut, and nothing else is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MASKED, Secrets } from '../../src/credentials/mask.js';

function maskPieces(secrets: Secrets, pieces: readonly Buffer[]): string {
  const mask = secrets.open();
  const out: Buffer[] = [];
  for (const piece of pieces) {
    // As a run does: the buffer is used again once the call is over.
    const used = Buffer.from(piece);
    out.push(Buffer.from(mask.push(used)));
    used.fill(0);
  }
  out.push(Buffer.from(mask.flush()));
  return Buffer.concat(out).toString('latin1');
}

function knowing(...values: string[]): Secrets {
  const secrets = new Secrets();
  for (const value of values) secrets.add(value, null);
  return secrets;
}

function cut(text: string, at: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  const places = [0, ...[...at].sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

/** Whether the text ends with the first half of a secret, which is masked too. */
function endsInside(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) =>
    Array.from({ length: secret.length }, (_, length) => length + 1).some(
      (length) => length * 2 >= secret.length && text.endsWith(secret.slice(0, length)),
    ),
  );
}

describe('a mask', () => {
  it('hands on what holds no secret, byte by byte, without a copy', () => {
    const mask = knowing('made-up-secret').open();
    const chunk = Buffer.from('nothing of the kind');
    const out = mask.push(chunk);
    expect(out.buffer).toBe(chunk.buffer);
    expect(Buffer.from(out)).toEqual(chunk);
  });

  it('lets no secret through wherever the stream is cut, and changes nothing else', () => {
    // Few letters, so that secrets begin, end and overlap everywhere.
    const word = fc.stringMatching(/^[ab]{6,9}$/);
    const arbitrary = fc.record({
      secrets: fc.array(word, { minLength: 1, maxLength: 3 }),
      text: fc.array(fc.oneof(word, fc.stringMatching(/^[abc]{0,5}$/)), { maxLength: 12 }),
      cuts: fc.array(fc.nat(120), { maxLength: 20 }),
    });
    fc.assert(
      fc.property(arbitrary, ({ secrets, text, cuts }) => {
        const whole = text.join('');
        const masked = maskPieces(
          knowing(...secrets),
          cut(
            whole,
            cuts.map((place) => Math.min(place, whole.length)),
          ),
        );
        for (const secret of secrets) expect(masked).not.toContain(secret);
        // The letters that stay are those of the text, in their order.
        const rest = masked.split(MASKED);
        let from = 0;
        for (const piece of rest) {
          const at = whole.indexOf(piece, from);
          expect(at).not.toBe(-1);
          from = at + piece.length;
        }
        if (!secrets.some((secret) => whole.includes(secret)) && !endsInside(whole, secrets)) {
          expect(masked).toBe(whole);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('finds it at every cut', () => {
    const secret = 'abcabcabd-made-up';
    const text = `x${secret}y${secret}${secret}`;
    for (let at = 0; at <= text.length; at++) {
      expect(maskPieces(knowing(secret), cut(text, [at]))).toBe(`x${MASKED}y${MASKED}${MASKED}`);
    }
    const bytes = Array.from({ length: text.length }, (_, at) => at);
    expect(maskPieces(knowing(secret), cut(text, bytes))).toBe(`x${MASKED}y${MASKED}${MASKED}`);
  });

  it('takes the longer of two that begin alike, also where that is still to come', () => {
    const secrets = knowing('made-up', 'made-up-and-longer');
    const text = 'made-up-and-longer made-up';
    for (let at = 0; at <= text.length; at++) {
      expect(maskPieces(secrets, cut(text, [at]))).toBe(`${MASKED} ${MASKED}`);
    }
  });

  it('knows a secret in a URL and in JSON', () => {
    const secrets = knowing('p/ss"w+rd\\1');
    const text = `${encodeURIComponent('p/ss"w+rd\\1')} ${JSON.stringify('p/ss"w+rd\\1')}`;
    expect(secrets.redact(text)).toBe(`${MASKED} "${MASKED}"`);
  });

  it('masks a half that was cut off, and not a letter that may be anything', () => {
    const secrets = knowing('made-up-secret');
    expect(maskPieces(secrets, [Buffer.from('x made-up-secr')])).toBe(`x ${MASKED}`);
    expect(maskPieces(secrets, [Buffer.from('I am')])).toBe('I am');
  });

  it('learns secrets while the stream is open', () => {
    const secrets = new Secrets();
    const mask = secrets.open();
    expect(Buffer.from(mask.push(Buffer.from('made-up'))).toString()).toBe('made-up');
    secrets.add('made-up', null);
    expect(Buffer.from(mask.push(Buffer.from('made-up'))).toString()).toBe(MASKED);
  });

  it('does not mask what is too short, and says so', () => {
    const secrets = new Secrets();
    expect(secrets.add('abc', null)).toBe(false);
    expect(secrets.add('abcdef', null)).toBe(true);
    expect(secrets.redact('abc abcdef')).toBe(`abc ${MASKED}`);
  });

  it('forgets what expired more than an hour ago, and keeps what did just now', () => {
    const secrets = new Secrets();
    secrets.add('long-ago', new Date(0));
    expect(secrets.redact('long-ago')).toBe(MASKED);
    secrets.add('just-now', new Date());
    secrets.add('another', null);
    expect(secrets.redact('long-ago just-now another')).toBe(`long-ago ${MASKED} ${MASKED}`);
  });
});
