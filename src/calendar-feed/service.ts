/**
 * Calendar feeds: the bookings of a resource, and timetables, for calendar programs, which fetch a URL and send no credential of their own.
 * The URL has a **token**, which gives access to this feed alone, with the rights of the person who made it.
 *
 * Invariants: a token is shown once and stored only as a keyed hash, whose key is not in the database. It is valid until it
 * is revoked, while its person is active and not a display. All invalid tokens are refused in the same words, whatever
 * the reason.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { checkReader, maySeeAll } from '../access.ts';
import { type BookingFilter, filterOfTimetable, hashForFeed, listForFeed } from '../bookings/service.ts';
import type { Context, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { claimSecretOnce } from '../db/idempotency.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { keysOf } from '../db/name-keys.ts';
import { pageById } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { lockIfActive, unlessLocked } from '../db/row-lock.ts';
import { Conflict, NotAuthenticated } from '../errors.ts';
import { deriveKey, farFuture, isNewUse, pepperOf, recordUse, viewerColumns } from '../identity/service.ts';
import { noRecord } from '../records.ts';
import { getResource } from '../tenants/service.ts';
import { dayLength } from '../time/days.ts';
import { edition, writeCalendar } from './calendar.ts';
import { type CalendarToken, columns } from './tokens.ts';

export { type CalendarToken, findPersonOf, findResourceOf, findToken } from './tokens.ts';

/** What a feed shows: a resource, or the timetable of a class, a teacher or the caller. */
export type FeedOf = { resourceId: number } | { klasse?: string | undefined; lehrperson?: string | undefined };

export type CreatedToken = { token: string; url: string; record: CalendarToken };

export const tokenList: List<CalendarToken> = {
  name: 'calendar-tokens',
  key: idKey,
  keyOf: ({ id }) => id,
};

/** The path below `/{mandator}/api`. */
export const pathOfFeed = (resourceId: string | number) => `/v1.0/resources/${resourceId}/calendar.ics`;
export const timetableFeedPath = '/v1.0/timetable/calendar.ics';

/** The most valid tokens of a person for one resource, and for all timetables together. */
export const mostTokens = 20;
/** 192 bits. */
const tokenBytes = 24;
const daysBack = 31;
const daysAhead = 366;
/** The most events of a feed: more than 50 a day. */
export const mostEvents = 20_000;
/** The most octets of its stored bookings while it is not large: about a megabyte of text. A longer text takes its place afterwards. */
const mostSmall = 1_500_000;

const hmacOf = (config: Context['config'], purpose: 'token' | 'ETag', text: string) =>
  createHmac('sha256', deriveKey(pepperOf(config), `calendar ${purpose}`))
    .update(text)
    .digest();
const hashToken = (config: Context['config'], token: string) => hmacOf(config, 'token', token);

const isOfResource = (of: FeedOf): of is { resourceId: number } => 'resourceId' in of;

/**
 * The filter for the bookings of a feed, and the name of its calendar. @throws Forbidden for a display; NotFound, also for a
 * resource of another tenant; Malformed for both a class and a teacher
 */
async function findFeed(db: Database, viewer: Viewer, of: FeedOf): Promise<{ name: string; filter: BookingFilter }> {
  if (isOfResource(of)) {
    const { id, name } = await getResource(db, viewer, of.resourceId);
    return { name, filter: { resourceId: [id] } };
  }
  const { klasse, lehrperson } = of;
  const filter = await filterOfTimetable(db, viewer, { klasse, lehrperson });
  return { name: klasse ?? lehrperson ?? viewer.displayName, filter };
}

function urlOf(of: FeedOf, token: string): string {
  if (isOfResource(of)) return `${pathOfFeed(of.resourceId)}?token=${token}`;
  const { klasse, lehrperson } = of;
  const query = new URLSearchParams({ ...(klasse && { klasse }), ...(lehrperson && { lehrperson }), token });
  return `${timetableFeedPath}?${query}`;
}

/**
 * Creates a token for a feed, and its URL; neither can be read again, and a repeated Idempotency-Key makes no second one.
 * Everybody who may read a feed may create a token for it, which shows what that person may see.
 * @throws Forbidden for a display; NotFound, also for a resource of another tenant; Malformed for a class and a teacher;
 * NotAuthenticated for a person who has been erased meanwhile; Conflict when the person has 20 already, and for a key that
 * has made one before; InvalidInput for a key that came with another request
 */
