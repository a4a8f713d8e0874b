// sealDescriptors: which kinds, what is left out, 0 to 2, and again at an interval.
import { describe, expect, it } from 'vitest';

import { sealDescriptors, type SealOptions } from '../../src/index.js';
import { thrown } from '../support/errors.js';
import { inNode } from '../support/node-script.js';

const seal = (options: Pick<SealOptions, 'kinds' | 'except' | 'standard'>) =>
  inNode(({ sallyport, storm }, options) => {
    const listener = storm.listenInheritable(40).fd;
    const [socket] = storm.makeInheritable('udp', 50);
    const file = storm.openInheritable('/etc/hosts', 60);
    // Node has sealed these itself.
    for (const fd of [0, 1, 2]) storm.setCloexec(fd, false);
    const numbers = sallyport.sealDescriptors(options).map(({ fd }) => fd);
    const sealed = [listener, socket, file].filter((fd) => storm.isCloexec(fd ?? -1));
    const standard = [0, 1, 2].filter((fd) => storm.isCloexec(fd));
    return { numbers, sealed, standard };
  }, options);

describe('sealDescriptors', () => {
  it.each<[SealOptions, number[]]>([
    [{ kinds: 'listeners' }, [40]],
    [{ kinds: 'sockets' }, [40, 50]],
    [{ kinds: 'all' }, [40, 50, 60]],
    [{ kinds: 'all', except: [50] }, [40, 60]],
    [{ except: [40, 1000] }, [50]],
    [{}, [40, 50]],
  ])('%j', async (options, expected) => {
    const seen = await seal(options);
    expect(seen.sealed).toEqual(expected);
    expect(seen.numbers).toEqual(expect.arrayContaining(expected));
    expect(seen.standard).toEqual([]);
  });

  it('touches 0, 1 and 2 only where it is told to', async () => {
    expect((await seal({ kinds: 'all', standard: true })).standard).toEqual([0, 1, 2]);
  });

  it('a later pass at the limit of descriptors ends nothing, and the next one seals', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const sealed: number[] = [];
      sallyport.sealDescriptors({
        kinds: 'listeners',
        every: 5,
        onSealed: (found) => sealed.push(...found.map(({ fd }) => fd)),
      });
      storm.setSoftLimit('nofile', 60);
      const { fd } = storm.listenInheritable(40);
      const fillers: number[] = [];
      let refusal: unknown;
      try {
        for (;;) fillers.push(fs.openSync('/dev/null', 'r'));
      } catch {
        try {
          sallyport.sealDescriptors();
        } catch (error) {
          refusal = (error as Error).message;
        }
      }
      // A timer of the same interval that was started later: it runs after the one that seals.
      await new Promise<void>((resolve) => {
        let left = 3;
        const timer = setInterval(() => {
          if (--left > 0) return;
          clearInterval(timer);
          resolve();
        }, 5);
      });
      const during = [...sealed];
      for (const filler of fillers) fs.closeSync(filler);
      await processes.waitFor('the next pass', () => storm.isCloexec(fd));
      return { during, sealed, refusal };
    }, null);
    expect(seen).toEqual({
      during: [],
      sealed: [40],
      refusal: expect.stringMatching(/^seal EMFILE: .*: all of 60 descriptors are open/) as string,
    });
  });

  it('refuses to leave out what is no number of a descriptor', () => {
    for (const fd of [-1, 0.5, NaN, 2 ** 31, 2 ** 32 + 5]) {
      const { code } = thrown(() => sealDescriptors({ except: [fd] }));
      expect(code).toBe('ERR_SALLYPORT_INVALID_ARGUMENT');
    }
  });

  it('seals again what is opened later, and keeps no process running', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes }) => {
      const stop = new AbortController();
      const later: number[][] = [];
      sallyport.sealDescriptors({
        kinds: 'listeners',
        every: 5,
        signal: stop.signal,
        onSealed: (sealed) => later.push(sealed.map(({ fd }) => fd)),
      });
      const first = storm.listenInheritable(40).fd;
      await processes.waitFor('the second pass', () => storm.isCloexec(first));
      stop.abort();
      const second = storm.listenInheritable(50).fd;
      await new Promise((resolve) => setTimeout(resolve, 40));
      // Not stopped: the process must end all the same.
      sallyport.sealDescriptors({ kinds: 'sockets', every: 5, except: [second] });
      return { later, stopped: !storm.isCloexec(second) };
    }, null);
    expect(seen).toEqual({ later: [[40]], stopped: true });
  });

  it.each([
    [{ except: 3 }],
    [{ except: ['3'] }],
    [{ every: 0 }],
    [{ every: '1s' }],
    [{ standard: 1 }],
    [{ signal: {} }],
    [{ onSealed: 1 }],
    [{ kinds: 'toString' }],
  ])('refuses %j', (options) => {
    const error = thrown(() => sealDescriptors(options as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.code).toBe('ERR_SALLYPORT_INVALID_ARGUMENT');
  });
});
