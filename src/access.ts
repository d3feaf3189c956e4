/** Who may do what (contract 3): no other module inspects a caller's role or groups. */
import { type RawBuilder, sql } from 'kysely';
import type { Viewer } from './context.ts';
import { Forbidden } from './errors.ts';

/** Whether the caller is a door sign, which any passer-by can use. */
export const isDisplay = ({ role }: Viewer): boolean => role === 'Display';

/** @throws Forbidden for a display */
export function checkReader(viewer: Viewer): void {
  if (isDisplay(viewer))
    throw new Forbidden('A display reads the status of its own resources only; use the PIN of a user.');
}

/** What the groups of a tenant may do with the resources that have this policy; it does not limit Admins. */
export type Policy = {
  id: number;
  /** Ids of groups, as in the other lists; empty means everybody. */
  maySee: readonly number[];
  /** Empty means everybody who may see. */
  mayBook: readonly number[];
  /** Whether bookings wait for a decision. */
  needsApproval: boolean;
  /** Groups that book without waiting for a decision. */
  maySkipApproval: readonly number[];
  /** Groups that decide, besides Admins. */
  mayDecide: readonly number[];
  /** Groups that book for other persons, besides Admins. */
  mayBookForOthers: readonly number[];
  /** Limits on bookings by those who are not Admins; null: no limit. */
  leadMinutes: number | null;
  aheadDays: number | null;
  longestMinutes: number | null;
  quotaMinutesPerWeek: number | null;
  quotaBookingsPerWeek: number | null;
};

/** The roles from which policies hide no rooms; an Importer needs all rooms for a timetable. */
const rolesOfAllRooms: readonly Viewer['role'][] = ['Admin', 'Importer'];
const seesAllRooms = ({ role }: Pick<Viewer, 'role'>): boolean => rolesOfAllRooms.includes(role);

const isOfSome = ({ groupIds }: Viewer, groups: readonly number[]): boolean =>
  groups.some((id) => groupIds.includes(id));

/** Whether the caller may see the resources of a policy. */
export const maySeePolicy = (viewer: Viewer, { maySee }: Pick<Policy, 'maySee'>): boolean =>
  maySee.length === 0 || seesAllRooms(viewer) || isOfSome(viewer, maySee);

/** The condition of `maySeePolicy` in SQL, on the table policy. */
export const seenPolicies = (viewer: Viewer): RawBuilder<boolean> =>
  seesAllRooms(viewer) ? sql`true` : sql`(policy.may_see = '{}' or policy.may_see && ${viewer.groupIds}::integer[])`;

/** The resources of all policies for which `maySeePolicy` is false, in a query on the table person. */
export const hiddenRooms = sql<
  number[]
>`case when person.role not in (${sql.join(rolesOfAllRooms.map((role) => sql.lit(role)))}) then array(
    select room.id from policy
    join resource as room on room.mandator_id = policy.mandator_id and room.policy_id = policy.id
    where policy.mandator_id = person.mandator_id and policy.may_see <> '{}' and not exists (
      select from person_group_member as member
      where member.mandator_id = person.mandator_id and member.person_id = person.id
        and member.group_id = any (policy.may_see))
    order by 1) else '{}' end`;

/** What a viewer gets from groups and policies, to be selected with the row of its person. */
export const sightColumns = [
  sql<number[]>`array(
    select group_id from person_group_member as member
    where member.mandator_id = person.mandator_id and member.person_id = person.id order by 1)`.as('groupIds'),
  hiddenRooms.as('hiddenRooms'),
] as const;

/** The resources whose status a display may see; null for a person. */
export const roomsShown = (viewer: Viewer): readonly number[] | null =>
  isDisplay(viewer) ? (viewer.display?.resourceIds ?? []) : null;

/** Whether the caller may see a resource: a display its own, a person those that no policy hides from it. */
export const mayShow = (viewer: Viewer, resourceId: number): boolean =>
  roomsShown(viewer)?.includes(resourceId) ?? !viewer.hiddenRooms.includes(resourceId);

/** The condition of `mayShow` in SQL, to be appended to a `where` clause; nothing where no policy hides anything. */
export function inReach(viewer: Viewer, column: string): RawBuilder<unknown> {
  const shown = roomsShown(viewer);
  if (shown) return sql`and ${sql.ref(column)} = any (${shown}::integer[])`;
  return viewer.hiddenRooms.length > 0 ? sql`and ${sql.ref(column)} <> all (${viewer.hiddenRooms}::integer[])` : sql``;
}

/** Whether the caller may see a location that has these resources. */
export const mayShowSome = (viewer: Viewer, resourceIds: readonly number[]): boolean =>
  !isDisplay(viewer) || resourceIds.some((id) => mayShow(viewer, id));