export async function createToken(
  { db, config }: Context,
  viewer: Viewer,
  of: FeedOf,
  { label, idempotencyKey }: { label: string | null; idempotencyKey: string | undefined },
): Promise<CreatedToken> {
  await findFeed(db, viewer, of);
  const token = randomBytes(tokenBytes).toString('base64url');
  const owned = { mandator_id: viewer.mandatorId, person_id: viewer.personId };
  const resourceId = isOfResource(of) ? of.resourceId : null;
  const [klasse = null, lehrperson = null] = isOfResource(of) ? [] : [of.klasse, of.lehrperson];
  const record = await transactOrGiveUp(db, 'The person', async (trx) => {
    const settle = await claimSecretOnce(
      trx,
      viewer,
      idempotencyKey,
      ['create calendar token', resourceId, klasse, lehrperson, label],
      (id) =>
        `This Idempotency-Key has already created the calendar token with the Id ${id}, which is shown only once; if it was lost, revoke it and create another with a new key.`,
    );
    // The lock serializes the person's requests, so that each counts the tokens of those before it.
    if (!(await lockIfActive(trx, viewer.mandatorId, viewer.personId)))
      throw new NotAuthenticated('The person of this call is no longer active.');
    const { count } = await trx
      .selectFrom('calendar_token')
      .where((eb) => eb.and(owned))
      .where('resource_id', 'is not distinct from', resourceId)
      .where('revoked_at', 'is', null)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    if (count >= mostTokens)
      throw Conflict.because(
        'TooMany',
        `You already have ${mostTokens} tokens for ${resourceId === null ? 'calendars of timetables' : 'the calendar of this resource'}; revoke one that is no longer needed.`,
      );
    const inserted = await trx
      .insertInto('calendar_token')
      .values({
        ...owned,
        resource_id: resourceId,
        class: klasse,
        teacher: lehrperson,
        hash: hashToken(config, token),
        label,
      })
      .returning(columns)
      .executeTakeFirstOrThrow();
    await settle(inserted.id);
    return inserted;
  });
  const url = `${config.BaseUrl}/${viewer.mandator}/api${urlOf(of, token)}`;
  return { token, url, record };
}

/**
 * Lists the viewer's tokens of a resource, or of timetables (null), for an Admin the tokens of all persons; revoked ones too,
 * oldest first.
 * @throws Forbidden for a display; NotFound, also for a resource of another tenant
 */
export async function listTokens(
  db: Database,
  viewer: Viewer,
  resourceId: number | null,
  page: PageRequest,
): Promise<Page<CalendarToken>> {
  if (resourceId === null) checkReader(viewer);
  else await getResource(db, viewer, resourceId);
  const rows = await db
    .selectFrom('calendar_token')
    .where('mandator_id', '=', viewer.mandatorId)
    .where('resource_id', 'is not distinct from', resourceId)
    .$if(!maySeeAll(viewer), (query) => query.where('person_id', '=', viewer.personId))
    .select(columns)
    .$call(pageById('id', page))
    .execute();
  return toPage(tokenList, rows, page);
}

/**
 * Revokes a token at once; repeating it is no error.
 * @param resourceId when given, the token must be of this resource, or of a timetable (null)
 * @throws Forbidden for a display; NotFound, also for a token of another person unless the viewer is an Admin
 */
export async function revokeToken(
  db: Database,
  viewer: Viewer,
  id: number,
  resourceId?: number | null,
): Promise<CalendarToken> {
  checkReader(viewer);
  const revoked = await db
    .updateTable('calendar_token')
    .set({ revoked_at: sql`coalesce(revoked_at, now())` })
    .where('mandator_id', '=', viewer.mandatorId)
    .where('id', '=', id)
    .$if(resourceId !== undefined, (query) => query.where('resource_id', 'is not distinct from', resourceId ?? null))
    .$if(!maySeeAll(viewer), (query) => query.where('person_id', '=', viewer.personId))
    .returning(columns)
    .executeTakeFirst();
  if (!revoked) throw noRecord('calendar token');
  return revoked;
}

