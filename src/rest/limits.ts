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

/** The limits of callers with a credential. However many of them a person has, they share the person's limit. */
const requestLimits = ({ config: { Limits } }: Context): { own: Limit; ofTenant: Limit } => ({
  own: {
    name: 'requests',
    most: Limits.RequestsPerMinute,
    of: 'requests',
    each: 'person or calendar address',
    setting: 'Limits__RequestsPerMinute',
  },
  ofTenant: {
    name: 'tenant-requests',
    most: Limits.TenantRequestsPerMinute ?? 200 * Limits.RequestsPerMinute,
    of: 'requests',
    each: 'tenant',
    setting: 'Limits__TenantRequestsPerMinute',
  },
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

const viewers = new WeakMap<Viewer, { own: Counted; ofTenant: Counted }>();

/** A cache: authentication returns the same viewer object for some seconds. */
function countedByViewer({ own, ofTenant }: ReturnType<typeof requestLimits>, viewer: Viewer) {
  let counted = viewers.get(viewer);
  if (!counted) {
    const { mandatorId, personId, calendarTokenId } = viewer;
    // Others than the person use a calendar address, and must not use up the person's limit.
    const caller = calendarTokenId === undefined ? `${personId}` : `calendar ${calendarTokenId}`;
    counted = { own: countedBy(own, `${mandatorId} ${caller}`), ofTenant: countedBy(ofTenant, `${mandatorId}`) };
    viewers.set(viewer, counted);
  }
  return counted;
}

const countedByAddress = (limit: Limit, ip: string | undefined) => countedBy(limit, networkOf(ip));

/** A limit after a use of it. */
type UsedLimit = ReturnType<Context['rates']['count']> & { limit: Limit; counted: Counted };

const isPast = ({ used, limit }: UsedLimit): boolean => used > limit.most;

const useOf = ({ rates }: Pick<Context, 'rates'>, limit: Limit, counted: Counted, uses = 1): UsedLimit => ({
  ...rates.count(counted.key, uses),
  limit,
  counted,
});

/**
 * Counts requests of a viewer, and those within the viewer's own limit for its tenant, too: nobody uses that up alone.
 * @returns the use of the tenant's limit if only that is past
 */
function useOfViewer(context: Context, limits: ReturnType<typeof requestLimits>, viewer: Viewer, uses = 1): UsedLimit {
  const counted = countedByViewer(limits, viewer);
  const own = useOf(context, limits.own, counted.own, uses);
  if (isPast(own)) return own;
  const ofTenant = useOf(context, limits.ofTenant, counted.ofTenant, uses);
  return isPast(ofTenant) ? ofTenant : own;
}

const refusal = ({ most, of, each, setting, remedy }: Limit, resetsAt: Date): LimitExceeded =>
  LimitExceeded.until(resetsAt, most, `${of} in a minute for one ${each} (${setting})`, remedy);

/** @throws LimitExceeded */
function checkUse(use: UsedLimit): void {
  if (isPast(use)) throw refusal(use.limit, use.resetsAt);
}

/** Sets `RateLimit` and `RateLimit-Policy` (draft 8) on each answer. @throws LimitExceeded beyond the limit */
function limitBy(use: (request: Request, response: Response) => UsedLimit): RequestHandler {
  return (request, response, next) => {
    const made = use(request, response);
    const { used, resetsAt, counted } = made;
    const { name, most } = made.limit;
    response.setHeader('RateLimit', `"${name}"; r=${Math.max(0, most - used)}; t=${secondsUntil(resetsAt)}`);
    response.setHeader('RateLimit-Policy', `"${name}"; q=${most}; w=60; pk=:${counted.partition}:`);
    checkUse(made);
    next();
  };
}

/** Limits the requests of a person and of a tenant; runs after `authenticate`. */
export function limitRequests(context: Context): RequestHandler {
  const limits = requestLimits(context);
  return limitBy((_request, response) => useOfViewer(context, limits, response.locals['viewer'] as Viewer));
}

/** Counts GraphQL operations without an HTTP request of their own as requests of the viewer. @throws LimitExceeded */
export function countRequest(context: Context, viewer: Viewer, uses = 1): void {
  checkUse(useOfViewer(context, requestLimits(context), viewer, uses));
}

/** Counts a wrong token in a URL by the caller's IP address. @throws LimitExceeded */
export function countWrongToken(context: Context, ip: string | undefined): void {
  const limit = addressLimit(context, 'wrong-tokens', 'wrong tokens');
  checkUse(useOf(context, limit, countedByAddress(limit, ip)));
}

/** Limits the requests for tokens from one IPv4 address or IPv6 /64. */
export function limitTokenRequests(context: Context): RequestHandler {
  const limit = addressLimit(context, 'token-requests', 'requests for tokens');
  return limitBy(({ ip }) => useOf(context, limit, countedByAddress(limit, ip)));
}

/** Limits the requests to pair a device from one IPv4 address or IPv6 /64. */
export function limitPairings(context: Context): RequestHandler {
  const limit = addressLimit(context, 'pairings', 'requests to pair a device');
  return limitBy(({ ip }) => useOf(context, limit, countedByAddress(limit, ip)));
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
