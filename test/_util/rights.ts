/**
 * The functions of src/access.ts that each operation calls, in their order. `npm run generate` writes their results for each
 * kind of caller to docs/rights.md; test/api/rights.test.ts compares these with the answers of a running service.
 */
import * as access from '../../src/access.ts';
import type { Viewer } from '../../src/context.ts';
import { Forbidden, NotFound } from '../../src/errors.ts';

/** A policy lets the staff book its room, and the office decide; the staff have a booking there. It names no guests. */
const [staff, office, guests] = [1, 2, 3];
const room = 1;
const policy: access.Policy & { name: string } = {
  id: 1,
  name: 'Exams',
  maySee: [staff, office],
  mayBook: [staff],
  needsApproval: false,
  maySkipApproval: [],
  mayDecide: [office],
  mayBookForOthers: [],
  leadMinutes: null,
  aheadDays: null,
  longestMinutes: null,
  quotaMinutesPerWeek: null,
  quotaBookingsPerWeek: null,
};
const bookable = { name: 'R001', policy };

const callers = {
  Admin: { role: 'Admin', personId: 1 },
  Importer: { role: 'Importer', personId: 2, groupIds: [guests] },
  'Importer of the staff': { role: 'Importer', personId: 7, groupIds: [staff] },
  'User of the staff': { role: 'User', personId: 3, groupIds: [staff] },
  'User of the office': { role: 'User', personId: 6, groupIds: [office] },
  'other User': { role: 'User', personId: 4, groupIds: [guests] },
  display: {
    role: 'Display',
    personId: 5,
    display: { displayId: 1, mayBook: true, privacy: 'Title', resourceIds: [room] },
  },
} satisfies Record<string, Partial<Viewer>>;
export type CallerName = keyof typeof callers;
export const callerNames = Object.keys(callers) as CallerName[];
export const userNames = callerNames.filter((name) => callers[name].role === 'User');
const member = callers['User of the staff'].personId;

function viewerOf(name: CallerName, usersMayImport: boolean): Viewer {
  const viewer = {
    groupIds: [],
    display: null,
    mandator: 'school',
    usersMayImport,
    ...callers[name],
  } as unknown as Viewer;
  return { ...viewer, hiddenRooms: viewer.display || access.maySeePolicy(viewer, policy) ? [] : [room] };
}

type Step = (viewer: Viewer) => unknown;
const seen = (isSeen: boolean) => {
  if (!isSeen) throw new NotFound('');
};
const sees: Step = (viewer) => seen(access.mayShow(viewer, room));
const seesPolicy: Step = (viewer) => seen(access.maySeePolicy(viewer, policy));
const seesBatch: Step = (viewer) => seen(!access.seesOwnBatches(viewer));
const ownsToken: Step = (viewer) => seen(access.maySeePrivate(viewer, [member]));
const ownsBooking: Step = (viewer) => access.checkOwner(viewer, [member]);
const maysBook: Step = (viewer) => access.checkMayBook(viewer, bookable);
const decides: Step = (viewer) => access.checkDecider(viewer, bookable);
const importing: Step = (viewer) => access.checkImporter(viewer);
const { checkReader, checkActor, checkBooker, checkBatchUser, checkAdmin } = access;

