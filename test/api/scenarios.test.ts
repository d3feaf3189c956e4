import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from 'graphql';
import * as bookings from '../../src/bookings/graphql.ts';
import { routes as bookingRoutes } from '../../src/bookings/rest.ts';
import * as changes from '../../src/changes/graphql.ts';
import { type AddTypes, createBuilder } from '../../src/graphql/builder.ts';
import { addNodes } from '../../src/graphql/nodes.ts';
import { addProblems } from '../../src/graphql/problems.ts';
import * as lessonTypes from '../../src/lessons/graphql.ts';
import { routes as lessonRoutes } from '../../src/lessons/rest.ts';
import * as mail from '../../src/mail/graphql.ts';
import * as tenants from '../../src/tenants/graphql.ts';
import { type Contract, documentFile, openContract } from '../_util/contract.ts';
import { project } from '../_util/generate.ts';
import { heardOfAll } from '../_util/graphql.ts';
import { releaseAll } from '../_util/hold.ts';
import { isLong } from '../_util/long.ts';
import { type Service, startService } from '../_util/service.ts';
import { type Caller, day, openLanes } from './_util/lanes.ts';
import {
  answered,
  at,
  batch,
  batches,
  book,
  booking,
  cancel,
  create,
  done,
  type Expected,
  end,
  errors,
  failed,
  has,
  hourOf,
  items,
  job,
  jobs,
  lesson,
  lessons,
  on,
  page,
  queued,
  type Row,
  refused,
  remove,
  type Step,
  slot,
  submit,
  update,
} from './_util/scenarios.ts';
import { bookingScenarios, everyBookingCall } from './_util/scenarios-bookings.ts';
import { masterDataScenarios } from './_util/scenarios-master-data.ts';
import { recordScenarios } from './_util/scenarios-records.ts';
import { everyReport, reportScenarios } from './_util/scenarios-reports.ts';

/** Contract 4.1, without Forbidden, which takes two senders; a ResourceConflict is a warning where it was settled. */
const errorCodes = [
  ...['MissingField', 'InvalidType', 'InvalidTime', 'UnknownResource', 'AmbiguousResource', 'LimitExceeded'],
  ...['InconsistentIdentifiers', 'DuplicateJobId', 'DuplicateLektionId', 'UnknownJobId', 'UnknownLektionId'],
  'ResourceConflict',
];
const warningCodes = ['AssumedUtc', 'UnknownField', 'PastLesson', 'OutsideOpeningHours'];

const unknown = '01a1f8da-707e-77b2-927f-0b8eb9707a33';
const nextMonth = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
const simple = [job('J-1', lesson('L-1', 'R001', 8))];
const everyMember = {
  titel: 'Algebra',
  fach: 'Math',
  bemerkung: 'Bring rulers',
  klassen: ['1a', '1b'],
  lehrpersonen: ['E. Noether'],
  status: 'Vertretung',
  kopplungId: 'K',
  privat: true,
};
const noMember = {
  titel: null,
  fach: null,
  bemerkung: null,
  klassen: null,
  lehrpersonen: null,
  kopplungId: null,
  status: 'Geplant',
  privat: false,
};

const everyCall = [
  ...(['create', 'update', 'delete'] as const).map((name) => submit(name, [job('J-1')])),
  ...[batch(unknown), errors(unknown), cancel(unknown), batches(), jobs(), lessons()],
  ...everyBookingCall,
  ...everyReport,
];
const allRefused = (caller: Caller, code: string): Row[] => everyCall.map((call) => [call, refused(code), caller]);

/**
 * Each row is a call, what its result must have, and who calls (the user when left out). Everybody's result must be equal
 * in every member. Ids and cursors have names, in the order in which they appear: `batch 1`, `booking 1`, `cursor 1`.
 */
/** Of a dry run: what would become of a lesson. */
const told = (
  kind: string,
  lektionIndex: number | null,
  lektionId: string,
  fields: string[],
  before: object | null,
  after: object | null,
) => ({ kind, index: 0, jobID: 'J-1', lektionIndex, lektionId, fields, before, after });
const inRoom = (ressourceName: string, hour: number) => ({
  ressourceName,
  beginn: answered(hour),
  ende: answered(hour + 1),
});
const inHour9 = lesson('L-1', 'R001', 8, { beginn: slot(9), ende: slot(10) });

/** A file with a row. */
const timetableOf = (row: string, options: { validateOnly?: boolean } = {}) => {
  const content = Buffer.from(`Datum;Beginn;Ende;Raum;Fach;Klasse\n${row}`).toString('base64');
  return on('importTimetable', { input: { timeZone: 'UTC', files: [{ name: 'a.csv', content }] }, ...options });
};
const slotOf = (hour: number) => new Date(Date.parse(at(0)) + hour * 3_600_000).toISOString();

