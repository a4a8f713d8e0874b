// Secrets are taken out of a stream wherever it is cut, and nothing else is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MASKED, Secrets, veil } from '../../src/credentials/mask.js';

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

  it('gives the same wherever the stream is cut', () => {
    const word = fc.stringMatching(/^[ab]{6,12}$/);
    const arbitrary = fc.record({
      secrets: fc.array(word, { minLength: 1, maxLength: 4 }),
      text: fc.array(fc.oneof(word, fc.stringMatching(/^[abc]{0,5}$/)), { maxLength: 12 }),
      cuts: fc.array(fc.nat(160), { maxLength: 30 }),
    });
    fc.assert(
      fc.property(arbitrary, ({ secrets, text, cuts }) => {
        const whole = text.join('');
        const places = cuts.map((place) => Math.min(place, whole.length));
        const known = knowing(...secrets);
        expect(maskPieces(known, cut(whole, places))).toBe(maskPieces(known, cut(whole, [])));
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

  const printable = fc.string({ unit: 'grapheme', minLength: 12, maxLength: 40 });
  const bytes = fc.uint8Array({ maxLength: 40 });

  it.each([
    ['in a URL', (text: string) => encodeURIComponent(text)],
    [
      'in a URL, with small letters',
      (text: string) => encodeURIComponent(text).replace(/%../g, (it) => it.toLowerCase()),
    ],
    ['in a form', (text: string) => new URLSearchParams({ a: text }).toString().slice(2)],
    ['in JSON', (text: string) => JSON.stringify(text).slice(1, -1)],
    [
      'in JSON of ASCII',
      (text: string) =>
        JSON.stringify(text)
          .slice(1, -1)
          .replace(/[^ -~]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ],
  ])('knows it %s, wherever the stream is cut', (_, encode) => {
    fc.assert(
      fc.property(printable, fc.array(fc.nat(400), { maxLength: 6 }), (secret, cuts) => {
        fc.pre(secret.length >= 6);
        const text = `[${encode(secret)}]`;
        const latin = Buffer.from(text).toString('latin1');
        const pieces = cut(
          latin,
          cuts.map((place) => Math.min(place, latin.length)),
        );
        expect(maskPieces(knowing(secret), pieces)).toBe(`[${MASKED}]`);
      }),
      { numRuns: 500 },
    );
  });

  it.each(['base64', 'base64url'] as const)(
    'knows it in %s at each of three places, wherever the stream is cut',
    (encoding) => {
      const word = fc.string({ unit: 'binary-ascii', minLength: 10, maxLength: 40 });
      const cuts = fc.array(fc.nat(200), { maxLength: 6 });
      fc.assert(
        fc.property(bytes, word, bytes, cuts, (before, secret, after, places) => {
          const text = Buffer.concat([before, Buffer.from(secret), after]).toString(encoding);
          // What of it depends on the secret alone: six bits each.
          const first = Math.ceil((before.length * 8) / 6);
          const end = Math.floor(((before.length + secret.length) * 8) / 6);
          const masked = maskPieces(
            knowing(secret),
            cut(
              text,
              places.map((place) => Math.min(place, text.length)),
            ),
          );
          // At the end, and before a line end, also the character in which it ends.
          const [head, tail, ...more] = masked.split(MASKED);
          expect([head, more]).toEqual([text.slice(0, first), []]);
          expect(text.slice(end).endsWith(tail ?? '-')).toBe(true);
          expect(masked).not.toContain(text.slice(first, end));
          if (after.length === 0) expect(tail).toBe('');
        }),
        { numRuns: 2_000 },
      );
    },
  );

  it('knows it in the header of a basic authentication, and encoded with a line end', () => {
    const secrets = knowing('made-up-secret');
    for (const user of ['', 'u', 'us', 'use', 'user']) {
      const header = Buffer.from(`${user}:made-up-secret`).toString('base64');
      const masked = secrets.redact(`Authorization: Basic ${header}\n`);
      expect(masked).toMatch(/^Authorization: Basic [\w+/]{0,8}\*\*\*\n$/);
      expect(Buffer.from(masked.slice(21), 'base64').toString()).not.toContain('made');
    }
    const line = Buffer.from('made-up-secret\n').toString('base64');
    expect(secrets.redact(line)).toBe(MASKED);
  });

  it('masks what is complete within the beginning of another at the end', () => {
    const secrets = knowing('bcdefg', 'abcdefgh-and-very-much-longer-than-the-other');
    expect(secrets.redact('x abcdefg')).toBe(`x a${MASKED}`);
    // And a half of the shorter one in there.
    expect(secrets.redact('x abcdef')).toBe(`x a${MASKED}`);
  });

  it('shows after a while what tells nothing of a secret, and masks what follows', () => {
    const say = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();
    const mask = knowing('made-up-secret').open();
    expect(say(mask.push(Buffer.from('I am')))).toBe('I a');
    expect(say(mask.idle?.())).toBe('m');
    expect(say(mask.idle?.())).toBe('');
    expect(say(mask.push(Buffer.from('ade-up')))).toBe('');
    // More than that would tell something.
    expect(say(mask.idle?.())).toBe('');
    expect(say(mask.push(Buffer.from('-secret.')))).toBe(`${MASKED}.`);
    expect(say(mask.push(Buffer.from('m')))).toBe('');
    expect(say(mask.idle?.())).toBe('m');
    expect(say(mask.push(Buffer.from('y')))).toBe('y');
    expect(say(mask.push(Buffer.from('mad')))).toBe('');
    expect(say(mask.idle?.())).toBe('mad');
    expect(say(mask.flush())).toBe('');
    const short = knowing('secret').open();
    expect(say(short.push(Buffer.from('se')))).toBe('');
    expect(say(short.idle?.())).toBe('');
  });

  it('lets no secret through however often it was silent in between', () => {
    const word = fc.stringMatching(/^[ab]{8,12}$/);
    const arbitrary = fc.record({
      secrets: fc.array(word, { minLength: 1, maxLength: 3 }),
      text: fc.array(fc.oneof(word, fc.stringMatching(/^[abc]{0,5}$/)), { maxLength: 12 }),
      cuts: fc.array(fc.tuple(fc.nat(120), fc.boolean()), { maxLength: 20 }),
    });
    fc.assert(
      fc.property(arbitrary, ({ secrets, text, cuts }) => {
        const whole = text.join('');
        const mask = knowing(...secrets).open();
        const places = cuts.sort(([a], [b]) => a - b);
        let out = '';
        let from = 0;
        const give = (bytes: Uint8Array | undefined): void => {
          out += Buffer.from(bytes ?? []).toString();
        };
        for (const [at, isSilent] of places) {
          give(mask.push(Buffer.from(whole.slice(from, at))));
          if (isSilent) give(mask.idle?.());
          from = Math.max(from, at);
        }
        give(mask.push(Buffer.from(whole.slice(from))));
        give(mask.flush());
        for (const secret of secrets) expect(out).not.toContain(secret);
      }),
      { numRuns: 2_000 },
    );
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

describe('a guess at what an error tells', () => {
  it.each([
    ['fetch https://me:pw@vault.example/v1 failed', 'fetch https://***@vault.example/v1 failed'],
    ['wrong password: hunter22', 'wrong password: ***'],
    ['api_key="a1b2c3d4" is unknown', 'api_key="***" is unknown'],
    ['Authorization: Bearer abcdefgh1234', 'Authorization: ***'],
    ['AKIAIOSFODNN7EXAMPLE is unknown', '*** is unknown'],
    ['no ghp_16C7e42F292c6912E7710c838347Ae178B4a', 'no ***'],
  ])('%j', (text, veiled) => {
    expect(veil(text)).toBe(veiled);
  });

  it.each([
    'AccessDenied: User: arn:aws:iam::111122223333:user/harness is not authorized to perform it',
    'ENOENT: no such file or directory, open /tmp/sallyport-test-a8sd7f/mint-x1',
    'the security token included in the request is expired',
    'connect ECONNREFUSED 127.0.0.1:5432',
  ])('leaves %j', (text) => {
    expect(veil(text)).toBe(text);
  });
});

it('a report has no secret, whatever programs are called', () => {
  const secrets = knowing('made-up-secret');
  const report = { fetches: [{ executable: '/tmp/made-up-secret', pid: 1, why: null }] };
  expect(secrets.redactAll(report)).toEqual({
    fetches: [{ executable: `/tmp/${MASKED}`, pid: 1, why: null }],
  });
});
