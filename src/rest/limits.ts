/** Limits per minute (contract 6), counted over all processes; every answer behind one tells how much of it is left. */
import type { Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator, type Options, rateLimit } from 'express-rate-limit';
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

const keyOf = ({ mandatorId, credential }: Viewer) => `${mandatorId} ${credential}`;

const nameIn = ({ name }: Limit, key: string) => `${name} ${key}`;

function refusal({ most, each }: Limit, resetsAt: Date | undefined): LimitExceeded {
  const seconds = Math.max(1, Math.ceil(((resetsAt?.getTime() ?? 0) - Date.now()) / 1_000));
  return new LimitExceeded(
    `More than ${most} requests in a minute for one ${each}; wait ${seconds} seconds.`,
    seconds,
  );
}

/** `RateLimit` and `RateLimit-Policy` on every answer, LimitExceeded past the limit. */
function limitBy(
  rates: Context['rates'],
  limit: Limit,
  keyGenerator: (request: Request, response: Response) => string,
): RequestHandler {
  const store: Options['store'] = {
    increment(key) {
      const { used, resetsAt } = rates.count(nameIn(limit, key));
      return { totalHits: used, resetTime: resetsAt };
    },
    // Only for counts that depend on the answer, and for taking a limit back.
    decrement() {},
    resetKey() {},
  };
  return rateLimit({
    windowMs: 60_000,
    limit: limit.most,
    identifier: limit.name,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    store,
    keyGenerator,
    // They guess at faults of the set-up and write to the console; trust proxy is checked with the settings.
    validate: false,
    handler(request, _response, next) {
      const { rateLimit: info } = request as Request & { rateLimit?: { resetTime?: Date } };
      next(refusal(limit, info?.resetTime));
    },
  });
}

/** Limits the requests of a token; stands behind `authenticate`. */
export function limitRequests(context: Context): RequestHandler {
  return limitBy(context.rates, requestLimit(context), (_request, response) =>
    keyOf(response.locals['viewer'] as Viewer),
  );
}

/** Counts what is no request of HTTP as one of this viewer's. @throws LimitExceeded */
export function countRequest(context: Context, viewer: Viewer): void {
  const limit = requestLimit(context);
  const { used, resetsAt } = context.rates.count(nameIn(limit, keyOf(viewer)));
  if (used > limit.most) throw refusal(limit, resetsAt);
}

/** Counts a wrong token in the address of a request, by whom it comes from. @throws LimitExceeded */
export function countWrongToken({ rates, config }: Context, ip = ''): void {
  const limit = { name: 'wrong-tokens', most: config.Limits.TokenRequestsPerMinute, each: 'address' };
  const { used, resetsAt } = rates.count(nameIn(limit, ipKeyGenerator(ip, 64)));
  if (used > limit.most) throw refusal(limit, resetsAt);
}

/** Limits the requests for tokens of an address, of IPv6 the /64. */
export function limitTokenRequests({ rates, config }: Context): RequestHandler {
  const limit = { name: 'token-requests', most: config.Limits.TokenRequestsPerMinute, each: 'address' };
  return limitBy(rates, limit, ({ ip = '' }) => ipKeyGenerator(ip, 64));
}
