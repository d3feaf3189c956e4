import type { Request, RequestHandler } from 'express';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { NotAuthenticated } from '../errors.ts';
import { toFields, upperFirst } from '../fields.ts';
import { isKnown } from '../http/answers.ts';
import { id } from '../query-parameters.ts';
import type { RestAnswer } from '../rest/answers.ts';
import { countWrongToken } from '../rest/limits.ts';
import { listOf, listRoute, pageAnswer } from '../rest/lists.ts';
import {
  type DescribedAnswer,
  forDisplays,
  type RestCall,
  type Route,
  readIdempotencyKey,
  route,
} from '../rest/route.ts';
import * as feed from './service.ts';
import * as wire from './wire.ts';

const feedPath = feed.pathOfFeed(':id');
export const feedPaths = [feedPath, feed.timetableFeedPath].map((path) => `/:mandator/api${path}`);
const tokensPath = '/v1.0/resources/:id/calendar-tokens';
const timetableTokensPath = '/v1.0/timetable/calendar-tokens';
const resourceId = id('resource', 'The Id of the resource.');
const token = z
  .string()
  .max(100)
  .optional()
  .meta({ description: 'A token of this feed, from `POST …/calendar-tokens`.' });
const tokenList = listOf(wire.tokenRecord, 'CalendarTokenList');

const calendarAnswer: DescribedAnswer = {
  description: 'The calendar.',
  body: z.string().max(50_000_000),
  example: wire.examples.calendar,
  headers: ['ETag'],
};
/** A parameter of the query, in either spelling. */
function queried({ query }: Request, name: 'token' | 'klasse' | 'lehrperson'): string | undefined {
  const value: unknown = query[name] ?? query[upperFirst(name)];
  return value === undefined ? undefined : String(value);
}

/** Runs at `feedPaths` before the usual authentication: a token in the URL makes the caller the person who made it. */
export function admitTokens(context: Context): RequestHandler {
  return async (request, response, next) => {
    const token = queried(request, 'token');
    if (token !== undefined) {
      const { mandator, id } = request.params;
      const of = id
        ? { resourceId: String(id) }
        : { klasse: queried(request, 'klasse'), lehrperson: queried(request, 'lehrperson') };
      const named = { mandator: String(mandator), ...of };
      response.locals['viewer'] = await feed.viewerOfToken(context, named, token).catch((error: unknown) => {
        if (error instanceof NotAuthenticated) countWrongToken(context, request.ip);
        throw error;
      });
    }
    next();
  };
}

/** Answers with the calendar of a feed, or 304 without writing it. */
async function answerFeed(
  context: Context,
  { viewer, headers, takePlace, signal }: RestCall,
  of: Parameters<typeof feed.readFeed>[2],
): Promise<RestAnswer> {
  const { etag, isLarge, write } = await feed.readFeed(context, viewer, of);
  const answer = { status: 200, headers: { ETag: etag } };
  if (isKnown(headers, etag)) return { ...answer, body: '' };
  if (isLarge) await takePlace();
  return { ...answer, body: await write(signal()) };
}

