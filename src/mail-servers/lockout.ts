/** A mail server that does not take the account is left alone for a while: every further attempt might lock the account out. */
import type { MailServerSettings } from '../config.ts';
import { AccountRefused } from './faults.ts';

export type Lockout = {
  /** To be called before anything is asked. @returns what an answer is told with @throws AccountRefused during a pause */
  enter(): number;
  /** The mail server has answered with something else than 401. */
  end(): void;
  /** @param entered of the attempt that has failed @returns what is thrown for it */
  refuse(fault: AccountRefused, entered: number): AccountRefused;
};

const [firstPause, longestPause] = [60_000, 900_000];
/** For how long the one that tries after a pause is alone, unless it is answered before. */
const trial = 15_000;

const untilWords = 'Nothing is asked as this account before';

/** When the pause ends that a fault of a calendar tells of; undefined where it tells of none, or that is over. */
export function pauseOf(fault: { text: string } | null): Date | undefined {
  const [, told = ''] = fault?.text.split(`${untilWords} `) ?? [];
  const [when] = /^\S{1,30}Z(?=\.)/.exec(told) ?? [];
  const end = when === undefined ? undefined : new Date(when);
  return end && end.getTime() > Date.now() ? end : undefined;
}

/** Of one connector, in this process only. */
export function openLockout({ ClientId }: Pick<MailServerSettings, 'ClientId'>): Lockout {
  const named = ClientId ? 'ClientId and ClientSecret' : 'User and Password';
  let [refusals, until, said] = [0, 0, ''];

  function fault(): AccountRefused {
    const again = new Date(until);
    const when = again.toISOString().replace(/\.\d+Z$/, 'Z');
    return new AccountRefused(`${said}; are ${named} of MailServer right? ${untilWords} ${when}.`, again);
  }

  return {
    enter() {
      if (refusals === 0) return 0;
      if (Date.now() < until) throw fault();
      until = Date.now() + trial;
      return refusals;
    },
    end() {
      refusals = 0;
    },
    refuse({ message }, entered) {
      // Those that were in flight together count as one.
      if (entered === refusals) {
        refusals += 1;
        until = Date.now() + Math.min(firstPause * 2 ** (refusals - 1), longestPause);
        said = message;
      }
      return fault();
    },
  };
}