const operations: [steps: Step[], ...names: string[]][] = [
  [[checkReader], 'GET bookings', 'Query.bookings', 'Subscription.bookings'],
  [[checkActor, sees, maysBook], 'POST bookings', 'Mutation.createBooking'],
  [[checkReader, sees], 'GET bookings/{id}', 'Query.booking'],
  [[checkBooker, sees, ownsBooking], 'PATCH bookings/{id}', 'Mutation.changeBooking'],
  [[checkBooker, sees, ownsBooking], 'DELETE bookings/{id}', 'Mutation.cancelBooking'],
  [[checkBooker, sees, decides], 'POST bookings/{id}/decide', 'Mutation.decideBooking'],
  [[checkActor, sees, ownsBooking], 'POST bookings/{id}/check-in', 'Mutation.checkIn'],
  [[checkActor, sees, ownsBooking], 'POST bookings/{id}/release', 'Mutation.releaseBooking'],
  [[checkActor, sees, ownsBooking], 'POST bookings/{id}/extend', 'Mutation.extendBooking'],
  [[access.checkUndoer, sees], 'POST bookings/{id}/undo', 'Mutation.undoBooking'],
  [[checkReader], 'GET availability', 'Query.availability'],
  [[checkReader], 'GET availability/free', 'Query.freeResources'],
  [[], 'GET opening-hours/all/{locationId}', 'Query.openingHours'],
  [[checkReader], 'GET changes', 'Query.changes'],
  [[checkReader, sees], 'GET resources/{id}/calendar.ics'],
  [[checkReader, sees], 'GET resources/{id}/calendar-tokens', 'Query.calendarTokens'],
  [[checkReader, sees], 'POST resources/{id}/calendar-tokens', 'Mutation.createCalendarToken'],
  [[checkReader, ownsToken], 'DELETE resources/{id}/calendar-tokens/{tokenId}', 'Mutation.revokeCalendarToken'],
  [[checkReader], 'GET timetable', 'Query.timetable', 'Subscription.timetable'],
  [[checkReader], 'GET timetable/calendar.ics'],
  [[checkReader], 'GET timetable/calendar-tokens', 'Query.timetableTokens'],
  [[checkReader], 'POST timetable/calendar-tokens', 'Mutation.createTimetableToken'],
  [[checkReader, ownsToken], 'DELETE timetable/calendar-tokens/{tokenId}'],
  [[checkReader], 'GET resources', 'Query.resources'],
  [[checkReader, sees], 'GET resources/{id}', 'Query.resource'],
  [[checkAdmin], 'POST resources', 'Mutation.createResource'],
  [[checkAdmin], 'PATCH resources/{id}', 'Mutation.changeResource'],
  [[checkAdmin], 'GET resources/{id}/retirement', 'Query.retirementPreview'],
  [[checkAdmin], 'POST resources/{id}/retirement', 'Mutation.retireResource'],
  [[checkReader], 'GET locations', 'Query.locations'],
  [[checkReader], 'GET locations/{id}', 'Query.location'],
  [[checkAdmin], 'POST locations', 'Mutation.createLocation'],
  [[checkAdmin], 'PATCH locations/{id}', 'Mutation.changeLocation'],
  [[checkAdmin], 'GET opening-hours/{id}/rules', 'Query.openingRules'],
  [[checkAdmin], 'PUT opening-hours/{id}/rules', 'Mutation.setOpeningRules'],
  [[checkAdmin], 'GET opening-hours/{id}/exceptions', 'Query.openingExceptions'],
  [[checkAdmin], 'PUT opening-hours/{id}/exceptions', 'Mutation.setOpeningExceptions'],
  [[checkAdmin], 'GET opening-hours/locations/{id}/rules', 'Query.locationOpeningRules'],
  [[checkAdmin], 'PUT opening-hours/locations/{id}/rules', 'Mutation.setLocationOpeningRules'],
  [[checkAdmin], 'GET opening-hours/locations/{id}/exceptions', 'Query.locationOpeningExceptions'],
  [[checkAdmin], 'PUT opening-hours/locations/{id}/exceptions', 'Mutation.setLocationOpeningExceptions'],
  [[checkAdmin], 'GET holiday-calendars', 'Query.holidayCalendars'],
  [[checkAdmin], 'GET holiday-calendars/{id}'],
  [[checkAdmin], 'GET holiday-calendars/{id}/bookings', 'Query.bookingsInHolidays'],
  [[checkAdmin], 'POST holiday-calendars', 'Mutation.createHolidayCalendar'],
  [[checkAdmin], 'PATCH holiday-calendars/{id}', 'Mutation.changeHolidayCalendar'],
  [[checkAdmin], 'DELETE holiday-calendars/{id}', 'Mutation.deleteHolidayCalendar'],
  [[checkReader], 'GET holidays', 'Query.holidays'],
  [[importing], 'GET timetable-profiles', 'Query.timetableProfiles'],
  [[importing], 'GET timetable-profiles/{id}'],
  [[importing], 'POST timetable-profiles', 'Mutation.createTimetableProfile'],
  [[importing], 'PATCH timetable-profiles/{id}', 'Mutation.changeTimetableProfile'],
  [[importing], 'DELETE timetable-profiles/{id}', 'Mutation.deleteTimetableProfile'],
  [[access.checkPublisher], 'GET webhooks', 'Query.webhooks'],
  [[access.checkPublisher], 'GET webhooks/{id}'],
  [[access.checkPublisher], 'GET webhooks/{id}/deliveries'],
  [[access.checkPublisher], 'POST webhooks', 'Mutation.createWebhook'],
  [[access.checkPublisher], 'PATCH webhooks/{id}', 'Mutation.changeWebhook'],
  [[access.checkPublisher], 'DELETE webhooks/{id}', 'Mutation.deleteWebhook'],
  [[access.checkPublisher], 'POST webhooks/{id}/rotate', 'Mutation.rotateWebhookSecret'],
  [[access.checkPublisher], 'POST webhooks/{id}/test', 'Mutation.testWebhook'],
  [[access.checkPublisher], 'POST webhooks/{id}/replay', 'Mutation.replayWebhook'],
  [[], 'GET persons/me', 'Query.me'],
  [[], 'Query.serverTime'],
  // Of a resource; each noun has the rights of its own query.
  [[checkReader, sees], 'Query.node'],
  // Null where there is none for the caller.
  [[checkReader], 'Query.nodes'],
  [[checkAdmin], 'GET persons', 'Query.persons'],
  [[checkAdmin], 'GET persons/{id}', 'Query.person'],
  [[checkAdmin], 'POST persons', 'Mutation.createPerson'],
  [[checkAdmin], 'PATCH persons/{id}', 'Mutation.changePerson'],
  [[checkAdmin], 'POST persons/{id}/erasure', 'Mutation.erasePerson'],
  [[checkAdmin], 'GET persons/{id}/pins', 'Query.pins'],
  [[checkAdmin], 'POST persons/{id}/pins', 'Mutation.createPin'],
  [[checkAdmin], 'DELETE persons/{id}/pins/{pinId}', 'Mutation.revokePin'],
  [[(viewer) => access.checkPersonReader(viewer, undefined)], 'GET groups', 'Query.groups'],
  [[checkAdmin], 'GET groups/{id}', 'Query.group'],
  [[checkAdmin], 'POST groups', 'Mutation.createGroup'],
  [[checkAdmin], 'PATCH groups/{id}', 'Mutation.changeGroup'],
  [[checkAdmin], 'DELETE groups/{id}', 'Mutation.deleteGroup'],
  [[checkReader], 'GET policies', 'Query.policies'],
  [[checkReader, seesPolicy], 'GET policies/{id}', 'Query.policy'],
  [[checkAdmin], 'POST policies', 'Mutation.createPolicy'],
  [[checkAdmin], 'PATCH policies/{id}', 'Mutation.changePolicy'],
  [[checkAdmin], 'DELETE policies/{id}', 'Mutation.deletePolicy'],
  [[checkReader], 'GET tenant', 'Query.tenant'],
  [[checkAdmin], 'PATCH tenant', 'Mutation.changeTenant'],
  [[checkReader, (viewer) => access.checkOnBehalf(viewer, policy, null)], 'GET persons/organizers', 'Query.organizers'],
  [[access.checkAuditor], 'GET audit', 'Query.audit'],
  [[access.checkUsageReader], 'GET usage/resources', 'Query.usage'],
  [[access.checkUsageReader], 'GET usage/hours'],
  [[access.checkUsageReader], 'GET usage/weeks'],
  [[access.checkOverseer], 'GET mail-subscriptions', 'Query.mailSubscriptions', 'Subscription.mailSubscriptions'],
  [[access.checkOverseer], 'GET mail-subscriptions/{id}'],
  [[access.checkOverseer], 'POST mail-subscriptions/{id}/read', 'Mutation.readMailSubscription'],
  [[importing], 'POST jobs/create', 'Mutation.createLessonJobs'],
  [[importing], 'POST jobs/update', 'Mutation.updateLessonJobs'],
  [[importing], 'POST timetables', 'Mutation.importTimetable'],
  [[importing], 'POST jobs/delete', 'Mutation.deleteLessonJobs'],
  [[checkBatchUser], 'GET jobs', 'Query.lessonJobs'],
  [[checkBatchUser], 'GET lessons', 'Query.lessons'],
  [[checkBatchUser, sees], 'GET lessons/{JobID}/{LektionId}', 'Query.lesson'],
  [[checkBatchUser, sees], 'Query.lessonJob'],
  [[checkBatchUser], 'GET jobs/batches', 'Query.batches', 'Subscription.batches'],
  [[checkBatchUser, seesBatch], 'GET jobs/batches/{batchId}', 'Query.batch', 'Subscription.batchStatus'],
  [[checkBatchUser, seesBatch], 'GET jobs/batches/{batchId}/errors'],
  [[importing, seesBatch], 'POST jobs/batches/{batchId}/cancel', 'Mutation.cancelBatch'],
  [[sees], 'GET displays/{resourceId}/snapshot', 'Query.display', 'Subscription.display'],
  [[], 'Query.board', 'Subscription.board'],
  [[access.getOwnDisplay], 'GET displays/self'],
  [[(viewer) => seen(access.isDisplay(viewer))], 'Query.thisDisplay'],
  [[access.getOwnDisplay], 'PUT displays/self/health', 'Mutation.reportHealth'],
  [[checkAdmin], 'GET displays', 'Query.displays', 'Subscription.displays'],
  [[checkAdmin], 'GET displays/{id}', 'Query.displayDevice'],
  [[checkAdmin], 'POST displays', 'Mutation.pairDisplay'],
  [[checkAdmin], 'PATCH displays/{id}', 'Mutation.changeDisplay'],
  [[checkAdmin], 'DELETE displays/{id}', 'Mutation.revokeDisplay'],
  [[access.getOwnDisplay], 'POST room-problems', 'Mutation.reportRoomProblem'],
  [[access.checkCaretaker], 'GET room-problems', 'Query.roomProblems', 'Subscription.roomProblems'],
  [[access.checkCaretaker], 'GET room-problems/{id}'],
  [[access.checkCaretaker], 'PATCH room-problems/{id}', 'Mutation.changeRoomProblem'],
];