export const routes: Route[] = [
  route({
    method: 'GET',
    path: feedPath,
    summary: 'Read the calendar of a resource',
    description: `Its bookings as an iCalendar file (RFC 5545), for calendar programs: from 31 days ago to 366 days ahead, each booking of a series by itself, cancelled and released ones as CANCELLED, and at most the first ${feed.mostEvents}. \`Token\` replaces any other credential; without one, the call needs the usual credential. The content of private bookings is shown as far as the caller, or the person who created the token, may see it.`,
    params: z.object({ id: resourceId }),
    query: z.strictObject({ Token: token }),
    type: 'text/calendar',
    answers: { 200: calendarAnswer },
    problems: { 403: forDisplays },
    handle: async (context, call) => {
      return await answerFeed(context, call, { resourceId: call.params.id });
    },
  }),
  listRoute({
    path: tokensPath,
    summary: 'List the calendar tokens of a resource',
    description:
      'Your tokens, for Admins those of all persons; oldest first, including revoked ones; the tokens themselves are not shown.',
    params: z.object({ id: resourceId }),
    page: pageAnswer('One page of tokens.', tokenList, wire.examples.page),
    problems: { 403: forDisplays },
    of: feed.tokenList,
    run: (db, viewer, _filter, page, named) => feed.listTokens(db, viewer, named.id, page),
    toRecord: wire.toTokenRecord,
  }),
  route({
    method: 'POST',
    path: tokensPath,
    summary: 'Create a calendar token',
    description:
      'An address for calendar programs, which shows the bookings of the resource as you may see them. Only this answer contains it; it must not be cached. A request that is repeated with an `Idempotency-Key` creates no second token, but is answered 409 with the Id of the first.',
    headers: ['Idempotency-Key'],
    params: z.object({ id: resourceId }),
    body: { schema: wire.newToken, example: wire.examples.new, mayBeEmpty: true },
    answers: {
      201: { description: 'The token.', body: wire.createdToken, example: wire.examples.created },
    },
    problems: {
      403: forDisplays,
      409: `You have ${feed.mostTokens} valid tokens of this feed: revoke one of them. Or the \`Idempotency-Key\` has already created one.`,
    },
    handle: async (context, { viewer, params, body, request }) => {
      const made = await feed.createToken(
        context,
        viewer,
        { resourceId: params.id },
        { label: body.Label, idempotencyKey: readIdempotencyKey(request) },
      );
      return { status: 201, body: wire.toCreatedRecord(made) };
    },
  }),
  route({
    method: 'DELETE',
    path: `${tokensPath}/:tokenId`,
    summary: 'Revoke a calendar token',
    description:
      'Its address is refused at once. Repeating it changes nothing. Admins may revoke the tokens of all persons.',
    params: z.object({ id: resourceId, tokenId: id('calendarToken', 'The Id of the token.') }),
    answers: { 204: { description: 'It is no longer valid.' } },
    problems: { 403: forDisplays },
    handle: async ({ db }, { viewer, params }) => {
      await feed.revokeToken(db, viewer, params.tokenId, params.id);
      return { status: 204 };
    },
  }),
  route({
    method: 'GET',
    path: feed.timetableFeedPath,
    summary: 'Read the calendar of a timetable',
    description: `The timetable of a class or a teacher, or your own, as an iCalendar file (RFC 5545), like that of a resource. If a lesson was cancelled, moved or substituted, its summary says so, and its description gives the planned values. A \`Token\` must belong to the same timetable; without one, the call needs the usual credential. The content of private bookings is shown as far as the caller, or the person who created the token, may see it.`,
    query: wire.timetableOf.extend({ Token: token }),
    type: 'text/calendar',
    answers: { 200: calendarAnswer },
    problems: { 403: forDisplays },
    handle: async (context, call) => {
      const { Token: _token, ...of } = call.query;
      return await answerFeed(context, call, toFields(of));
    },
  }),
  listRoute({
    path: timetableTokensPath,
    summary: 'List the calendar tokens of timetables',
    description:
      'Your tokens, for Admins those of all persons; oldest first, including revoked ones; the tokens themselves are not shown.',
    page: pageAnswer('One page of tokens.', tokenList, wire.examples.pageOfTimetables),
    problems: { 403: forDisplays },
    of: feed.tokenList,
    run: (db, viewer, _filter, page) => feed.listTokens(db, viewer, null, page),
    toRecord: wire.toTokenRecord,
  }),
  route({
    method: 'POST',
    path: timetableTokensPath,
    summary: 'Create a calendar token of a timetable',
    description:
      'An address for calendar programs, which shows the timetable of a class or a teacher, or your own, as you may see it. For the timetable of another person no token can be created. Only this answer contains the address; it must not be cached. A request that is repeated with an `Idempotency-Key` creates no second token, but is answered 409 with the Id of the first.',
    headers: ['Idempotency-Key'],
    body: { schema: wire.newTimetableToken, example: wire.examples.newOfTimetable, mayBeEmpty: true },
    answers: {
      201: { description: 'The token.', body: wire.createdToken, example: wire.examples.createdOfTimetable },
    },
    problems: {
      403: forDisplays,
      409: `You have ${feed.mostTokens} valid tokens of timetables: revoke one of them. Or the \`Idempotency-Key\` has already created one.`,
    },
    handle: async (context, { viewer, body, request }) => {
      const { label, ...of } = toFields(body);
      const made = await feed.createToken(context, viewer, of, { label, idempotencyKey: readIdempotencyKey(request) });
      return { status: 201, body: wire.toCreatedRecord(made) };
    },
  }),
  route({
    method: 'DELETE',
    path: `${timetableTokensPath}/:tokenId`,
    summary: 'Revoke a calendar token of a timetable',
    description:
      'Its address is refused at once. Repeating it changes nothing. Admins may revoke the tokens of all persons.',
    params: z.object({ tokenId: id('calendarToken', 'The Id of the token.') }),
    answers: { 204: { description: 'It is no longer valid.' } },
    problems: { 403: forDisplays },
    handle: async ({ db }, { viewer, params }) => {
      await feed.revokeToken(db, viewer, params.tokenId, null);
      return { status: 204 };
    },
  }),
];
