// Looks a user up by the system's databases, as a launch does, without holding up the event loop.
import { systemError } from '../errors.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { countReference, expectUser, listenForEvents } from './events.js';
import { describeStep } from './step-failure.js';

export interface UserIds {
  readonly uid: number;
  /** Of the user's own group. */
  readonly gid: number;
}

/**
 * @param user name, or uid in decimal
 * @throws {SallyportError} stage `user`; ENOENT: not in the databases
 */
export function lookUpUser(user: string): Promise<UserIds> {
  const refusal = (errno: number): Error => {
    const { call, advice } = describeStep({ stage: 'user', errno, path: user });
    return systemError(errno, call, advice, {
      syscall: 'getpwnam',
      stage: 'user',
      stageSource: 'reported',
      stagePath: user,
    });
  };
  listenForEvents();
  const lookup = native().lookUpUser(user);
  if (isFailure(lookup)) return Promise.reject(refusal(lookup.errno));
  countReference(1);
  return new Promise((resolve, reject) => {
    expectUser(lookup, {
      receiveUser([, , errno, uid, gid]): void {
        countReference(-1);
        if (errno === 0) resolve({ uid, gid });
        else reject(refusal(errno));
      },
    });
  });
}