/** Paths that need no credential. */
export const openOperations = [
  'GET /',
  'GET /{mandator}',
  'GET /.well-known/openid-configuration',
  'GET /.well-known/openid-configuration/jwks',
  'GET /healthz',
  'GET /readyz',
  'POST /connect/token',
  'GET /{mandator}/.well-known/openid-configuration',
  'GET /{mandator}/.well-known/openid-configuration/jwks',
  'POST /{mandator}/connect/token',
  'POST /api/webhooks/mailserver',
  'POST /WebServices/SyncNotification.svc',
  'POST /{mandator}/api/v1.0/displays/pairings',
  'POST /{mandator}/session',
  'DELETE /{mandator}/session',
  'GET /{mandator}/session/options',
  'GET /{mandator}/session/start',
  'GET /{mandator}/session/return',
];

const hides: Step = (viewer) => seen(!access.mayShow(viewer, room));

/** The checks of lists, feeds and streams, which decide whether they include the resource; test/api/sight.test.ts reads them. */
const tellings: [steps: Step[], ...names: string[]][] = [
  [[checkReader, sees], 'GET resources', 'Query.resources', 'Query.resource'],
  [[checkReader, sees], 'GET bookings', 'Query.bookings', 'Query.booking', 'Subscription.bookings'],
  [[checkReader, hides], 'gone of Subscription.bookings', 'gone of Subscription.timetable'],
  [[checkReader, sees], 'GET availability', 'Query.availability', 'GET availability/free'],
  [[sees], 'GET opening-hours/all/{locationId}', 'GET displays/{resourceId}/snapshot'],
  [[checkReader, sees], 'GET changes', 'Query.changes'],
  [[checkReader, sees], 'GET timetable', 'Query.timetable', 'Subscription.timetable'],
  [[checkReader, sees], 'GET timetable/calendar.ics', 'GET resources/{id}/calendar.ics'],
  [[checkBatchUser, sees], 'GET jobs', 'Query.lessonJobs', 'GET lessons', 'Query.lessons'],
  [[checkBatchUser, seesBatch], 'GET jobs/batches', 'Query.batches', 'Subscription.batches'],
  [[checkBatchUser, seesBatch, sees], 'jobs of Query.batch', 'lessons of Query.batch'],
  [[access.checkCaretaker], 'GET room-problems', 'Query.roomProblems', 'Subscription.roomProblems'],
];

