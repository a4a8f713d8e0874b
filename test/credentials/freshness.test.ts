// When a credential is minted, how often, and for how long.
import { describe, expect, it, vi } from 'vitest';

import {
  createCredentialBroker,
  type CredentialBroker,
  type CredentialStatus,
} from '../../src/credentials.js';
import { waitFor } from '../support/processes.js';
import { madeUpPassword, runId } from './support/scenes.js';

const delivery = { by: 'file', path: 'password', render: () => 'nothing of it' } as const;

function statusOf(broker: CredentialBroker): CredentialStatus {
  const [status] = broker.status();
  if (status === undefined) throw new Error('no source');
  return status;
}

const time = (text: string | null): number => new Date(text ?? Number.NaN).getTime();

describe('a credential', () => {
  it('is minted again within the lead and the jitter', async () => {
    const seen = new Set<number>();
    for (let i = 0; i < 20; i++) {
      const { source } = madeUpPassword(900_000, { delivery, lead: 300_000, jitter: 60_000 });
      const broker = createCredentialBroker({ runId, sources: [source] });
      await broker.open();
      const { state, expiresAt, renewAt } = statusOf(broker);
      expect(state).toBe('fresh');
      const ahead = time(expiresAt) - time(renewAt);
      expect(ahead).toBeGreaterThanOrEqual(300_000);
      expect(ahead).toBeLessThanOrEqual(360_000);
      seen.add(ahead);
      await broker.close();
    }
    expect(seen.size).toBeGreaterThan(1);
  });

  it('has by default a third of its life as lead and a tenth as jitter', async () => {
    const broker = createCredentialBroker({
      runId,
      sources: [madeUpPassword(900_000, { delivery }).source],
    });
    await broker.open();
    const { expiresAt, renewAt } = statusOf(broker);
    const ahead = time(expiresAt) - time(renewAt);
    expect(ahead).toBeGreaterThanOrEqual(299_000);
    expect(ahead).toBeLessThanOrEqual(391_000);
    await broker.close();
  });

  it('is minted again in time although the clock is set back', async () => {
    const { source, passwords } = madeUpPassword(1_000, { delivery });
    const broker = createCredentialBroker({ runId, sources: [source] });
    await broker.open();
    const clock = vi.spyOn(Date, 'now');
    const offset = 3_600_000;
    const started = performance.now();
    const base = new Date().getTime();
    clock.mockImplementation(() => base - offset + performance.now() - started);
    try {
      await waitFor('a second one', () => passwords.length > 1);
      await waitFor('it to be there', () => statusOf(broker).minted > 1);
      // By the clock as it is now.
      expect(time(statusOf(broker).expiresAt)).toBeLessThan(base - offset + 60_000);
    } finally {
      clock.mockRestore();
      await broker.close();
    }
  });

  it('is not minted for the time after the run', async () => {
    const { source } = madeUpPassword(900_000, { delivery });
    const broker = createCredentialBroker({ runId, sources: [source] });
    await broker.open({ deadline: 600_000 });
    expect(statusOf(broker)).toMatchObject({ state: 'fresh', renewAt: null });
    await broker.close();
  });

  it('that is fixed at the start is minted once', async () => {
    const { source } = madeUpPassword(900_000, {
      delivery: { by: 'env', variables: { PASSWORD: 'password' } },
    });
    const broker = createCredentialBroker({ runId, sources: [source] });
    await broker.open({ deadline: 800_000 });
    expect(statusOf(broker).renewAt).toBeNull();
    await broker.close();
  });

  it('that does not expire is minted once', async () => {
    const broker = createCredentialBroker({
      runId,
      sources: [madeUpPassword(null, { delivery }).source],
    });
    await broker.open();
    expect(statusOf(broker)).toMatchObject({ state: 'fresh', expiresAt: null, renewAt: null });
    await broker.close();
  });

  it('is minted by one call at a time, however many wait for it', async () => {
    let atOnce = 0;
    let most = 0;
    const gate: Array<() => void> = [];
    const { source, passwords } = madeUpPassword(400, { delivery });
    const { mint } = source;
    const slow = {
      ...source,
      mint: async (context: Parameters<typeof mint>[0]) => {
        most = Math.max(most, ++atOnce);
        if (passwords.length > 0) await new Promise<void>((resolve) => gate.push(resolve));
        atOnce -= 1;
        return mint(context);
      },
    };
    const broker = createCredentialBroker({ runId, sources: [slow] });
    await broker.open();
    // It has expired while the second mint stands still: nobody starts a third.
    await waitFor('expiry', () => {
      const { expiresAt } = statusOf(broker);
      return gate.length > 0 && time(expiresAt) < Date.now();
    });
    expect({ most, waiting: gate.length }).toEqual({ most: 1, waiting: 1 });
    expect(statusOf(broker).state).toBe('refreshing');
    gate.shift()?.();
    await waitFor('a fresh one', () => statusOf(broker).minted === 2);
    await broker.close();
  });

  it('whose mint hangs is given up at its deadline, and what comes too late is revoked', async () => {
    const revoked: string[] = [];
    let give: (() => void) | undefined;
    const { source, passwords } = madeUpPassword(60_000, {
      delivery,
      mintDeadline: 50,
      revoke: ({ values }) => void revoked.push(values['password'] ?? ''),
    });
    const { mint } = source;
    const signals: AbortSignal[] = [];
    const hanging = {
      ...source,
      mint: async (context: Parameters<typeof mint>[0]) => {
        signals.push(context.signal);
        await new Promise<void>((resolve) => (give = resolve));
        return mint(context);
      },
    };
    const broker = createCredentialBroker({ runId, sources: [hanging] });
    await expect(broker.open()).rejects.toMatchObject({
      code: 'ERR_SALLYPORT_CREDENTIAL_UNAVAILABLE',
      stage: 'credentials',
      stagePath: 'made-up',
      message: expect.stringContaining('it took longer than 50 ms') as string,
    });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(revoked).toEqual([]);
    give?.();
    await waitFor('the revocation', () => revoked.length === 1);
    expect(revoked).toEqual(passwords);
  });

  it('is revoked at the end, each set that still holds, and an error of that is in the report', async () => {
    const revoked: string[] = [];
    const good = madeUpPassword(60_000, {
      delivery,
      revoke: ({ values }) => void revoked.push(values['password'] ?? ''),
    });
    const bad = madeUpPassword(60_000, {
      delivery,
      name: 'other',
      revoke: ({ values }) => {
        throw new Error(`no such password: ${values['password'] ?? ''}`);
      },
    });
    const broker = createCredentialBroker({ runId, sources: [good.source, bad.source] });
    await broker.open();
    expect(broker.report().grants.map(({ revocation }) => revocation)).toEqual([null, null]);
    const { grants } = await broker.close();
    expect(revoked).toEqual(good.passwords);
    expect(grants.map(({ revocation }) => revocation)).toEqual([
      { revoked: 1, errors: [] },
      { revoked: 0, errors: ['no such password: ***'] },
    ]);
  });

  it.each([
    ['nothing', undefined, 'no values'],
    [
      'a number',
      { values: { username: 'x', password: 1 }, expiresAt: null },
      'password is no string',
    ],
    ['no date', { values: { username: 'x', password: 'y' } }, 'no expiresAt'],
    ['what is over', { values: { password: 'y' }, expiresAt: new Date(0) }, 'expired at 1970'],
    ['less', { values: { username: 'x' }, expiresAt: null }, 'gave no password'],
  ])('of which a source gives %s is unavailable', async (_, minted, message) => {
    const { source } = madeUpPassword(null, {
      delivery: { ...delivery, needs: ['password'] },
      mint: () => minted as never,
    });
    const broker = createCredentialBroker({ runId, sources: [source] });
    await expect(broker.open()).rejects.toThrow(message);
  });
});
