// Calls back in the asynchronous context of whoever asked for it, as AsyncLocalStorage has it.
import { AsyncResource } from 'node:async_hooks';

/**
 * What native threads tell comes in no context, or in that of the first launch of all: a request would
 * be taken for another one.
 */
export function inThisContext<Arguments extends unknown[]>(
  call: (...given: Arguments) => void,
): (...given: Arguments) => void {
  const resource = new AsyncResource('SALLYPORT');
  return (...given) => {
    resource.runInAsyncScope(call, undefined, ...given);
  };
}

const outside = new AsyncResource('SALLYPORT');

/** For what is opened once and kept: it would keep the context of whoever came first, for ever. */
export function outOfContext<Opened>(open: () => Opened): Opened {
  return outside.runInAsyncScope(open);
}