const scenarios: Record<string, Row[]> = {
  'a batch from the queue to its end, and every member of what it has made': [
    ['the worker stops'],
    [
      submit('create', [
        {
          jobID: 'J-1',
          bezeichnung: 'Mathematics',
          quelle: 'Plan',
          standort: 'Campus',
          bemerkung: 'B',
          lektionList: [
            lesson('L-1', 'R001', 8, { ...everyMember, ressourceId: 'room R001' }),
            lesson('L-2', ' r002 ', 9),
          ],
        },
      ]),
      queued('batch 1'),
    ],
    [
      batch('batch 1'),
      has({
        batchId: 'batch 1',
        operation: 'Create',
        importStatus: 'AwaitingLessonCreation',
        jobCount: 1,
        lessonCount: null,
        processedCount: 0,
        createdCount: 0,
        errorCount: 0,
        warningCount: 0,
        failureKind: null,
        validateOnly: false,
        errorMessages: null,
        errors: [],
        queuePosition: 1,
        createdAt: '(instant)',
        startedAt: null,
        finishedAt: null,
        createdBy: { personId: 'user', displayName: 'User of (mandator)' },
      }),
    ],
    ['the worker goes on'],
    [
      end('batch 1'),
      has({
        importStatus: 'LessonsCreated',
        lessonCount: 2,
        processedCount: 2,
        createdCount: 2,
        queuePosition: null,
        startedAt: '(instant)',
        finishedAt: '(instant)',
      }),
    ],
    [
      jobs({ jobID: 'J-1' }),
      items({
        jobID: 'J-1',
        bezeichnung: 'Mathematics',
        quelle: 'Plan',
        standort: 'Campus',
        bemerkung: 'B',
        lessonCount: 2,
        batchId: 'batch 1',
        createdAt: '(instant)',
        changedAt: '(instant)',
        createdBy: { personId: 'user', displayName: 'User of (mandator)' },
      }),
    ],
    [
      lessons({ jobID: 'J-1' }),
      items(
        {
          jobID: 'J-1',
          lektionId: 'L-1',
          beginn: answered(8),
          ende: answered(9),
          ressourceName: 'R001',
          ressourceId: 'room R001',
          bookingId: 'booking 1',
          ursprung: null,
          ...everyMember,
        },
        {
          jobID: 'J-1',
          lektionId: 'L-2',
          beginn: answered(9),
          ende: answered(10),
          ressourceName: 'R002',
          ressourceId: 'room R002',
          bookingId: 'booking 2',
          ursprung: null,
          ...noMember,
        },
      ),
    ],
  ],

  'lists, page by page and by filter': [
    [create([job('J-1', lesson('L-1', 'R001', 8), lesson('L-2', 'R002', 9))]), done()],
    [create([job('J-2', lesson('L-1', 'R001', 12))]), done(), 'colleague'],
    [update([{ jobID: 'J-2', quelle: 'Plan' }]), done()],
    [jobs({ limit: 1 }), page('cursor 1', { jobID: 'J-2', createdBy: { personId: 'colleague' } })],
    [jobs({ limit: 1, cursor: 'cursor 1' }), page(null, { jobID: 'J-1' })],
    [jobs({ jobID: 'J-3' }), page(null)],
    [lessons({ limit: 2 }), page('cursor 2', { lektionId: 'L-1' }, { lektionId: 'L-2' })],
    [lessons({ limit: 2, cursor: 'cursor 2' }), page(null, { jobID: 'J-2', lektionId: 'L-1' })],
    [lessons({ jobID: 'J-2' }), items({ lektionId: 'L-1' })],
    [lessons({ ressourceName: ' r001' }), items({ jobID: 'J-1' }, { jobID: 'J-2' })],
    [lessons({ from: at(9), to: at(12) }), items({ lektionId: 'L-2' })],
    [batches({ limit: 201 }), items()],
    [batches({ importStatus: 'All' }), items({ batchId: 'batch 3' }, { batchId: 'batch 2' }, { batchId: 'batch 1' })],
    [batches({ importStatus: 'All', limit: 2 }), has({ nextCursor: 'cursor 3' })],
    [batches({ importStatus: 'All', cursor: 'cursor 3' }), items({ batchId: 'batch 1' })],
    [batches({ importStatus: 'LessonsImportFailed' }), items()],
    [batches({ importStatus: 'LessonsCreated', operation: 'Update' }), items({ batchId: 'batch 3' })],
    [batches({ importStatus: 'All', mine: true }), items({ batchId: 'batch 2' }), 'colleague'],
    [batches({ importStatus: 'All', jobID: 'J-1' }), items({ batchId: 'batch 1' })],
    [batches({ importStatus: 'All', createdAfter: '2100-01-01T00:00:00Z' }), items()],
    [batches({ importStatus: 'All', createdBefore: '2000-01-01T00:00:00Z' }), items()],
    [lessons({ cursor: 'cursor 1' }), refused('BAD_USER_INPUT')],
    [jobs({ cursor: 'made up' }), refused('BAD_USER_INPUT')],
    ...[batches({ limit: 0 }), batches({ importStatus: 'Done' }), batches({ jobID: '' }), lessons({ from: 'now' })].map(
      (call): Row => [call, refused('BAD_USER_INPUT')],
    ),
    [jobs({ jobID: 'x'.repeat(129) }), refused('BAD_USER_INPUT')],
  ],

  'cancelling batches that wait, and that have ended': [
    ['the worker stops'],
    [submit('create', simple), queued('batch 1')],
    [submit('create', simple), queued('batch 2'), 'colleague'],
    [batches(), items({ batchId: 'batch 2', queuePosition: 2 }, { batchId: 'batch 1', queuePosition: 1 })],
    [cancel('batch 1'), has({ importStatus: 'LessonsImportFailed', failureKind: 'Cancelled', lessonCount: null })],
    [cancel('batch 1'), refused('CONFLICT')],
    [batches(), items({ batchId: 'batch 2', queuePosition: 1 })],
    ['the worker goes on'],
    [end('batch 2'), done()],
    [cancel('batch 2'), refused('CONFLICT')],
    [lessons(), items({ jobID: 'J-1' })],
  ],

  '20 batches may be open': [
    ['the worker stops'],
    ...Array.from({ length: 20 }, (_, sent): Row => [submit('create', simple), queued(`batch ${sent + 1}`)]),
    [submit('create', simple), refused('LIMIT')],
    [cancel('batch 1'), has({ failureKind: 'Cancelled' })],
    [submit('create', simple), queued('batch 21')],
  ],

  'a key answers the same again, to the same person and the same body': [
    ['the worker stops'],
    [submit('create', simple, { idempotencyKey: 'K' }), queued('batch 1')],
    [submit('create', simple, { idempotencyKey: 'K' }), queued('batch 1')],
    [submit('create', [job('J-2', lesson('L-1', 'R001', 8))], { idempotencyKey: 'K' }), refused('BAD_USER_INPUT')],
    [submit('create', simple, { idempotencyKey: 'K', validateOnly: true }), refused('BAD_USER_INPUT')],
    [submit('delete', [{ jobID: 'J-1' }], { idempotencyKey: 'K' }), refused('BAD_USER_INPUT')],
    [submit('create', simple, { idempotencyKey: 'K' }), queued('batch 2'), 'colleague'],
    [submit('update', [{ jobID: 'J-1' }], { idempotencyKey: 'K-2' }), queued('batch 3')],
    // What a header cannot hold, no front takes.
    [submit('delete', [{ jobID: 'J-1' }], { idempotencyKey: 'two words' }), refused('BAD_USER_INPUT')],
  ],

  'an update: absent is unchanged, null is cleared, a list may be the whole truth': [
    [
      create([{ ...job('J-1', lesson('L-1', 'R001', 8, everyMember), lesson('L-2', 'R001', 9)), quelle: 'Plan' }]),
      done(),
    ],
    [update([{ jobID: 'J-1', bezeichnung: 'B', quelle: null }]), has({ operation: 'Update', lessonCount: 0 })],
    [jobs(), items({ bezeichnung: 'B', quelle: null, lessonCount: 2, batchId: 'batch 1' })],
    [update([job('J-1', { lektionId: 'L-1', beginn: at(7), fach: null, klassen: null })]), done()],
    [
      lessons(),
      items(
        {
          lektionId: 'L-1',
          bookingId: 'booking 1',
          beginn: answered(7),
          ende: answered(9),
          titel: 'Algebra',
          fach: null,
          klassen: null,
          ursprung: {
            beginn: answered(8),
            ende: answered(9),
            ressourceName: 'R001',
            fach: 'Math',
            lehrpersonen: ['E. Noether'],
          },
        },
        { lektionId: 'L-2', ursprung: null },
      ),
    ],
    [
      update([
        {
          ...job('J-1', { lektionId: 'L-2', titel: 'T' }, lesson('L-3', 'R002', 9)),
          replaceLektionList: true,
        },
      ]),
      done(),
    ],
    [lessons(), items({ lektionId: 'L-2', titel: 'T' }, { lektionId: 'L-3' })],
  ],

  'a deletion takes lessons, or whole jobs': [
    [
      create([job('J-1', lesson('L-1', 'R001', 8), lesson('L-2', 'R001', 9)), job('J-2', lesson('L-1', 'R002', 8))]),
      done(),
    ],
    [remove([{ jobID: 'J-1', lektionList: [{ lektionId: 'L-1' }] }, { jobID: 'J-2' }]), done()],
    [lessons(), items({ jobID: 'J-1', lektionId: 'L-2' })],
    [jobs(), items({ jobID: 'J-1', lessonCount: 1 })],
  ],

  'the lessons of one batch swap their rooms': [
    [create([job('J-1', lesson('L-1', 'R001', 8), lesson('L-2', 'R002', 8))]), done()],
    [
      update([job('J-1', { lektionId: 'L-1', ressourceName: 'R002' }, { lektionId: 'L-2', ressourceName: 'R001' })]),
      done(),
    ],
    [
      lessons(),
      items(
        { lektionId: 'L-1', ressourceId: 'room R002', ursprung: { ressourceName: 'R001' } },
        { lektionId: 'L-2', ressourceId: 'room R001', ursprung: { ressourceName: 'R002' } },
      ),
    ],
  ],

  'Entfaellt frees the room': [
    [create(simple), done()],
    [update([job('J-1', { lektionId: 'L-1', status: 'Entfaellt' })]), done()],
    [create([job('J-2', lesson('L-1', 'R001', 8))]), done()],
    [lessons(), items({ jobID: 'J-1', status: 'Entfaellt' }, { jobID: 'J-2', status: 'Geplant' })],
    [update([job('J-1', { lektionId: 'L-1', status: null })]), failed('ResourceConflict 0.0.ressourceName')],
  ],

  'coupled lessons share one booking': [
    [
      create([
        job('J-1', lesson('L-1', 'R001', 8, { kopplungId: 'K' }), lesson('L-2', 'R001', 9)),
        job('J-2', lesson('L-1', 'R001', 8, { kopplungId: 'K' })),
      ]),
      done(),
    ],
    [lessons(), items({ bookingId: 'booking 1' }, { bookingId: 'booking 1' }, { bookingId: 'booking 2' })],
  ],

  'a private lesson shows its content to its sender and to Admins': [
    [create([job('J-1', lesson('L-1', 'R001', 8, everyMember))]), done()],
    [lessons(), items(everyMember), 'user'],
    [lessons(), items(everyMember), 'admin'],
    [
      lessons(),
      items({ ...noMember, titel: 'Belegt', status: 'Vertretung', privat: true, ressourceName: 'R001' }),
      'colleague',
    ],
  ],

  'OnConflict: the batch fails, the lesson is left out, or a manual booking goes': [
    [create([job('J-1', lesson('L-1', 'R001', 8))]), done()],
    [
      create([job('J-2', lesson('L-1', 'R001', 8), lesson('L-2', 'R003', 10), lesson('L-3', 'R002', 10))]),
      failed('ResourceConflict 0.0.ressourceName', 'ResourceConflict 0.1.ressourceName'),
    ],
    [
      create([job('J-2', lesson('L-1', 'R001', 8), lesson('L-2', 'R002', 8))], { onConflict: 'Displace' }),
      failed('ResourceConflict 0.0.ressourceName'),
      'importer',
    ],
    [
      create([job('J-2', lesson('L-1', 'R001', 8), lesson('L-2', 'R003', 10), lesson('L-3', 'R002', 10))], {
        onConflict: 'Skip',
      }),
      done('ResourceConflict 0.0.ressourceName', 'ResourceConflict 0.1.ressourceName'),
    ],
    [lessons({ jobID: 'J-2' }), items({ lektionId: 'L-3' })],
    [
      update([job('J-2', { lektionId: 'L-3', ressourceName: 'R003' })], { onConflict: 'Displace' }),
      done('ResourceConflict 0.0.ressourceName'),
      'importer',
    ],
    [lessons({ jobID: 'J-2' }), items({ lektionId: 'L-3', ressourceName: 'R003' })],
  ],

  'only an Importer or an Admin displaces bookings': [
    [create([job('J-1', lesson('L-1', 'R001', 8))], { onConflict: 'Displace' }), refused('FORBIDDEN')],
    [create([job('J-1', lesson('L-1', 'R001', 8))], { onConflict: 'Displace' }), done(), 'importer'],
    [
      update([job('J-1', { lektionId: 'L-1', ressourceName: 'R002' })], { onConflict: 'Displace' }),
      refused('FORBIDDEN'),
    ],
    [update([job('J-1', { lektionId: 'L-1', ressourceName: 'R002' })], { onConflict: 'Displace' }), done(), 'admin'],
  ],

  'a lesson takes over the equal booking of its sender, where the batch says so': [
    [book(hourOf('room R001', 9)), has({ id: 'booking 1' })],
    [create([job('J-1', inHour9)]), failed('ResourceConflict 0.0.ressourceName')],
    [create([job('J-1', inHour9)], { takeOverBookings: true }), failed('ResourceConflict 0.0.ressourceName'), 'admin'],
    [create([job('J-1', inHour9)], { takeOverBookings: true }), done('ResourceConflict 0.0.ressourceName')],
    [booking('booking 1'), has({ id: 'booking 1', kind: 'Lesson' })],
    [
      update([job('J-1', { lektionId: 'L-1', titel: 'T' })], { takeOverBookings: true }),
      { rest: { ...done(), wrong: true }, graphql: refused('BAD_USER_INPUT') },
    ],
    [
      remove([{ jobID: 'J-1' }], { takeOverBookings: true }),
      { rest: { ...done(), wrong: true }, graphql: refused('BAD_USER_INPUT') },
    ],
  ],

  'a dry run tells what would be added, changed, moved and removed': [
    [
      create([
        job(
          'J-1',
          lesson('L-1', 'R001', 8),
          lesson('L-2', 'R001', 9),
          lesson('L-3', 'R001', 10),
          lesson('L-4', 'R001', 11),
        ),
      ]),
      done(),
    ],
    [
      update(
        [
          {
            ...job(
              'J-1',
              lesson('L-1', 'R001', 8, { titel: 'T' }),
              lesson('L-2', 'R002', 9),
              lesson('L-4', 'R001', 11),
              lesson('L-5', 'R001', 12),
            ),
            replaceLektionList: true,
          },
        ],
        { validateOnly: true },
      ),
      has({
        difference: {
          added: 1,
          changed: 1,
          moved: 1,
          removed: 1,
          unchanged: 1,
          lessons: [
            told('Removed', null, 'L-3', [], inRoom('R001', 10), null),
            told('Moved', 1, 'L-2', ['RessourceName'], inRoom('R001', 9), inRoom('R002', 9)),
            told('Changed', 0, 'L-1', ['Titel'], inRoom('R001', 8), inRoom('R001', 8)),
            told('Added', 3, 'L-5', [], null, inRoom('R001', 12)),
          ],
        },
      }),
    ],
    [
      create([job('J-2', lesson('L-1', 'R002', 8))], { validateOnly: true }),
      has({ difference: { added: 1, removed: 0 } }),
    ],
    [create([job('J-2', lesson('L-1', 'R002', 8))]), has({ difference: null })],
  ],

  'an update creates the jobs that there are not yet, where it says so': [
    [update([{ ...job('J-1', inHour9), replaceLektionList: true }]), failed('UnknownJobId 0.jobID')],
    [update([job('J-1', inHour9)], { createMissing: true }), failed('UnknownJobId 0.jobID')],
    [
      update([{ ...job('J-1', inHour9), replaceLektionList: true }], { createMissing: true, validateOnly: true }),
      has({ importStatus: 'LessonsCreated', createdCount: 0, difference: { added: 1 } }),
    ],
    [jobs(), items()],
    [
      update([{ ...job('J-1', inHour9), replaceLektionList: true }], { createMissing: true }),
      has({ importStatus: 'LessonsCreated', createdCount: 1 }),
    ],
    [
      update(
        [
          { ...job('J-1', inHour9), replaceLektionList: true },
          { ...job('J-2', lesson('L-1', 'R002', 9)), replaceLektionList: true },
        ],
        { createMissing: true },
      ),
      has({ importStatus: 'LessonsCreated', createdCount: 1 }),
    ],
    [
      update(
        [
          { ...job('J-3', lesson('L-1', 'R002', 10)), replaceLektionList: true },
          { ...job('J-3', lesson('L-1', 'R002', 10)), replaceLektionList: true },
          job('J-3', lesson('L-1', 'R002', 10)),
        ],
        { createMissing: true },
      ),
      failed('DuplicateJobId 1.jobID', 'DuplicateJobId 2.jobID'),
    ],
    [
      update([{ ...job('J-3', lesson('L-1', 'R002', 10)), replaceLektionList: 'true' }], { createMissing: true }),
      { rest: failed('InvalidType 0.replaceLektionList'), graphql: refused('BAD_USER_INPUT') },
    ],
    [
      create([job('J-4', lesson('L-1', 'R002', 12))], { createMissing: true }),
      { rest: { ...done(), wrong: true }, graphql: refused('BAD_USER_INPUT') },
    ],
    [
      remove([{ jobID: 'J-1' }], { createMissing: true }),
      { rest: { ...done(), wrong: true }, graphql: refused('BAD_USER_INPUT') },
    ],
  ],

  'the files of a timetable program': [
    ['the worker stops'],
    [
      timetableOf('02.01.2090;8:00;8:45;R001;M;5a'),
      has({
        batchId: 'batch 1',
        importStatus: 'AwaitingLessonCreation',
        jobCount: 1,
        lessonCount: 1,
        noticeCount: 0,
        notices: [],
        files: [{ name: 'a.csv', format: 'CSV', encoding: 'utf-8', separator: ';', lines: 2 }],
      }),
    ],
    ['the worker goes on'],
    [end('batch 1'), done()],
    [lessons(), items({ jobID: 'csv-M-5a', lektionId: '20900102-0800', ressourceName: 'R001', ende: slotOf(8.75) })],
    [
      { ...timetableOf('02.01.2090;8:00;8:45;R002;M;5a', { validateOnly: true }), toEnd: true },
      has({ importStatus: 'LessonsCreated', validateOnly: true, difference: { moved: 1, added: 0, removed: 0 } }),
    ],
    [
      { ...timetableOf('02.01.2090;8:00;8:45;R001;M;5a'), toEnd: true },
      has({ importStatus: 'LessonsCreated', createdCount: 0 }),
    ],
    [timetableOf('02.01.2090;8:00;8:99;R001;M;5a'), refused('BAD_USER_INPUT')],
    [timetableOf('02.01.2090;8:00;8:45;R001;M;5a'), refused('FORBIDDEN'), 'display'],
  ],

  'ValidateOnly tells the same, and writes nothing': [
    [
      create(simple, { validateOnly: true }),
      has({ importStatus: 'LessonsCreated', validateOnly: true, lessonCount: 1 }),
    ],
    [jobs(), items()],
    [create(simple), done()],
    [create(simple, { validateOnly: true }), failed('DuplicateJobId 0.jobID')],
    [update([job('J-1', { lektionId: 'L-1', titel: 'T' })], { validateOnly: true }), done()],
    [remove([{ jobID: 'J-1' }], { validateOnly: true }), done()],
    [lessons(), items({ lektionId: 'L-1', titel: null })],
  ],

  'every fault of new lessons, at once and page by page': [
    [create(simple), done()],
    [
      create([
        job('J-1', lesson('L-1', 'R002', 8)),
        job('J-2', lesson('L-1', 'R404', 8), lesson('L-2', 'Hall', 8), lesson('L-2', 'R002', 10)),
        {
          ...job('J-3', lesson('L-1', 'R001', 12, { ressourceId: 'room R002' })),
          bezeichnung: 'x'.repeat(4_001),
        },
        job(
          'J-4',
          lesson('L-1', 'R002', 12, { beginn: 'soon' }),
          lesson('L-2', 'R002', 12, { ende: at(12) }),
          lesson('L-3', 'R002', 13, { klassen: ['x'.repeat(201)] }),
        ),
        job('J-5'),
      ]),
      failed(
        'DuplicateJobId 0.jobID',
        'UnknownResource 1.0.ressourceName',
        'AmbiguousResource 1.1.ressourceName',
        'DuplicateLektionId 1.2.lektionId',
        'InvalidType 2.bezeichnung',
        'InconsistentIdentifiers 2.0.ressourceId',
        'InvalidTime 3.0.beginn',
        'InvalidTime 3.1.ende',
        'InvalidType 3.2.klassen',
        'MissingField 4.lektionList',
      ),
    ],
    [errors('batch 2', { limit: 9 }), has({ nextCursor: 'cursor 1' })],
    [
      errors('batch 2', { limit: 9, cursor: 'cursor 1' }),
      items({ code: 'MissingField', index: 4, lektionIndex: null }),
    ],
    [create([{ ...job('J-2', lesson('L-2', 'Hall', 8)), standort: 'Annex' }]), done()],
    [create(Array.from({ length: 7 }, () => job('J-2'))), failed('LimitExceeded')],
  ],

  'every fault of changes and deletions': [
    [create(simple), done()],
    [
      update([job('J-0', { lektionId: 'L-1' }), job('J-1', { lektionId: 'L-1', beginn: null }, { lektionId: 'L-2' })]),
      failed('UnknownJobId 0.jobID', 'MissingField 1.0.beginn', 'UnknownLektionId 1.1.lektionId'),
    ],
    [
      remove([{ jobID: 'J-0' }, { jobID: 'J-1', lektionList: [{ lektionId: 'L-1' }, { lektionId: 'L-2' }] }]),
      failed('UnknownJobId 0.jobID', 'UnknownLektionId 1.1.lektionId'),
    ],
    [lessons(), items({ lektionId: 'L-1' })],
  ],

  'warnings do not stop a batch': [
    [
      create([
        job(
          'J-1',
          lesson('L-1', 'R001', 8, { beginn: `${day}T08:00:00` }),
          lesson('L-2', 'R001', 8, {
            beginn: '2020-01-06T08:00:00+01:00',
            ende: '2020-01-06T09:00:00+01:00',
          }),
          lesson('L-3', 'R001', 8, { beginn: `${nextMonth}T01:00:00Z`, ende: `${nextMonth}T02:00:00Z` }),
        ),
      ]),
      done('AssumedUtc 0.0.beginn', 'PastLesson 0.1.ende', 'OutsideOpeningHours 0.2.beginn'),
    ],
  ],

  'where the fronts differ by their nature': [
    // A schema knows its members, their types and which are required, and refuses others before anything is stored.
    [
      create([job('J-1', {}, lesson('L-2', 'R001', 8, { status: 'Abgesagt' })), {}]),
      {
        rest: failed(
          'MissingField 0.0.lektionId',
          'MissingField 0.0.beginn',
          'MissingField 0.0.ende',
          'MissingField 0.0.ressourceName',
          'InvalidType 0.1.status',
          'MissingField 1.jobID',
          'MissingField 1.lektionList',
        ),
        graphql: refused('BAD_USER_INPUT'),
      },
    ],
    [remove([{}]), { rest: failed('MissingField 0.jobID'), graphql: refused('BAD_USER_INPUT') }],
    [
      create([job('J-1', lesson('L-1', 'R001', 8, { _farbe: 'red' }))]),
      { rest: done('UnknownField 0.0._farbe'), graphql: refused('BAD_USER_INPUT') },
    ],
    [
      create([job('J-2', lesson('L-1', 'R002', 8, { privat: 'yes' }))]),
      { rest: failed('InvalidType 0.0.privat'), graphql: refused('BAD_USER_INPUT') },
    ],
    // DateTime is in UTC.
    [lessons({ from: '2100-01-01T00:00:00+01:00' }), { rest: items(), graphql: refused('BAD_USER_INPUT') }],
  ],

  'a list has the same order whether its pages are read from the start or from the end': [
    [create([job('J-1', lesson('L-1', 'R001', 8), lesson('L-2', 'R001', 9), lesson('L-3', 'R001', 12))]), done()],
    [create([job('J-2', lesson('L-1', 'R002', 8))]), done()],
    [create([job('J-3', lesson('L-1', 'R002', 9))]), done()],
    [
      batches({ importStatus: 'LessonsCreated', inPagesOf: 2 }),
      items({ batchId: 'batch 3' }, { batchId: 'batch 2' }, { batchId: 'batch 1' }),
    ],
    [jobs({ inPagesOf: 2 }), items({ jobID: 'J-3' }, { jobID: 'J-2' }, { jobID: 'J-1' })],
    [lessons({ jobID: 'J-1', inPagesOf: 2 }), items({ lektionId: 'L-1' }, { lektionId: 'L-2' }, { lektionId: 'L-3' })],
    [
      lessons({ jobID: 'J-1', order: 'Descending', inPagesOf: 1 }),
      items({ lektionId: 'L-3' }, { lektionId: 'L-2' }, { lektionId: 'L-1' }),
    ],
    ...['R001', 'R002', 'R001'].map((room, index): Row => [book(hourOf(`room ${room}`, 12 + index)), has({})]),
    ...(['bookings', 'timetable'] as const).flatMap((name): Row[] => {
      const found = ['booking 4', 'booking 5', 'booking 6'].map((id) => ({ id }));
      const asked = { from: slot(0), to: slot(24), inPagesOf: 2 };
      return [
        [on(name, asked), items(...found)],
        [on(name, { ...asked, order: 'Descending' }), items(...found.toReversed())],
      ];
    }),
  ],

  'nothing to import, and batches that there are not': [
    [submit('create', []), refused('BAD_USER_INPUT')],
    [submit('update', []), refused('BAD_USER_INPUT')],
    [submit('delete', []), refused('BAD_USER_INPUT')],
    [submit('create', [1]), refused('BAD_USER_INPUT')],
    // REST ignores parameters that a route does not know.
    [
      remove([{ jobID: 'J-1' }], { onConflict: 'Skip' }),
      { rest: { ...failed('UnknownJobId 0.jobID'), wrong: true }, graphql: refused('BAD_USER_INPUT') },
    ],
    ...[unknown, 'nonsense', 'foreign batch'].flatMap((id): Row[] => [
      [batch(id), refused('NOT_FOUND')],
      [errors(id), refused('NOT_FOUND')],
      [cancel(id), refused('NOT_FOUND')],
    ]),
  ],

  ...bookingScenarios,
  ...reportScenarios,

  'a display has nothing to do with lessons and bookings': allRefused('display', 'FORBIDDEN'),
  'without a credential': allRefused('nobody', 'NOT_AUTHENTICATED'),
  'with a wrong credential': [
    [batches(), refused('NOT_AUTHENTICATED'), 'forger'],
    [submit('create', simple), refused('NOT_AUTHENTICATED'), 'forger'],
  ],
  'with a credential of another tenant': allRefused('stranger', 'NOT_FOUND'),
  ...recordScenarios,
  ...masterDataScenarios,
};

