import { z } from 'zod';
import type { Context } from '../context.ts';
import { id } from '../query-parameters.ts';
import { listOf, pageAnswer } from '../rest/lists.ts';
import { type Route, route } from '../rest/route.ts';
import {
  type CalendarStatus,
  getCalendar,
  listItems,
  mostReadingsPerMinute,
  overseeCalendars,
  readCalendarNow,
} from './service.ts';
import { calendarRecord, example, toCalendarRecord } from './wire.ts';

const path = '/v1.0/mail-subscriptions';
const params = z.object({ id: id('mailSubscription', 'The id of the calendar.') });
const forAdmins = { 403: 'Only an Admin sees how the calendars of the mail server are doing.' };
/** As many as a tenant may have resources. */
const mostCalendars = 10_000;

async function recordsOf({ db }: Context, calendars: readonly CalendarStatus[]) {
  const itemsOf = await listItems(db, calendars);
  return calendars.map((calendar) => toCalendarRecord(calendar, itemsOf(calendar)));
}

export const routes: Route[] = [
  route({
    method: 'GET',
    path,
    summary: 'List the calendars on the mail server',
    description:
      'How the calendars of the tenant on its mail server are doing, by the names of their rooms, all on one page: when each was last read, why it could not be read, which of its items have no booking, and which bookings are missing in it. Empty without a mail server. For Admins.',
    answers: {
      200: pageAnswer('The calendars.', listOf(calendarRecord, 'MailSubscriptionList', mostCalendars), example),
    },
    problems: forAdmins,
    handle: async (context, { viewer }) => {
      const found = await overseeCalendars(context.db, viewer);
      return { status: 200, body: { Items: await recordsOf(context, found), NextCursor: null } };
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Read how a calendar on the mail server is doing',
    params,
    answers: { 200: { description: 'The calendar.', body: calendarRecord, example, headers: ['ETag'] } },
    problems: forAdmins,
    handle: async (context, call) => {
      const [body] = await recordsOf(context, [await getCalendar(context, call, call.params.id)]);
      return { status: 200, body: body as object };
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/read`,
    summary: 'Read a calendar on the mail server now',
    description: `Has a worker read it at once, also one that waits after a fault, except Throttled ones, whose time the mail server has set, and try again what could not be written there. ${mostReadingsPerMinute} times a minute at most. For Admins.`,
    params,
    answers: {
      200: { description: 'It is about to be read: `LastReadAt` changes once it is.', body: calendarRecord, example },
    },
    problems: { ...forAdmins, 429: `More than ${mostReadingsPerMinute} readings of one calendar in a minute.` },
    handle: async (context, call) => {
      const [body] = await recordsOf(context, [await readCalendarNow(context, call, call.params.id)]);
      return { status: 200, body: body as object };
    },
  }),
];
