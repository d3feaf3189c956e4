/** Calls the Google Calendar API v3: JSON over https, with its errors as ServerFaults. */
import { z } from 'zod';
import type { MailServerSettings } from '../config.ts';
import { ServerFault } from './connector.ts';
import { faultOf } from './faults.ts';
import { type AskServer, readDeadlineMs } from './http.ts';
import { openPace } from './pace.ts';
import { readJson } from './values.ts';

export type GoogleQuestion = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the Url of the settings. */
  path: string;
  query?: Record<string, string>;
  body?: object;
  /** The ETag that the resource must have. */
  ifMatch?: string | null;
  what: string;
};
/** `isOfEvent`: whether Google refuses this event alone, rather than the calendar or the account. */
export type GoogleAnswer = { status: number; body: unknown; isOfEvent: boolean; fault: ServerFault | null };

export type GoogleApi = {
  origin: string;
  /** Resolves even if the answer is 400, 403, 404, 409, 410 or 412, with the fault that this means to most callers. */
  call(question: GoogleQuestion, signal: AbortSignal): Promise<GoogleAnswer>;
};

/** Google allows an account 600 requests within a minute; a tenth is left to other programs and other processes. */
const perSecond = 9;
/** Statuses whose bodies are read here: they give the reason. */
const readStatuses = [400, 403, 404, 409, 410, 412, 429];
/** The reasons of a 403 that mean that a quota is used up, rather than that the request is not allowed. */
const quotas =
  /^(rateLimitExceeded|userRateLimitExceeded|quotaExceeded|dailyLimitExceeded|calendarUsageLimitsExceeded)$/i;
/** The reasons of a 403 that concern this event. */
const ofEvent = /^(forbiddenForNonOrganizer|eventTypeRestriction|cannotChange.*)$/i;

const refusalSchema = z.object({
  error: z.object({
    message: z.string().catch(''),
    errors: z.array(z.object({ reason: z.string().catch('') })).catch([]),
  }),
});

function refusalOf(body: unknown): { reason: string; message: string } {
  const { data } = refusalSchema.safeParse(body);
  return { reason: data?.error.errors[0]?.reason ?? '', message: data?.error.message ?? '' };
}

/** The path of a calendar. */
export const pathOf = (mailbox: string) => `/calendars/${encodeURIComponent(mailbox)}`;

function openGoogleApi(settings: MailServerSettings, ask: AskServer): GoogleApi {
  const base = settings.Url.replace(/\/+$/, '');
  const { origin } = new URL(base);
  return {
    origin,
    async call({ method = 'GET', path, query, body, ifMatch, what }, signal) {
      const answer = await ask(
        {
          method,
          address: `${base}${path}${query ? `?${new URLSearchParams(query)}` : ''}`,
          headers: {
            accept: 'application/json',
            ...(body && { 'content-type': 'application/json' }),
            ...(ifMatch && { 'if-match': ifMatch }),
          },
          ...(body && { body: JSON.stringify(body) }),
          what,
          deadlineMs: readDeadlineMs,
          reads: readStatuses,
          words: (bytes) => refusalOf(readJson(bytes)).message,
        },
        signal,
      );
      const { status, bytes } = answer;
      const told = bytes.length === 0 ? undefined : readJson(bytes);
      if (status < 300) return { status, body: told, isOfEvent: false, fault: null };
      const { reason, message } = refusalOf(told);
      const isQuota = status === 429 || (status === 403 && quotas.test(reason));
      const fault = faultOf({ ...answer, status: isQuota ? 429 : status }, origin, `${reason} ${message}`.trim());
      if (isQuota) throw fault;
      const isOfEvent = status === 400 || (status === 403 && ofEvent.test(reason));
      return { status, body: told, isOfEvent, fault };
    },
  };
}

/** The requests of one account: `eager` ones begin at once; `patient` ones, such as writes, use what is left of the quota. */
export function openGoogleApis(settings: MailServerSettings, ask: AskServer): { eager: GoogleApi; patient: GoogleApi } {
  const api = openGoogleApi(settings, ask);
  const pace = openPace(perSecond);
  const call: GoogleApi['call'] = (question, signal) =>
    api.call(question, signal).catch((error: unknown) => {
      if (error instanceof ServerFault && error.fault === 'Throttled') pace.refused();
      throw error;
    });
  return {
    eager: {
      ...api,
      call(question, signal) {
        pace.count();
        return call(question, signal);
      },
    },
    patient: {
      ...api,
      async call(question, signal) {
        await pace.wait(signal);
        return await call(question, signal);
      },
    },
  };
}