let service: Service;
let contract: Contract;
let lanes: Awaited<ReturnType<typeof openLanes>>;
const used = new Set<string>();
const codes = new Set<string>();

beforeAll(async () => {
  service = await startService({ LegacyApiKeyEnabled: 'true', Limits__JobsPerBatch: '6' });
  contract = openContract(service.url);
  lanes = await openLanes(service, contract, used, isLong);
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
});
beforeEach(() => lanes.clear());

/** One row in all lanes at once: each result has what is expected, and those that expect the same are equal. */
async function run(where: string, step: Exclude<Step, string>, expected: Expected, caller: Caller = 'user') {
  const expectedOf = ({ isRest }: { isRest: boolean }) =>
    'has' in expected ? expected : expected[isRest ? 'rest' : 'graphql'];
  const results = await Promise.all(
    lanes.lanes().map(async (lane) => {
      const wanted = expectedOf(lane);
      const result = await lane.run(step.call, { caller, toEnd: step.toEnd, wrong: wanted.wrong ?? false });
      return { lane: lane.name, wanted, result };
    }),
  );
  for (const { lane, wanted, result } of results) {
    const same = results.find((other) => other.wanted === wanted)?.result;
    expect({ where, lane, result }).toMatchObject({ where, lane, result: wanted.has });
    expect({ where, lane, result }).toEqual({ where, lane, result: same });
    const { errors: found = [] } = result as { errors?: { code: string }[] };
    for (const { code } of found) codes.add(code);
  }
  // What callers may see is kept until a change of it is announced.
  if (caller === 'admin') await heardOfAll(service.context);
}

