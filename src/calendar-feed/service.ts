/**
 * Calendar feeds: the bookings of a resource for calendar programs, which send no header but only call an address. So a
 * **token** stands in it, which opens this one feed and nothing else, as the person sees it who made it.
 *
 * Invariants: a token is told once and stored only as a keyed hash, whose key is not in the database. It counts for as
 * long as nobody has revoked it and its person is active and no display. One that does not count, for whatever reason,
 * is refused in the same words.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { checkReader, maySeeAll } from '../access.ts';
import { hashForResource, listForResource } from '../bookings/service.ts';
import type { Context, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { idKey, type List, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { Conflict, NotAuthenticated, NotFound } from '../errors.ts';
import { isUnwritable } from '../flow/database-errors.ts';
import { deriveKey, pepperOf } from '../identity/service.ts';
import { getResource } from '../tenants/service.ts';
import { dayLength } from '../time/days.ts';
import { edition, writeCalendar } from './calendar.ts';

export type CalendarToken = {
  id: number;
  resourceId: number;
  personId: number;
  label: string | null;
  createdAt: Date;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
};
export type CreatedToken = { token: string; url: string; record: CalendarToken };

export const tokenList: List<CalendarToken> = {
  name: 'calendar-tokens',
  key: idKey,
  keyOf: ({ id }) => id,
};

/** Below `/{mandator}/api`. */
export const pathOfFeed = (resourceId: string | number) => `/v1.0/resources/${resourceId}/calendar.ics`;

/** Of one person for one feed, revoked ones aside. */
export const mostTokens = 20;
/** 192 bits. */
const tokenBytes = 24;
const daysBack = 31;
const daysAhead = 366;
/** More than 50 on each day. */
export const mostEvents = 20_000;
/** An end for what has none. */
const farFuture = new Date(8.64e15);

const columns = [
  ...(['id', 'resource_id as resourceId', 'person_id as personId', 'label'] as const),
  ...(['created_at as createdAt', 'revoked_at as revokedAt', 'last_used_at as lastUsedAt'] as const),
] as const;

const hmacOf = (config: Context['config'], purpose: 'token' | 'ETag', text: string) =>
  createHmac('sha256', deriveKey(pepperOf(config), `calendar ${purpose}`))
    .update(text)
    .digest();
const hashToken = (config: Context['config'], token: string) => hmacOf(config, 'token', token);

/**
 * Makes a token for the feed of a resource and tells it with the address to call; neither can be read again.
 * @throws Forbidden for a display; NotFound, also for another tenant's resource; Conflict where the person has 20 already
 */
export async function createToken(
  { db, config }: Context,
  viewer: Viewer,
  resourceId: number,
  label: string | null,
): Promise<CreatedToken> {
  await getResource(db, viewer, resourceId);
  const token = randomBytes(tokenBytes).toString('base64url');
  const owned = { mandator_id: viewer.mandatorId, resource_id: resourceId, person_id: viewer.personId };
  const record = await db.transaction().execute(async (trx) => {
    // One after the other, so that each counts those before it.
    await trx
      .selectFrom('person')
      .where('mandator_id', '=', viewer.mandatorId)
      .where('id', '=', viewer.personId)
      .select('id')
      .forNoKeyUpdate()
      .execute();
    const { count } = await trx
      .selectFrom('calendar_token')
      .where((eb) => eb.and(owned))
      .where('revoked_at', 'is', null)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    if (count >= mostTokens)
      throw new Conflict(
        `You have ${mostTokens} tokens for the calendar of this resource already; revoke one that is not needed any more.`,
      );
    return await trx
      .insertInto('calendar_token')
      .values({ ...owned, hash: hashToken(config, token), label })
      .returning(columns)
      .executeTakeFirstOrThrow();
  });
  const url = `${config.BaseUrl}/${viewer.mandator}/api${pathOfFeed(resourceId)}?token=${token}`;
  return { token, url, record };
}

/**
 * The tokens of a resource that the viewer has made, to an Admin those of everybody; revoked ones too, oldest first.
 * @throws Forbidden for a display; NotFound, also for another tenant's resource
 */
