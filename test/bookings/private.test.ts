/** Answers to other persons do not depend on the content of a private booking. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { ahead } from '../_util/ahead.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let user: string;
let bookingId: number;
let contents: Content[];

/** The private content of a booking. */
type Content = {
  subject: string | null;
  description: string | null;
  organizer_id: number | null;
  organizer_name: string | null;
  organizer_email: string | null;
  series_id: number | null;
  mail_item_id: string | null;
  created_by: number | null;
};

/** Sets the content alone; the triggers that record changes are off. */
async function fill(content: Content): Promise<void> {
  await service.context.db.transaction().execute(async (trx) => {
    await sql`set local session_replication_role = replica`.execute(trx);
    await trx.updateTable('booking').set(content).where('id', '=', bookingId).execute();
  });
}

const window = ahead('From=2027-03-01T00:00:00Z&To=2027-03-31T00:00:00Z');

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const { context, tenant } = service;
  const { mandatorId } = tenant;
  user = await service.signIn();
  const { rows: series } = await sql<{ id: number }>`
    insert into booking_series (mandator_id, recurrence_rule)
    values (${mandatorId}, 'FREQ=DAILY;COUNT=2'), (${mandatorId}, 'FREQ=WEEKLY;COUNT=9') returning id`.execute(
    context.db,
  );
  const [admin, display] = [tenant.person('Admin').id, tenant.person('Display').id];
  const nothing: Content = {
    subject: null,
    description: null,
    organizer_id: null,
    organizer_name: null,
    organizer_email: null,
    series_id: null,
    mail_item_id: null,
    created_by: null,
  };
  contents = [
    nothing,
    {
      ...nothing,
      subject: 'Kündigung',
      description: 'Müller',
      organizer_id: admin,
      series_id: series[0]!.id,
      created_by: admin,
    },
    {
      ...nothing,
      subject: 'Beförderung',
      description: 'Meier',
      organizer_id: display,
      series_id: series[1]!.id,
      created_by: display,
    },
    {
      ...nothing,
      subject: 'Arzt',
      organizer_name: 'Praxis',
      organizer_email: 'praxis@example.org',
      mail_item_id: 'uid-1@example.org',
    },
  ];
  const { rows } = await sql<{ id: number }>`
    insert into booking (mandator_id, resource_id, kind, status, origin, is_private, occupied)
    values (${mandatorId}, ${tenant.resources[0]!.id}, 'MailItem', 'Confirmed', 'Mail', true,
      tstzrange(${ahead('2027-03-01T08:00Z')}, ${ahead('2027-03-01T09:00Z')})) returning id`.execute(context.db);
  bookingId = rows[0]!.id;
});
afterAll(() => service.stop());

type Asked = { path: string; body?: object };

const rest = (path: string): Asked => ({ path: `api/${path}` });
const graphql = (query: string): Asked => ({ path: 'graphql', body: { query } });

/** Every request that answers with a booking, with each filter. */
function questions(): Asked[] {
  const resourceId = service.tenant.resources[0]!.id;
  const members = contents.flatMap(({ organizer_id, created_by, series_id }) => [
    ...[organizer_id, created_by].flatMap((id) => (id === null ? [] : [`PersonId=${id}`])),
    ...(series_id === null ? [] : [`SeriesId=${series_id}`, `SeriesId=${series_id}&ResourceId=${resourceId}`]),
  ]);
  const fields =
    'id uid subject description status kind isPrivate seriesId recurrenceRule version changedAt organizer { displayName } createdBy { displayName } origin { system batchId jobKey lessonKey mailItemId } lessonSummary { subject } lessons { id }';
  const filter = ahead('from: "2027-03-01T00:00:00Z", to: "2027-03-31T00:00:00Z"');
  const place = { ResourceId: resourceId, Start: ahead('2027-03-01T08:00:00Z'), End: ahead('2027-03-01T09:00:00Z') };
  return [
    rest(`v1.0/bookings/${bookingId}`),
    rest(`v1.0/bookings?${window}`),
    ...members.map((member) => rest(`v1.0/bookings?${window}&${member}`)),
    rest(`v1.0/availability?${window}&ResourceIds=${resourceId}`),
    rest(`v1.0/resources/${resourceId}/calendar.ics`),
    rest('v1.0/changes'),
    { path: 'api/v1.0/bookings', body: { ...place, Subject: 'Wunsch' } },
    graphql(`{ booking(id: "${bookingId}") { ${fields} } }`),
    graphql(`{ bookings(filter: { ${filter} }) { nodes { ${fields} } } }`),
    graphql(`{ changes { items { kind id action booking { ${fields} } } } }`),
    graphql(
      `mutation { createBooking(input: { resourceId: "${resourceId}", subject: "Wunsch", start: "${place.Start}", end: "${place.End}" }) { ... on ConflictProblem { message conflicts { bookingId kind subject } alternatives { start } } } }`,
    ),
    graphql(`mutation { checkIn(id: "${bookingId}") { ... on Problem { code message } } }`),
    graphql(`mutation { cancelBooking(id: "${bookingId}") { ... on Problem { code message } } }`),
  ];
}

/** Status, body, and ETag where the answer has one. */
async function ask({ path, body }: Asked): Promise<string> {
  const answer = await fetch(`${service.url}/${service.tenant.code}/${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${user}`, ...(body && { 'content-type': 'application/json' }) },
    body: body ? JSON.stringify(body) : null,
  });
  const text = (await answer.text()).replaceAll(/"TraceId":"[^"]*"/gi, '');
  return `${answer.status} ${path.endsWith('.ics') ? '' : answer.headers.get('etag')} ${text}`;
}

describe('a private booking of others', () => {
  test('has the same answers, whatever its content and its owner are, in every operation', async () => {
    for (const asked of questions()) {
      const answers = new Set<string>();
      for (const content of contents) {
        await fill(content);
        answers.add(await ask(asked));
      }
      expect([asked, ...answers]).toHaveLength(2);
      expect([...answers][0]).toMatch(/^(200|409) /);
      expect([...answers][0]).not.toContain('GRAPHQL_VALIDATION_FAILED');
    }
  });
});
