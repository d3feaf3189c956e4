/** Limits per minute (contract 6), counted over all processes; every answer behind one tells how much of it is left. */
import { hash } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import type { Context, Viewer } from '../context.ts';
import { LimitExceeded } from '../errors.ts';

type Limit = {
  /** Stands in the headers, and sets the counts of one limit apart from another's. */
  name: string;
  most: number;
  /** What the limit is for, in the words of the refusal. */
  each: string;
};

const requestLimit = ({ config }: Context): Limit => ({
  name: 'requests',
  most: config.Limits.RequestsPerMinute,
  each: 'token',
});

/** Whose requests are counted together. `partition` is what the headers tell of the key. */
type Counted = { key: string; partition: string };

function countedBy({ name }: Limit, key: string): Counted {
  return { key: `${name} ${key}`, partition: hash('sha256', key, 'hex').slice(0, 16) };
}

const viewers = new WeakMap<Viewer, Counted>();

/** A viewer is known for some seconds, and seen with each of its requests. */
function countedByViewer(limit: Limit, viewer: Viewer): Counted {
  let counted = viewers.get(viewer);
  if (!counted)
    viewers.set(viewer, (counted = countedBy(limit, `${viewer.mandatorId} ${viewer.credential}`)));
  return counted;
}

const secondsUntil = (resetsAt: Date) => Math.max(0, Math.ceil((resetsAt.getTime() - Date.now()) / 1_000));

function refusal({ most, each }: Limit, resetsAt: Date, what = 'requests'): LimitExceeded {
  const seconds = Math.max(1, secondsUntil(resetsAt));
  return new LimitExceeded(
    `More than ${most} ${what} in a minute for one ${each}; wait ${seconds} seconds.`,
    seconds,
  );
}

/** `RateLimit` and `RateLimit-Policy` (draft 8) on every answer, LimitExceeded past the limit. */
function limitBy(
  rates: Context['rates'],
  limit: Limit,
  countedOf: (request: Request, response: Response) => Counted,
): RequestHandler {
  const { name, most } = limit;
  return (request, response, next) => {
    const { key, partition } = countedOf(request, response);
    const { used, resetsAt } = rates.count(key);
    response.setHeader('RateLimit', `"${name}"; r=${Math.max(0, most - used)}; t=${secondsUntil(resetsAt)}`);
    response.setHeader('RateLimit-Policy', `"${name}"; q=${most}; w=60; pk=:${partition}:`);
    if (used > most) throw refusal(limit, resetsAt);
    next();
  };
}

/** Limits the requests of a token; stands behind `authenticate`. */
export function limitRequests(context: Context): RequestHandler {
  const limit = requestLimit(context);
  return limitBy(context.rates, limit, (_request, response) =>
    countedByViewer(limit, response.locals['viewer'] as Viewer),
  );
}

/** Counts what is no request of HTTP as one of this viewer's. @throws LimitExceeded */
export function countRequest(context: Context, viewer: Viewer, uses = 1): void {
  const limit = requestLimit(context);
  const { used, resetsAt } = context.rates.count(countedByViewer(limit, viewer).key, uses);
  if (used > limit.most) throw refusal(limit, resetsAt);
}

/** Counts a wrong token in the address of a request, by whom it comes from. @throws LimitExceeded */
export function countWrongToken({ rates, config }: Context, ip = ''): void {
  const limit = { name: 'wrong-tokens', most: config.Limits.TokenRequestsPerMinute, each: 'address' };
  const { used, resetsAt } = rates.count(countedBy(limit, ipKeyGenerator(ip, 64)).key);
  if (used > limit.most) throw refusal(limit, resetsAt);
}

/** Limits the requests for tokens of an address, of IPv6 the /64. */
export function limitTokenRequests({ rates, config }: Context): RequestHandler {
  const limit = { name: 'token-requests', most: config.Limits.TokenRequestsPerMinute, each: 'address' };
  return limitBy(rates, limit, ({ ip = '' }) => countedBy(limit, ipKeyGenerator(ip, 64)));
}

/** Limits the requests of devices to be paired that come from one address, of IPv6 the /64. */
export function limitPairings({ rates, config }: Context): RequestHandler {
  const limit = { name: 'pairings', most: config.Limits.TokenRequestsPerMinute, each: 'address' };
  return limitBy(rates, limit, ({ ip = '' }) => countedBy(limit, ipKeyGenerator(ip, 64)));
}

/**
 * Counts what mail servers send, by the subscription that its secret proves, or else by whom it comes from.
 * @param cost of which a minute has so much
 * @throws LimitExceeded when it was used up before
 */
export function countNotifications(
  { rates, config: { Limits } }: Context,
  sender: { subscriptionId: number } | { address: string },
  cost: number,
): void {
  const [limit, key] =
    'address' in sender
      ? [
          { name: 'unknown-notifications', most: Limits.UnknownNotificationsPerMinute, each: 'address' },
          ipKeyGenerator(sender.address, 64),
        ]
      : [
          { name: 'notifications', most: Limits.NotificationsPerMinute, each: 'subscription' },
          String(sender.subscriptionId),
        ];
  const { used, resetsAt } = rates.count(countedBy(limit, key).key, cost);
  if (used - cost >= limit.most) throw refusal(limit, resetsAt, 'notifications');
}