export async function listTokens(
  db: Database,
  viewer: Viewer,
  resourceId: number,
  { limit, after }: PageRequest,
): Promise<Page<CalendarToken>> {
  await getResource(db, viewer, resourceId);
  const rows = await db
    .selectFrom('calendar_token')
    .where('mandator_id', '=', viewer.mandatorId)
    .where('resource_id', '=', resourceId)
    .$if(!maySeeAll(viewer), (query) => query.where('person_id', '=', viewer.personId))
    .$if(after !== undefined, (query) => query.where('id', '>', after as number))
    .select(columns)
    .orderBy('id')
    .limit(limit + 1)
    .execute();
  return toPage(tokenList, rows, limit);
}

/**
 * Ends a token at once; again is no error.
 * @param resourceId the token must be of this resource, where given
 * @throws Forbidden for a display; NotFound, also for another person's unless the viewer is an Admin
 */
export async function revokeToken(
  db: Database,
  viewer: Viewer,
  id: number,
  resourceId?: number,
): Promise<CalendarToken> {
  checkReader(viewer);
  const revoked = await db
    .updateTable('calendar_token')
    .set({ revoked_at: sql`coalesce(revoked_at, now())` })
    .where('mandator_id', '=', viewer.mandatorId)
    .where('id', '=', id)
    .$if(resourceId !== undefined, (query) => query.where('resource_id', '=', resourceId as number))
    .$if(!maySeeAll(viewer), (query) => query.where('person_id', '=', viewer.personId))
    .returning(columns)
    .executeTakeFirst();
  if (!revoked) throw new NotFound('There is no calendar token of this id.');
  return revoked;
}

/**
 * Whose token it is, for the feed of this resource alone.
 * @param feed the tenant and the resource as the address names them
 * @throws NotAuthenticated
 */
export async function viewerOfToken(
  { db, config }: Context,
  feed: { mandator: string; resourceId: string },
  token: string,
): Promise<Viewer> {
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
    .select('token.resource_id as resourceId')
    .select(['mandator.id as mandatorId', 'mandator.code as mandator', 'person.id as personId'])
    .select(['person.name as displayName', 'person.email', 'person.time_zone as timeZone', 'person.role'])
    .select('token.id')
    .select(sql<boolean>`coalesce(token.last_used_at < now() - interval '1 minute', true)`.as('isNewUse'))
    .executeTakeFirst();
  // The address is compared here: it may hold what PostgreSQL takes in no text.
  if (found?.mandator !== feed.mandator.toLowerCase() || String(found.resourceId) !== feed.resourceId)
    throw new NotAuthenticated(
      'The token of this calendar address does not count; make another one at its calendar-tokens.',
    );
  const { id, resourceId: _resourceId, isNewUse, role, ...person } = found;
  if (isNewUse)
    await db
      .updateTable('calendar_token')
      .set({ last_used_at: sql`now()` })
      .where('mandator_id', '=', person.mandatorId)
      .where('id', '=', id)
      .execute()
      .catch((error: unknown) => {
        // Reading goes on where nothing can be written.
        if (!isUnwritable(error)) throw error;
      });
  return {
    ...person,
    role: role as Viewer['role'],
    pinId: null,
    display: null,
    credential: `calendar:${id}`,
    expiresAt: farFuture,
  };
}

/** A feed as it stands: its ETag, and how to write the file, which takes longer. */
export type Feed = { etag: string; write(): Promise<string> };

/**
 * The iCalendar file of a resource, as the viewer may see its bookings: those from 31 days ago to 366 days ahead, in whole
 * days of UTC, so that it stays the same while nothing changes; cancelled and released ones too, so that they vanish
 * elsewhere. Of more than 20,000 it has the first, so that what is far ahead is left out.
 * @throws Forbidden for a display; NotFound, also for another tenant's resource
 */
export async function readFeed(
  { db, config }: Pick<Context, 'db' | 'config'>,
  viewer: Viewer,
  resourceId: number,
): Promise<Feed> {
  const today = new Date().setUTCHours(0, 0, 0, 0);
  const { name } = await getResource(db, viewer, resourceId);
  const wanted = {
    resourceId,
    from: new Date(today - daysBack * dayLength),
    to: new Date(today + daysAhead * dayLength),
    most: mostEvents,
  };
  const state = [edition, name, await hashForResource(db, viewer, wanted)];
  return {
    // With a key: what private bookings are about stands in the hash, where it could be guessed at.
    etag: `"${hmacOf(config, 'ETag', JSON.stringify(state)).toString('base64url')}"`,
    // What has changed since the ETag was made comes with the next one.
    write: () => writeCalendar(name, listForResource(db, viewer, wanted)),
  };
}