/**
 * Deletes all tokens of a person, and those of others for the timetable of a teacher of these names; they end at once.
 * @returns how many
 */
export async function deleteTokensOf(
  trx: Transaction,
  mandatorId: number,
  personId: number,
  names: readonly string[],
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from calendar_token where mandator_id = ${mandatorId}
      and (person_id = ${personId} or name_key(teacher) = any (${keysOf(names)}))`.execute(trx);
  return Number(numAffectedRows);
}

/**
 * Authenticates a token of a feed, and records its use at most once a minute.
 * @param feed the tenant, and the resource or the class or teacher, as in the URL
 * @throws NotAuthenticated
 */
export async function viewerOfToken(
  context: Context,
  feed: { mandator: string; resourceId?: string; klasse?: string | undefined; lehrperson?: string | undefined },
  token: string,
): Promise<Viewer> {
  const { db, config } = context;
  const found = await db
    .selectFrom('calendar_token as token')
    .innerJoin('mandator', 'mandator.id', 'token.mandator_id')
    .innerJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'token.mandator_id').onRef('person.id', '=', 'token.person_id'),
    )
    .where('token.hash', '=', hashToken(config, token))
    .where('token.revoked_at', 'is', null)
    .where('person.active', '=', true)
    .where('person.role', '<>', 'Display')
    .select(viewerColumns)
    .$narrowType<Pick<Viewer, 'role'>>()
    .select(['token.id', 'token.resource_id as resourceId', 'token.class', 'token.teacher'])
    .select(isNewUse(sql.ref('token.last_used_at')).as('isNew'))
    .executeTakeFirst();
  // The URL is compared here, not in SQL: it may contain U+0000, which PostgreSQL accepts in no text.
  const isOfFeed =
    found?.mandator === feed.mandator.toLowerCase() &&
    found.resourceId?.toString() === feed.resourceId &&
    (found.class ?? undefined) === feed.klasse &&
    (found.teacher ?? undefined) === feed.lehrperson;
  if (!isOfFeed)
    throw new NotAuthenticated(
      'The token of this calendar address is not valid; create another one with POST calendar-tokens.',
    );
  const { id, resourceId: _resourceId, class: _class, teacher: _teacher, isNew, ...person } = found;
  if (isNew)
    await recordUse(
      context,
      db
        .updateTable('calendar_token')
        .set({ last_used_at: sql`now()` })
        .where('mandator_id', '=', person.mandatorId)
        .where('id', '=', unlessLocked('calendar_token', person.mandatorId, id))
        .execute(),
    );
  return {
    ...person,
    pinId: null,
    display: null,
    credential: `calendar:${id}`,
    calendarTokenId: id,
    expiresAt: farFuture,
  };
}

/** The ETag of a feed; `write` makes the file, which takes longer, until its reader has gone. */
export type Feed = { etag: string; isLarge: boolean; write(reader: AbortSignal): Promise<string> };

/**
 * The iCalendar file of a feed, with its bookings as the viewer may see them: from 31 days ago to 366 days ahead. The
 * window has whole days of UTC, so that the file stays equal within a day. Cancelled and released bookings are included, so
 * that calendar programs remove them. Only the first 20,000 bookings are included, and of these the first 10 MB.
 * @throws Forbidden for a display; NotFound, also for a resource of another tenant
 */
export async function readFeed(
  { db, config }: Pick<Context, 'db' | 'config'>,
  viewer: Viewer,
  of: FeedOf,
): Promise<Feed> {
  const today = new Date().setUTCHours(0, 0, 0, 0);
  const { name, filter } = await findFeed(db, viewer, of);
  const wanted = {
    ...filter,
    from: new Date(today - daysBack * dayLength),
    to: new Date(today + daysAhead * dayLength),
    most: mostEvents,
  };
  const { hash, octets, longest } = await hashForFeed(db, viewer, wanted);
  const state = [edition, name, hash];
  return {
    // The hash is keyed, because a client could otherwise test guesses of what private bookings are about.
    etag: `"${hmacOf(config, 'ETag', JSON.stringify(state)).toString('base64url')}"`,
    // The file may be newer than its ETag; the client's next request then gets a new ETag.
    write: (reader) => writeCalendar(name, listForFeed(db, viewer, wanted, longest), reader),
    isLarge: octets > mostSmall,
  };
}
