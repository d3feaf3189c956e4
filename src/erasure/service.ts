/**
 * Erasure of a person (data protection). The person stays as a record without name and address, so that references from
 * bookings, batches and the audit stay valid. docs/personal-data.md lists the handling of each column.
 *
 * Invariants: everything happens in one transaction. An erased person never comes back. The audit records that it happened and
 * who did it, but nothing that was erased.
 */
import { sql } from 'kysely';
import { checkAdmin } from '../access.ts';
import { recordAct } from '../acts.ts';
import { forgetOrganizer, type OrganizerNames } from '../bookings/service.ts';
import { deleteTokensOf } from '../calendar-feed/service.ts';
import type { Act, Context, Versions } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { forgetKeysOf } from '../db/idempotency.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { InvalidInput } from '../errors.ts';
import { deletePinsOf } from '../identity/service.ts';
import { findLessonsNaming, holdImports, removeTeachers } from '../lessons/service.ts';
import { forgetMailOrganizer } from '../mail/service.ts';
import { erasePersonRecord, type PersonRecord } from '../tenants/service.ts';

/** The names that name another person of the tenant: a teacher code, which lessons have, or an address. */
async function listOfOthers(trx: Transaction, mandatorId: number, names: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${names}::text[]) as given(name)
    where exists (select from person where mandator_id = ${mandatorId}
      and (name_key(teacher_code) = name_key(given.name) or lower(email) = lower(given.name)))`.execute(trx);
  return rows.map(({ name }) => name);
}

/** Whether another person of the tenant has this name as well: who is named by it alone may be that one. */
async function isOfOther(trx: Transaction, mandatorId: number, name: string): Promise<boolean> {
  const { rows } = await sql`
    select from person
    where mandator_id = ${mandatorId} and erased_at is null and name_key(name) = name_key(${name}) limit 1`.execute(
    trx,
  );
  return rows.length > 0;
}

function refuseOthers(alsoKnownAs: readonly string[], ofOthers: readonly string[]): void {
  const faults = alsoKnownAs.flatMap((name, at) => {
    const message = `${JSON.stringify(name)} is the TeacherCode or the Email of another person.`;
    return ofOthers.includes(name)
      ? [{ field: 'AlsoKnownAs', pointer: `/AlsoKnownAs/${at}`, code: 'OfAnotherPerson', message }]
      : [];
  });
  if (faults.length > 0) throw InvalidInput.of(...faults);
}

/**
 * Removes the names from lessons, bookings and mail items.
 * @param id null for a person who has been erased before
 * @returns how many bookings and mail items have changed
 */
async function forgetNames(
  trx: Transaction,
  mandatorId: number,
  id: number | null,
  organizer: OrganizerNames,
): Promise<number> {
  const { names } = organizer;
  await holdImports(trx, mandatorId);
  const lessons = await findLessonsNaming(trx, mandatorId, names);
  const taught = lessons.flatMap(({ bookingId }) => bookingId ?? []);
  const bookings = await forgetOrganizer(trx, mandatorId, { id, organizer, taught });
  await removeTeachers(trx, mandatorId, names, lessons);
  return bookings + (await forgetMailOrganizer(trx, mandatorId, organizer));
}

/**
 * Erases a person. If it has been erased already, only the further names are erased, whatever version is named: the first
 * erasure did not know them, or they came back since.
 * @param alsoKnownAs names besides its own by which lessons name the person as a teacher, and further addresses
 * @throws Forbidden, NotFound, PreconditionFailed; InvalidInput for the teacher code or address of somebody else; Conflict
 * for the last active Admin, and for the person of a display; Unavailable while an import runs
 */
export function erasePerson(
  { uploads }: Pick<Context, 'uploads'>,
  act: Act,
  id: number,
  expected: Versions,
  alsoKnownAs: readonly string[],
): Promise<PersonRecord> {
  checkAdmin(act.viewer);
  const { mandatorId } = act.viewer;
  // A tenant with millions of bookings needs longer than a request usually has.
  return transactOrGiveUp(uploads, 'A booking or lesson of this person', async (trx) => {
    const { erased, before } = await erasePersonRecord(trx, act, id, expected);
    // Also of a person who has been erased before: an older release could store some during an erasure.
    const pins = await deletePinsOf(trx, mandatorId, id);
    await forgetKeysOf(trx, mandatorId, id);
    const isShared = before && (await isOfOther(trx, mandatorId, before.name));
    const own = [isShared ? null : before?.name, before?.teacherCode];
    const all = [...own, ...alsoKnownAs].filter((name) => name != null);
    // The person has no code and no address of its own any more.
    const ofOthers = await listOfOthers(trx, mandatorId, all);
    refuseOthers(alsoKnownAs, ofOthers);
    const names = all.filter((name) => !ofOthers.includes(name));
    const organizer = { emails: [...(before ? [before.email] : []), ...alsoKnownAs], names };
    const tokens = await deleteTokensOf(trx, mandatorId, id, names);
    const copies = before || names.length > 0 ? await forgetNames(trx, mandatorId, before?.id ?? null, organizer) : 0;
    if (!before && pins + tokens + copies > 0)
      await recordAct(trx, act, 'erase person', { noun: 'Person', id, personId: id });
    return erased;
  });
}