export type Cell = 'yes' | 'no' | 'unknown';

function decide(steps: readonly Step[], caller: CallerName, usersMayImport: boolean): Cell {
  try {
    for (const step of steps) step(viewerOf(caller, usersMayImport));
    return 'yes';
  } catch (error) {
    if (error instanceof Forbidden) return 'no';
    if (error instanceof NotFound) return 'unknown';
    throw error;
  }
}

type Row = { names: string[]; cells: Record<CallerName, Cell> };

/** @param usersMayImport the tenant parameter */
const rowsOf = (asked: typeof operations, usersMayImport: boolean) =>
  asked.map(([steps, ...names]): Row => {
    const cells = callerNames.map((caller) => [caller, decide(steps, caller, usersMayImport)]);
    return { names, cells: Object.fromEntries(cells) };
  });
export const rights = rowsOf(operations, false);
export const rightsWhereUsersImport = rowsOf(operations, true);
export const told = rowsOf(tellings, false);

function table(what: string, judged: readonly Row[], callers = callerNames): string {
  const rows = judged.map(({ names, cells }) => {
    const all = names.map((name) => `\`${name}\``).join(', ');
    return `| ${all} | ${callers.map((caller) => cells[caller]).join(' | ')} |`;
  });
  return [`| ${what} | ${callers.join(' | ')} |`, `|---|${'---|'.repeat(callers.length)}`, ...rows].join('\n');
}

