/** Tokens of calendar feeds by their ids, and the records that they refer to. */
import { checkReader, maySeePrivate, mayShow } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { readById } from '../db/read-by-id.ts';
import { findPersonFor, findResource } from '../tenants/service.ts';

export type CalendarToken = {
  id: number;
  /** Null for a timetable: that of a class or a teacher, or else of the person. */
  resourceId: number | null;
  klasse: string | null;
  lehrperson: string | null;
  personId: number;
  label: string | null;
  createdAt: Date;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
};

export const columns = [
  'id',
  'resource_id as resourceId',
  'person_id as personId',
  'label',
  'class as klasse',
  'teacher as lehrperson',
  'created_at as createdAt',
  'revoked_at as revokedAt',
  'last_used_at as lastUsedAt',
] as const;

const tokenById = readById<CalendarToken>('calendar token by id', (from) => from('calendar_token').select(columns));

/** Finds a token that `listTokens` lists. @throws Forbidden for a display */
export async function findToken(db: Database, viewer: Viewer, id: number): Promise<CalendarToken | undefined> {
  checkReader(viewer);
  const found = await tokenById(db, viewer.mandatorId, id);
  if (!found || !maySeePrivate(viewer, [found.personId])) return undefined;
  return found.resourceId === null || mayShow(viewer, found.resourceId) ? found : undefined;
}

export const findResourceOf = async (db: Database, viewer: Viewer, { resourceId }: CalendarToken) =>
  resourceId === null ? undefined : await findResource(db, viewer, resourceId);

export const findPersonOf = (db: Database, viewer: Viewer, { personId }: CalendarToken) =>
  findPersonFor(db, viewer, personId);
