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

const [firstPauseMs, longestPauseMs] = [60_000, 900_000];
/** For how long the one that tries after a pause is alone, unless it is answered before. */
const trialMs = 15_000;

/** Of one connector, in this process only. */
export function openLockout({ ClientId }: Pick<MailServerSettings, 'ClientId'>): Lockout {
  const named = ClientId ? 'ClientId and ClientSecret' : 'User and Password';
  let [refusals, until, said] = [0, 0, ''];

  function fault(): AccountRefused {
    const again = new Date(until);
    const when = again.toISOString().replace(/\.\d+Z$/, 'Z');
    return new AccountRefused(
      `${said}; are ${named} of MailServer right? Nothing is asked as this account before ${when}.`,
      again,
    );
  }

  return {
    enter() {
      if (refusals === 0) return 0;
      if (Date.now() < until) throw fault();
      until = Date.now() + trialMs;
      return refusals;
    },
    end() {
      refusals = 0;
    },
    refuse({ message }, entered) {
      // Those that were in flight together count as one.
      if (entered === refusals) {
        refusals += 1;
        until = Date.now() + Math.min(firstPauseMs * 2 ** (refusals - 1), longestPauseMs);
        said = message;
      }
      return fault();
    },
  };
}
