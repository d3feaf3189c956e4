/** A client of a tenant that follows the advice: it uses any Web process, and repeats a call until it has an answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from './ledger.ts';

export type Answer = { status: number; body: Record<string, unknown>; text: string };
export type Sent = {
  method: string;
  /** Below `/{mandator}/api`. */
  path: string;
  body?: string;
  headers?: Record<string, string>;
  /** Milliseconds that the server may take before it is asked elsewhere. */
  patience?: number;
};

export type Client = ReturnType<typeof openClient>;

/** The time-outs of a well-made client. */
const usualPatience = 12_000;
/** How often a call may be answered that its token is invalid before that is a fault. */
const mostRefusals = 20;

type Options = {
  urls: readonly string[];
  mandator: string;
  pin: string;
  ledger: Ledger;
  /** Aborted when nobody waits for anything any more. */
  over: AbortSignal;
};

export function openClient({ urls, mandator, pin, ledger, over }: Options) {
  const tokens = new Map<string, string>();
  let turn = 0;

  async function signIn(url: string): Promise<string | undefined> {
    const known = tokens.get(url);
    if (known) return known;
    const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey: pin };
    const answer = await fetch(`${url}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
      signal: AbortSignal.timeout(usualPatience),
    });
    const { access_token: token } = (await answer.json()) as { access_token?: string };
    if (token) tokens.set(url, token);
    else if (![429, 503].includes(answer.status))
      ledger.blame('otherwise wrong', `${answer.status} for a valid PIN at ${url}`);
    return token;
  }

  /** One attempt; undefined without an answer. */
  async function call(url: string, sent: Sent): Promise<Answer | undefined> {
    const token = await signIn(url);
    if (!token) return undefined;
    const answer = await fetch(`${url}/${mandator}/api${sent.path}`, {
      method: sent.method,
      body: sent.body ?? null,
      headers: {
        ...(sent.body !== undefined && { 'Content-Type': 'application/json' }),
        Authorization: `Bearer ${token}`,
        ...sent.headers,
      },
      signal: AbortSignal.timeout(sent.patience ?? usualPatience),
    });
    const text = await answer.text();
    if (answer.status === 401) tokens.delete(url);
    return { status: answer.status, text, body: text.startsWith('{') ? JSON.parse(text) : {} };
  }

  /** The answers after which a call is repeated. */
  const isVague = ({ status, text }: Answer) =>
    [401, 429, 503].includes(status) || (status === 409 && text.includes('Idempotency-Key is still running'));

  return {
    mandator,
    /** The token for one of them, once there is one. */
    signIn,
    /** Any, each in its turn. */
    nextUrl: () => urls[turn++ % urls.length] as string,
    call,
    /**
     * Sends until it is told what came of it, with the same key wherever a second time would count.
     * @returns also whether an answer was lost on the way
     */
    async send(sent: Sent): Promise<Answer & { isRepeated: boolean }> {
      const from = Date.now();
      let refusals = 0;
      for (let tries = 0; ; tries++) {
        const answer = await call(urls[turn++ % urls.length] as string, sent).catch(() => undefined);
        if (answer && answer.status >= 500 && answer.status !== 503)
          ledger.blame(
            'otherwise wrong',
            `${answer.status} for ${sent.method} ${sent.path}: ${answer.text.slice(0, 300)}`,
            {
              from,
              to: Date.now(),
            },
          );
        else if (answer && !isVague(answer)) return { ...answer, isRepeated: tries > 0 };
        if (answer?.status === 401 && ++refusals === mostRefusals)
          ledger.blame('otherwise wrong', `${sent.method} ${sent.path} of ${mandator}: valid tokens are refused`, {
            from,
            to: Date.now(),
          });
        await sleep(200 + Math.random() * 400, undefined, { signal: over });
      }
    },
  };
}
