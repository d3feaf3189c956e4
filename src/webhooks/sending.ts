/** Sends one message by the Standard Webhooks specification, and returns the answer. */

import type { Agent } from 'node:http';
import type { Config } from '../config.ts';
import { fetchPublic, NotPublic } from '../http/public-fetch.ts';
import { readRetryAfter } from '../http/retry-after.ts';
import { whyUnanswered } from '../http/unanswered.ts';
import { hour } from '../time/durations.ts';
import { traceparentNow } from '../tracing.ts';
import { type MessageKind, typeOf } from './kinds.ts';
import { openSecret, SecretLost } from './secrets.ts';

const patienceMs = 10_000;
/** The characters of an answer that are kept; the rest is not read. */
export const longestAnswer = 500;
/** The bounds of a pause that a receiver asks for. */
const [shortestAskedMs, longestAskedMs] = [1_000, hour];

/** Where to send messages; `kept`: connections to reuse. */
export type Target = { mandatorId: number; url: string; secrets: readonly Buffer[]; kept?: Agent };
export type Message = { id: string; kind: MessageKind; at: Date; data: object };
/** `fault`: why the receiver did not accept the message; null: it did. */
export type Answer = {
  status: number | null;
  answer: string | null;
  fault: string | null;
  milliseconds: number;
  /** The pause that the receiver asks for. */
  pauseMs: number | null;
};

/**
 * Signs a message (`webhook-id.timestamp.body`, HMAC-SHA256) with the secret and, while both are valid, also with the
 * previous one. The library is loaded only here, because few processes send messages.
 * @throws SecretLost
 */
async function signaturesOf(
  config: Config,
  { mandatorId, secrets }: Target,
  id: string,
  at: Date,
  body: string,
): Promise<string> {
  const { Webhook } = await import('standardwebhooks');
  const signatures = secrets.flatMap((sealed, place) => {
    try {
      return new Webhook(openSecret(config, mandatorId, sealed)).sign(id, at, body);
    } catch (error) {
      // The previous secret is optional, so its loss is ignored.
      if (place === 0 || !(error instanceof SecretLost)) throw error;
      return [];
    }
  });
  return signatures.join(' ');
}

function pauseOf(headers: Headers): number | null {
  const asked = readRetryAfter(headers);
  return asked === undefined ? null : Math.min(Math.max(asked, shortestAskedMs), longestAskedMs);
}

/** Why there was no answer, for an Admin. */
function reasonOf(error: unknown): string {
  if (error instanceof NotPublic || error instanceof SecretLost) return error.message;
  return whyUnanswered(error, 'the receiver', patienceMs);
}

/** The beginning of an answer as a text that can be stored; control characters become spaces. */
export const textOf = (bytes: Buffer): string | null =>
  bytes
    .toString('utf8')
    .replace(/[\p{Cc}\ufffd]+/gu, ' ')
    .trim()
    .slice(0, longestAnswer) || null;

/** @returns undefined when the signal has ended the attempt */
export async function sendMessage(
  config: Config,
  receiver: Target,
  { id, kind, at, data }: Message,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const body = JSON.stringify({ type: typeOf(kind), timestamp: at.toISOString(), data });
  const sentAt = new Date();
  const begin = performance.now();
  const took = () => Math.round(performance.now() - begin);
  const traceparent = traceparentNow();
  const trusted = config.Webhooks.TrustedOrigins;
  try {
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'roomgate',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
      ...(traceparent && { traceparent }),
      'webhook-signature': await signaturesOf(config, receiver, id, sentAt, body),
    };
    const url = new URL(receiver.url);
    const answer = await fetchPublic(url, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]),
      most: longestAnswer,
      cut: true,
      trusted,
      kept: receiver.kept,
    });
    const { status } = answer;
    const isTaken = status >= 200 && status < 300;
    const isMoved = status >= 300 && status < 400 && answer.headers.has('location');
    const moved = isMoved ? '; give the address that it redirects to' : '';
    return {
      status,
      // An Admin of a tenant must not be able to read answers of internal servers.
      answer: trusted.includes(url.origin) ? null : textOf(answer.bytes),
      milliseconds: took(),
      fault: isTaken ? null : `the receiver answers ${status}${moved}`,
      pauseMs: isTaken ? null : pauseOf(answer.headers),
    };
  } catch (error) {
    if (signal.aborted) return undefined;
    return { status: null, answer: null, fault: reasonOf(error), milliseconds: took(), pauseMs: null };
  }
}
