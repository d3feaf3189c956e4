/** Sends nothing for a while after a mail server has refused the account, as further attempts might lock the account. */
import type { MailServerSettings } from '../config.ts';
import { doubledPause } from '../flow/retry.ts';
import { toSecond } from '../log.ts';
import { minute } from '../time/durations.ts';
import { AccountRefused } from './faults.ts';

export type Lockout = {
  /** Call it before each request. @returns a ticket for `refuse` @throws AccountRefused during a pause */
  enter(): number;
  /** Call it after an answer other than 401. */
  end(): void;
  /** Call it after a 401. @param entered the request's ticket @returns the error to throw */
  refuse(fault: AccountRefused, entered: number): AccountRefused;
};

const pauses = { firstMs: minute, longestMs: 15 * minute };
/** How long the first request after a pause holds back all others, unless it is answered earlier. */
const trialMs = 15_000;

/** The lockout of one connector, in this process only. */
export function openLockout({
  ClientId,
  ServiceAccountKey,
}: Pick<MailServerSettings, 'ClientId' | 'ServiceAccountKey'>): Lockout {
  const named = ServiceAccountKey
    ? 'ServiceAccountKey and User'
    : ClientId
      ? 'ClientId and ClientSecret'
      : 'User and Password';
  let [refusals, until, said] = [0, 0, ''];

  function fault(): AccountRefused {
    const again = new Date(until);
    const when = toSecond(again);
    return new AccountRefused(
      `${said}; are ${named} of MailServer right? The account is not used again before ${when}.`,
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
      // Refusals of requests that were in flight together count once.
      if (entered === refusals) {
        until = Date.now() + doubledPause(refusals++, pauses);
        said = message;
      }
      return fault();
    },
  };
}
