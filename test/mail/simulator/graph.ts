/** Graph under /v1.0, and the token endpoint of the same application. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerBatch } from './graph-batch.ts';
import { openCalendars } from './graph-calendars.ts';
import { refusal } from './graph-replies.ts';
import type { Subscriptions } from './graph-subscriptions.ts';
import { answerCall, type Call, type Reply } from './json-calls.ts';
import type { World } from './world.ts';

const tokenLifeMs = 3_599_000;
/** Requests for one mailbox at the same time. */
const concurrency = 4;

export function openGraph(world: World, subscriptions: Subscriptions) {
  const { clock, faults, mailboxes, options } = world;
  const calendars = openCalendars(world);
  const tokens = new Map<string, number>();
  const busy = new Map<string, number>();

  function giveToken(call: Call): Reply {
    const form = new URLSearchParams(call.body);
    const basic = /^Basic (.+)$/.exec(call.headers.authorization ?? '')?.[1];
    const [id, secret] = basic
      ? Buffer.from(basic, 'base64')
          .toString()
          .split(':')
          .map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
      : [form.get('client_id'), form.get('client_secret')];
    const oauthError = (status: number, error: string, error_description: string) => ({
      status,
      body: { error, error_description, error_codes: [] },
    });
    if (form.get('grant_type') !== 'client_credentials')
      return oauthError(400, 'unsupported_grant_type', 'AADSTS70003: The app requested an unsupported grant type.');
    if (!/\/\.default$/.test(form.get('scope') ?? ''))
      return oauthError(400, 'invalid_scope', 'AADSTS70011: The provided value for scope is not valid.');
    if (id !== options.clientId || secret !== options.clientSecret)
      return oauthError(401, 'invalid_client', 'AADSTS7000215: Invalid client secret provided.');
    const token = randomBytes(48).toString('base64url');
    tokens.set(token, clock.now() + tokenLifeMs);
    const seconds = Math.round(tokenLifeMs / 1_000);
    return {
      status: 200,
      body: { token_type: 'Bearer', expires_in: seconds, ext_expires_in: seconds, access_token: token },
    };
  }

  function mailboxAt(path: string) {
    const [, user, rest = ''] = /^\/v1\.0\/users\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    if (user === undefined) return undefined;
    const name = decodeURIComponent(user).toLowerCase();
    const mailbox = mailboxes.all().find(({ address, userId }) => address === name || userId === name);
    return { mailbox, rest };
  }

  async function perform(call: Call): Promise<Reply> {
    if (call.path === '/v1.0/$batch') return await answerBatch(call, options.batchAtOnce, answerWithin);
    const subscription = /^\/v1\.0\/subscriptions(\/.*)?$/.exec(call.path);
    if (subscription) return await subscriptions.answer(call, subscription[1] ?? '');
    const at = mailboxAt(call.path);
    if (!at) return refusal(404, 'ResourceNotFound', `There is no ${call.path} here.`);
    const { mailbox, rest } = at;
    if (!mailbox) return refusal(404, 'ErrorInvalidUser', 'The requested user is invalid.');
    if (!mailbox.isAccessible)
      return refusal(403, 'ErrorAccessDenied', 'Access is denied. Check credentials and try again.');
    const running = busy.get(mailbox.address) ?? 0;
    if (running >= concurrency)
      return refusal(429, 'ApplicationThrottled', 'Application is over its MailboxConcurrency limit.', {
        'retry-after': String(faults.retryAfterSeconds()),
      });
    busy.set(mailbox.address, running + 1);
    try {
      // A test may end the wait by another latency.
      for (const begun = performance.now(); performance.now() - begun < options.latencyMs; ) await sleep(5);
      return calendars(call, mailbox, rest) ?? refusal(404, 'ResourceNotFound', `There is no ${call.path} here.`);
    } finally {
      busy.set(mailbox.address, (busy.get(mailbox.address) ?? 1) - 1);
    }
  }

  /** Answers what has a right to it; or nothing, though it is done. */
  async function answerWithin(call: Call): Promise<Reply> {
    const operation = `${call.method} ${call.path}`;
    const planned = faults.ofRequest('Graph', operation);
    if (planned === 'busy')
      return refusal(429, 'TooManyRequests', 'Too many requests.', {
        'retry-after': String(faults.retryAfterSeconds()),
      });
    if (planned === 'unavailable') return refusal(503, 'serviceNotAvailable', 'The service is not available.');
    if (faults.hasFailed('Graph', operation)) return refusal(500, 'InternalServerError', 'Something went wrong.');
    const reply = await perform(call).catch((error: unknown) =>
      error instanceof SyntaxError
        ? refusal(400, 'BadRequest', 'Unable to read JSON request payload.')
        : refusal(500, 'InternalServerError', String(error)),
    );
    return { ...reply, isCut: planned === 'reset' || reply.isCut === true };
  }

  async function answerTo(call: Call): Promise<Reply> {
    if (call.path === `/${options.tenantId}/oauth2/v2.0/token` && call.method === 'POST') return giveToken(call);
    const token = /^Bearer (.+)$/.exec(call.headers.authorization ?? '')?.[1];
    if (token !== undefined && (tokens.get(token) ?? 0) > clock.now()) return await answerWithin(call);
    return refusal(401, 'InvalidAuthenticationToken', 'Access token has expired or is not yet valid.', {
      'www-authenticate': 'Bearer realm=""',
    });
  }

  return (request: IncomingMessage, response: ServerResponse, body: string): Promise<void> =>
    answerCall(request, response, body, 'application/json;odata.metadata=minimal; charset=utf-8', answerTo);
}