/** Whether the caller may see the bookings and calendar tokens of all persons, private ones too. */
export const maySeeAll = ({ role }: Viewer): boolean => role === 'Admin';
/** The condition of `maySeeAll` in SQL, on the table person. */
export const seesAll = sql<boolean>`person.role = 'Admin'`;

/** Whether the caller may see the content of a private booking. */
export const maySeePrivate = (viewer: Viewer, owners: readonly (number | null | undefined)[]): boolean =>
  maySeeAll(viewer) || owners.includes(viewer.personId);

type Participant = { personId: number | null } | null;

type Shown = {
  isPrivate: boolean;
  organizer: Participant;
  createdBy: Participant;
  /** For a request: the groups that may decide about it. */
  deciders?: readonly number[] | null;
  decision?: { by: Participant } | null;
};

/**
 * Whether the caller may see the content of a booking. A display sees only the content of bookings that it made.
 * Persons who may decide about a request, or have decided about it, see its content.
 */
export function maySee(viewer: Viewer, { isPrivate, organizer, createdBy, deciders, decision }: Shown): boolean {
  if (isDisplay(viewer)) return createdBy?.personId === viewer.personId;
  if (!isPrivate || maySeePrivate(viewer, [organizer?.personId, createdBy?.personId, decision?.by?.personId]))
    return true;
  return deciders != null && isOfSome(viewer, deciders);
}

/** @throws Forbidden for a display that may not book */
export function checkActor(viewer: Viewer): void {
  if (!isDisplay(viewer) || viewer.display?.mayBook) return;
  throw new Forbidden(
    viewer.display
      ? 'This display may not book; ask an Admin to allow it.'
      : 'A display may not book, change or release; use the PIN of a user.',
  );
}

/** @throws Forbidden for callers other than a display that may book */
export function checkUndoer(viewer: Viewer): void {
  checkActor(viewer);
  if (!isDisplay(viewer))
    throw new Forbidden('Only a display can undo its own last action; change or cancel the booking instead.');
}

/** The id of the display that calls. @throws Forbidden for callers that are no paired device */
export function getOwnDisplay({ display }: Viewer): number {
  if (!display) throw new Forbidden('Only a paired display may do this; pair a device and use its token.');
  return display.displayId;
}

/** @throws Forbidden for a display, also for one that may book */
export function checkBooker(viewer: Viewer): void {
  if (isDisplay(viewer)) throw new Forbidden('A display may not change or cancel bookings; use the PIN of a user.');
}

/** Whether the caller books for itself only: an Importer has no more rights over bookings than a User. */
const actsForItself = ({ role }: Pick<Viewer, 'role'>): boolean => role === 'User' || role === 'Importer';

/** @throws Forbidden for a User or an Importer who blocks a resource */
export function checkKind({ role }: Viewer, kind: string): void {
  if (kind === 'Block' && actsForItself({ role }))
    throw new Forbidden('Only an Admin may block a resource; ask an Admin of your tenant.');
}

type ForOthers = Pick<Policy, 'mayBookForOthers'> | null;
/** @throws Forbidden for a User or an Importer who books for another person, unless the policy lets one of its groups do so */
export function checkOnBehalf(viewer: Viewer, policy: ForOthers, organizerId: number | null = viewer.personId): void {
  if (!actsForItself(viewer) || organizerId === viewer.personId) return;
  if (policy && isOfSome(viewer, policy.mayBookForOthers)) return;
  throw new Forbidden(
    'Only an Admin, or a member of a group that the policy of the resource names, may book for another person; leave OrganizerId out to book for yourself.',
  );
}

/** @throws Forbidden for a User or an Importer who neither made nor organizes the booking; an Admin or a display may change any */
export function checkOwner({ role, personId }: Viewer, owners: readonly (number | null)[]): void {
  if (actsForItself({ role }) && !owners.includes(personId))
    throw new Forbidden('This booking belongs to another person; ask its organizer or an Admin.');
}

/** Whether the caller may book in the past and outside of opening hours, and beyond the limits of policies. */
export const mayBookAnytime = ({ role }: Viewer): boolean => role === 'Admin';

/** Whether the caller may book resources of a policy; members who decide there, or book for others, may book too. */
export function mayBookUnder(viewer: Viewer, policy: Policy | null): boolean {
  // A display books its own resources, if an Admin lets it book at all.
  if (!policy || !actsForItself(viewer) || policy.mayBook.length === 0) return true;
  return isOfSome(viewer, [...policy.mayBook, ...policy.mayDecide, ...policy.mayBookForOthers]);
}

/** The condition of `mayBookUnder` in SQL, on the table policy. */
export const bookablePolicies = (viewer: Viewer): RawBuilder<boolean> =>
  actsForItself(viewer)
    ? sql`(policy.may_book = '{}'
        or (policy.may_book || policy.may_decide || policy.may_book_for_others) && ${viewer.groupIds}::integer[])`
    : sql`true`;