const changedWhereUsersImport = rightsWhereUsersImport.filter(({ cells }, at) =>
  callerNames.some((caller) => cells[caller] !== rights[at]?.cells[caller]),
);

export const rightsPage =
  () => `<!-- Generated by \`npm run generate\` from what src/access.ts decides. Change it there, or in test/_util/rights.ts. -->
# Who may do what

This page shows what each operation answers to each kind of caller, as \`src/access.ts\` decides it. A test compares it with a
running service, over REST and GraphQL, and fails if an operation is missing here. Roles:
[contract 3](contract/wire-and-identity.md#3-identity). Groups and policies, and how to set them:
[master-data.md](master-data.md#groups-and-policies).

## How to read the table

The resource has a policy with two groups: the staff may book it, and the office decides on requests (\`MaySee\`: both,
\`MayBook\`: the staff, \`MayDecide\`: the office). The Importer and the other User belong to a third group, from which it is
hidden; an Importer sees it nevertheless. The booking and the calendar token belong to a User of the staff, and an Admin has sent
the batch. For a list, \`yes\` means that it is answered, without what the caller may not see:
the [table of lists](#what-lists-feeds-and-streams-include) says what.

| In the table | REST | GraphQL |
|---|---|---|
| yes | the normal answer, or a refusal for reasons other than rights | the same |
| no | 403 | \`ForbiddenProblem\`, or an error \`FORBIDDEN\` |
| unknown | 404, or 422 with \`UnknownResource\` for a resource in a body, as for records that do not exist | \`NotFoundProblem\`, null, or an error \`NOT_FOUND\` |

- **display**: a paired device that shows the resource and may book. A person of the role \`Display\` without a device reads itself
  and nothing else.
- **A caller of another tenant** is answered 404 for every path of this one, and **a caller without a credential** 401.
- For a User who sees none of the lessons of a job, the job does not exist; a User who does not see all of them can neither
  change nor delete it ([contract 4](contract/lesson-jobs.md#4-lesson-jobs)). What a door sign shows is public: a sign, and the
  snapshot of a room, name the room that a lesson has moved to, even if it is hidden.
- A \`User\` can list its own groups with \`PersonId\`, but not its own PINs.
- What others see of a private booking: [contract 5.2](contract/bookings.md#52-booking).
- REST is below \`/{mandator}/api/v1.0/\`, jobs and lessons below \`/{mandator}/api/v2.0/\`.

## The table

${table('Operation', rights)}

## Where Users may import

If the tenant parameter \`UsersMayImport\` is true, these operations answer Users as follows, for their own batches; all others
answer as above. \`OnConflict=Displace\` remains reserved to Importers and Admins.

${table('Operation', changedWhereUsersImport, userNames)}

## What lists, feeds and streams include

Whether they include the resource, its bookings, lessons and problems: \`unknown\` means an answer without them. The batch was sent by
an Admin; of its own batches, a User reads the jobs and lessons in resources that it sees. \`gone\` lists bookings that were moved to the
resource from one that the caller sees. For callers who do not see all resources, \`changes\` omits displays and the batches of
others.

${table('In the answer of', told)}

## Without a credential

${openOperations.map((name) => `\`${name}\``).join(', ')}. Webhooks carry a secret of their
own. \`GET /{mandator}/session\` needs the cookie of a session, and describes only that session; the cookie is accepted for all operations of
its person ([contract 12](contract/console.md#12-console)).
`;