describe('REST in both casings and GraphQL, by token and by PIN, answer the same', () => {
  test.each(Object.entries(scenarios))('%s', async (_name, rows) => {
    for (const [number, [step, expected = has({}), caller]] of rows.entries()) {
      if (step === 'the worker stops') await lanes.stopWorker();
      else if (step === 'the worker goes on') await lanes.startWorker();
      else await run(`row ${number + 1}, ${step.call.name}`, step, expected, caller);
    }
  });
});

describe('the scenarios use', () => {
  /** Only displays come further than its 403: bookings.displays. */
  const undo = 'POST /v1.0/bookings/:id/undo';
  const unused = (names: string[]) => names.filter((name) => !used.has(name) && name !== undo);

  test('every route, with each of its parameters', () => {
    const names = [...lessonRoutes, ...bookingRoutes].flatMap(({ method, path, query }) => {
      const parameters = Object.keys((query as { shape?: object } | undefined)?.shape ?? {});
      return [`${method} ${path}`, ...parameters.map((name) => `${method} ${path} ?${name}`)];
    });
    expect(names).toContain('GET /v2.0/lessons ?From');
    expect(unused(names)).toEqual([]);
  });

  test('every query and mutation, with each of its arguments', () => {
    const membersOf = ({ name, type }: GraphQLArgument) => {
      const isList = isListType(isNonNullType(type) ? type.ofType : type);
      const named = getNamedType(type);
      return isInputObjectType(named) && !isList
        ? Object.keys(named.getFields()).map((member) => `${name}.${member}`)
        : [name];
    };
    const namesOf = (...rooms: AddTypes[]) => {
      const builder = createBuilder();
      for (const addTypes of rooms) addTypes(builder);
      const schema = builder.toSchema();
      return [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
        Object.values(type?.getFields() ?? {}).flatMap(({ name, args }) => {
          const field = `${type?.name}.${name}`;
          return [field, ...args.flatMap(membersOf).map((member) => `${field}(${member})`)];
        }),
      );
    };
    // Master data, mail and the feed lend the others their types; they have tests of their own.
    const lending = [addProblems, addNodes, tenants.addTypes, mail.addTypes, changes.addTypes];
    const lent = new Set(namesOf(...lending));
    const names = namesOf(...lending, bookings.addTypes, lessonTypes.addTypes).filter((name) => !lent.has(name));
    expect(names).toContain('Query.batches(filter.mine)');
    expect(names).toContain('Mutation.createBooking(input.recurrenceRule)');
    expect(unused(names)).toEqual([]);
  });

  /** Those whose fronts a test of their own compares. */
  const elsewhere: Record<string, string> = {
    changes: 'changes/feed',
    displays: 'displays/fronts',
    Display: 'displays/fronts',
    'mail-subscriptions': 'mail/graphql',
    MailSubscription: 'mail/graphql',
    'opening-hours': 'opening-hours/graphql',
    CalendarToken: 'calendar-feed/feed',
    Pin: 'identity/admin',
    Series: 'graphql/graph',
    webhooks: 'webhooks/webhooks',
    Webhook: 'webhooks/webhooks',
  };
  const unusedNouns = (nouns: Iterable<string>, isUsed: (noun: string) => boolean) =>
    [...new Set(nouns)].filter((noun) => isUsed(noun) === noun in elsewhere);

  test('every noun of the OpenAPI document, or another test does', () => {
    const { paths } = JSON.parse(fs.readFileSync(documentFile, 'utf8')) as { paths: object };
    const nouns = Object.keys(paths).flatMap(
      (template) => /^\/\{mandator\}\/api\/[^/]+\/([\w-]+)/.exec(template)?.[1] ?? [],
    );
    expect(nouns).toEqual(expect.arrayContaining(['bookings', 'timetables', 'room-problems']));
    const routesUsed = [...used].filter((name) => !name.includes('?'));
    expect(unusedNouns(nouns, (noun) => routesUsed.some((name) => name.split('/')[2] === noun))).toEqual([]);
  });

  test('every noun of the schema, or another test does', () => {
    const schema = buildSchema(fs.readFileSync(path.join(project, 'src/graphql/schema.graphql'), 'utf8'));
    const isNoun = (type: GraphQLNamedType): type is GraphQLObjectType =>
      isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node');
    /** The nouns that a type is, or that it wraps: a union, a page, an answer. */
    const nounsIn = (type: GraphQLNamedType): string[] => {
      if (isNoun(type)) return [type.name];
      if (isUnionType(type)) return type.getTypes().flatMap(nounsIn);
      if (!isObjectType(type)) return [];
      const members = Object.values(type.getFields()).map((field) => getNamedType(field.type));
      return members.filter(isNoun).map(({ name }) => name);
    };
    const read = new Set(
      [schema.getQueryType(), schema.getMutationType()].flatMap((root) =>
        Object.values(root!.getFields())
          .filter(({ name }) => used.has(`${root!.name}.${name}`))
          .flatMap(({ type }) => nounsIn(getNamedType(type))),
      ),
    );
    const nouns = Object.values(schema.getTypeMap()).filter(isNoun);
    expect(nouns.length).toBeGreaterThan(15);
    const names = nouns.map(({ name }) => name);
    expect(unusedNouns(names, (noun) => read.has(noun))).toEqual([]);
    for (const file of Object.values(elsewhere))
      expect([file, fs.existsSync(path.join(project, 'test', `${file}.test.ts`))]).toEqual([file, true]);
  });

  test('every code of an error and a warning', () => {
    expect([...codes].sort()).toEqual([...errorCodes, ...warningCodes].sort());
  });
});
