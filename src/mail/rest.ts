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
const forAdmins = { 403: 'Only an Admin may see the status of the calendars on the mail server.' };
/** More than any tenant has resources. */
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
      "The status of the tenant's calendars on its mail server, by the names of their rooms, all on one page: when each was last read, why it could not be read, which of its items have no booking, and which bookings are missing in it. Empty without a mail server. For Admins.",
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
    summary: 'Read the status of a calendar on the mail server',
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
    summary: 'Have a calendar on the mail server read now',
    description: `Has a worker read it at once, also if it waits after a fault other than Throttled, and retry what could not be written. At most ${mostReadingsPerMinute} times a minute. For Admins.`,
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
