/** Limits per minute (contract 6), counted over all processes. Each limited answer has headers with the remaining uses. */
import { hash } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Context, Viewer } from '../context.ts';
import { LimitExceeded, secondsUntil } from '../errors.ts';
import { addressSends, type BodySender } from '../http/body-memory.ts';
import { networkOf } from '../http/networks.ts';

type Limit = {
  /** The limit's name in the headers, and the prefix of its counts' keys. */
  name: string;
  most: number;
  /** The words of a refusal: what is counted, for whom, by which setting, and what helps besides waiting. */
  of: string;
  each: string;
  setting: string;
  remedy?: string;
};

const requestLimit = ({ config }: Context): Limit => ({
  name: 'requests',
  most: config.Limits.RequestsPerMinute,
  of: 'requests',
  each: 'token',
  setting: 'Limits__RequestsPerMinute',
});

/** A limit for callers without a credential, who are counted by address. */
const addressLimit = ({ config }: Pick<Context, 'config'>, name: string, of: string): Limit => ({
  name,
  most: config.Limits.TokenRequestsPerMinute,
  of,
  each: 'address',
  setting: 'Limits__TokenRequestsPerMinute',
});

/** The key under which uses are counted. `partition` is its hash for the headers. */
type Counted = { key: string; partition: string };

function countedBy({ name }: Limit, key: string): Counted {
  // Not the first half of a longer text, which would keep the whole of it.
  return { key: `${name} ${key}`, partition: hash('sha256', key, 'buffer').toString('hex', 0, 8) };
}

const viewers = new WeakMap<Viewer, Counted>();

/** A cache: authentication returns the same viewer object for some seconds. */
function countedByViewer(limit: Limit, viewer: Viewer): Counted {
  let counted = viewers.get(viewer);
  if (!counted) viewers.set(viewer, (counted = countedBy(limit, `${viewer.mandatorId} ${viewer.credential}`)));
  return counted;
}

const countedByAddress = (limit: Limit, ip: string | undefined) => countedBy(limit, networkOf(ip));

const refusal = ({ most, of, each, setting, remedy }: Limit, resetsAt: Date): LimitExceeded =>
  LimitExceeded.until(resetsAt, most, `${of} in a minute for one ${each} (${setting})`, remedy);

/** @throws LimitExceeded */
function use({ rates }: Pick<Context, 'rates'>, limit: Limit, { key }: Counted, uses = 1): void {
  const { used, resetsAt } = rates.count(key, uses);
  if (used > limit.most) throw refusal(limit, resetsAt);
}

/** Sets `RateLimit` and `RateLimit-Policy` (draft 8) on each answer. @throws LimitExceeded beyond the limit */
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

/** Limits the requests of a token; runs after `authenticate`. */
export function limitRequests(context: Context): RequestHandler {
  const limit = requestLimit(context);
  return limitBy(context.rates, limit, (_request, response) =>
    countedByViewer(limit, response.locals['viewer'] as Viewer),
  );
}

/** Counts GraphQL operations without an HTTP request of their own as requests of the viewer. @throws LimitExceeded */
export function countRequest(context: Context, viewer: Viewer, uses = 1): void {
  const limit = requestLimit(context);
  use(context, limit, countedByViewer(limit, viewer), uses);
}

/** Counts a wrong token in a URL by the caller's IP address. @throws LimitExceeded */
export function countWrongToken(context: Context, ip: string | undefined): void {
  const limit = addressLimit(context, 'wrong-tokens', 'wrong tokens');
  use(context, limit, countedByAddress(limit, ip));
}

/** Limits the requests for tokens from one IPv4 address or IPv6 /64. */
export function limitTokenRequests(context: Context): RequestHandler {
  const limit = addressLimit(context, 'token-requests', 'requests for tokens');
  return limitBy(context.rates, limit, ({ ip }) => countedByAddress(limit, ip));
}

/** Limits the requests to pair a device from one IPv4 address or IPv6 /64. */
export function limitPairings(context: Context): RequestHandler {
  const limit = addressLimit(context, 'pairings', 'requests to pair a device');
  return limitBy(context.rates, limit, ({ ip }) => countedByAddress(limit, ip));
}

/** The sender by which the bodies of callers without a credential are counted. */
export const anonymousSender = (ip: string | undefined): BodySender => addressSends(networkOf(ip));

/**
 * Counts notifications of mail servers: by the subscription whose secret they carry, otherwise by IP address.
 * @param cost how much of the limit this one uses
 * @throws LimitExceeded when the limit was used up before
 */
export function countNotifications(
  { rates, config: { Limits } }: Context,
  sender: { subscriptionId: number } | { address: string },
  cost: number,
): void {
  const of = 'notifications, or KiB of them,';
  const [limit, key]: [Limit, string] =
    'address' in sender
      ? [
          {
            name: 'unknown-notifications',
            most: Limits.UnknownNotificationsPerMinute,
            of: `${of} without a valid secret`,
            each: 'address',
            setting: 'Limits__UnknownNotificationsPerMinute',
            remedy:
              ' Send them to the complete callback URL of a subscription: with its secret they are counted separately.',
          },
          networkOf(sender.address),
        ]
      : [
          {
            name: 'notifications',
            most: Limits.NotificationsPerMinute,
            of,
            each: 'subscription',
            setting: 'Limits__NotificationsPerMinute',
            remedy:
              ' Repeat the request then, or have the limit raised; calendars are also read without notifications.',
          },
          String(sender.subscriptionId),
        ];
  const { used, resetsAt } = rates.count(countedBy(limit, key).key, cost);
  if (used - cost >= limit.most) throw refusal(limit, resetsAt);
}