/** @throws Forbidden for a caller who may not book the resource */
export function checkMayBook(
  viewer: Viewer,
  { name, policy }: { name: string; policy: (Policy & { name: string }) | null },
): void {
  if (!policy || mayBookUnder(viewer, policy)) return;
  throw new Forbidden(
    `Under the policy ${policy.name}, only certain groups may book ${name}; choose another resource, or ask an Admin to add you to one of these groups.`,
  );
}

/** Whether the caller's bookings must be approved. */
export const mustAsk = (viewer: Viewer, policy: Policy | null): boolean =>
  policy?.needsApproval === true &&
  actsForItself(viewer) &&
  !isOfSome(viewer, [...policy.maySkipApproval, ...policy.mayDecide]);

export type BookingLimits = Pick<
  Policy,
  'leadMinutes' | 'aheadDays' | 'longestMinutes' | 'quotaMinutesPerWeek' | 'quotaBookingsPerWeek'
>;
const noLimits: BookingLimits = {
  leadMinutes: null,
  aheadDays: null,
  longestMinutes: null,
  quotaMinutesPerWeek: null,
  quotaBookingsPerWeek: null,
};

/**
 * The limits of a policy that apply to what the caller does with a booking of the organizer; an Admin has none. A display books
 * from now on, so a lead time cannot apply; its own bookings are for no person, so they count towards no quota.
 */
export function limitsFor(viewer: Viewer, policy: Policy | null, organizerId: number | null): BookingLimits {
  if (!policy || mayBookAnytime(viewer)) return noLimits;
  if (!isDisplay(viewer)) return policy;
  const { longestMinutes } = policy;
  return organizerId === viewer.personId ? { ...noLimits, longestMinutes } : { ...policy, leadMinutes: null };
}

/** The groups as whose member the caller decides about requests; null for an Admin, who decides about all. */
export const groupsOfDecider = (viewer: Viewer): readonly number[] | null =>
  viewer.role === 'Admin' ? null : viewer.groupIds;

/** Whether the caller may decide about requests. */
export const mayDecide = (viewer: Viewer, policy: Pick<Policy, 'mayDecide'> | null): boolean =>
  viewer.role === 'Admin' || isOfSome(viewer, policy?.mayDecide ?? []);

/** @throws Forbidden for a caller who may not decide about requests of the resource */
export function checkDecider(viewer: Viewer, { name, policy }: { name: string; policy: Policy | null }): void {
  if (mayDecide(viewer, policy)) return;
  throw new Forbidden(
    `Only an Admin, or a member of a group that the policy of ${name} names, may decide about its requests; ask one of them.`,
  );
}

/** @throws Forbidden for a display */
export function checkBatchUser(viewer: Viewer): void {
  if (isDisplay(viewer)) throw new Forbidden('A display may not use lesson batches; use the PIN of a user.');
}

/** Whether the caller sees only its own batches, because those of others may name rooms that are hidden from it. */
export const seesOwnBatches = ({ hiddenRooms }: Viewer): boolean => hiddenRooms.length > 0;

/**
 * Checks the right to import, change and delete lessons and to cancel batches: Importers and Admins have it, and Users where
 * the tenant parameter UsersMayImport is true, but without Displace.
 * @throws Forbidden
 */
export function checkImporter(viewer: Viewer, onConflict?: 'Fail' | 'Skip' | 'Displace'): void {
  checkBatchUser(viewer);
  const { role, usersMayImport = false } = viewer;
  if (role !== 'User') return;
  if (!usersMayImport)
    throw new Forbidden(
      'Only an Importer or an Admin may send, change, delete or cancel lessons; ask an Admin for the role Importer, or to let all Users import.',
    );
  if (onConflict === 'Displace')
    throw new Forbidden(
      'Only an Importer or an Admin may displace bookings; use OnConflict=Fail or Skip, or ask an Admin for the role Importer.',
    );
}

const onlyAdmins =
  (act: string) =>
  ({ role }: Viewer): void => {
    if (role !== 'Admin') throw new Forbidden(`Only an Admin ${act}; ask an Admin of your tenant.`);
  };

// Each throws Forbidden unless the caller is an Admin; call it before any lookup.
export const checkAdmin = onlyAdmins('may manage persons, PINs, locations, resources and their opening hours');
export const checkOverseer = onlyAdmins('may see the status of the calendars on the mail server');
export const checkCaretaker = onlyAdmins('may see and settle problems of rooms');
export const checkAuditor = onlyAdmins('may read the audit');
export const checkPublisher = onlyAdmins('may manage webhooks and see their deliveries');
export const checkUsageReader = onlyAdmins('may see usage figures');

/** @throws Forbidden unless the caller is an Admin, or asks about itself: its groups, its timetable */
export function checkPersonReader(viewer: Viewer, personId: number | undefined): void {
  if (personId !== viewer.personId) checkAdmin(viewer);
}
