import { z } from 'zod';
import { readInput } from '../input.ts';
import { flag } from '../query-parameters.ts';
import { requestBody } from '../rest/body.ts';
import { readIdempotencyKey, route } from '../rest/route.ts';
import { profileRoutes } from './profile-rest.ts';
import * as timetables from './service.ts';
import * as wire from './wire.ts';

const example = {
  TimeZone: 'Europe/Berlin',
  Term: {
    Name: '2627-2',
    From: '2027-03-15',
    To: '2027-04-02',
    Holidays: [{ Name: 'Karfreitag', From: '2027-03-26', To: '2027-03-26' }],
  },
  Periods: [{ Period: 1, Begin: '08:00', End: '08:45' }],
  Rooms: [{ Name: '101', RessourceName: 'HS 101' }],
  // 1,"5a","Noe","M","101",1,1,,
  Files: [{ Name: 'GPU001.TXT', Content: 'MSwiNWEiLCJOb2UiLCJNIiwiMTAxIiwxLDEsLAo=' }],
};
const accepted = {
  BatchId: '0191f0c0-0000-7000-8000-000000000001',
  ImportStatus: 'AwaitingLessonCreation',
  Files: [{ Name: 'GPU001.TXT', Format: 'GPU001', Encoding: 'utf-8', Separator: ',', Lines: 1 }],
  JobCount: 1,
  LessonCount: 3,
  NoticeCount: 0,
  Notices: [],
};

export const routes = [
  route({
    method: 'POST',
    path: '/v2.0/timetables',
    summary: 'Send the files of a timetable program',
    description:
      'Reads Untis files (GPU001, with GPU002 and GPU014), CSV or iCalendar, and sends their lessons as one batch, which is polled like any other. Lessons keep their ids, so the same files change nothing the second time, and other files change only what differs; lessons that are no longer listed are deleted. If the files have faults, each is reported with its line and column, and nothing is stored.',
    headers: ['Idempotency-Key'],
    query: z.strictObject({
      ...wire.importOptions,
      ValidateOnly: flag('Only runs the checks: nothing is written, and `Difference` of the batch says what would be.'),
    }),
    body: { schema: wire.timetableFiles, example, streamed: true },
    answers: {
      202: {
        description: "Stored and queued; `Location` is the address of the batch's status.",
        body: wire.acceptedTimetable,
        example: accepted,
        headers: ['Location', 'Retry-After'],
      },
    },
    problems: {
      403: 'Only an Importer or an Admin may send lessons or use `OnConflict=Displace`; Users may send lessons if the tenant parameter `UsersMayImport` is true.',
      422: 'The files have faults: each has its `Line` and `Column`.',
    },
    handle: async (context, { viewer, query, request, requestId }) => {
      const answer = await timetables.importTimetable(context, viewer, {
        body: requestBody(request, context.config.Limits, context.config.Limits.JobBodyBytes, timetables.filesTooLarge),
        check: (sent) => readInput(wire.timetableFiles, sent),
        format: query.Format,
        validateOnly: query.ValidateOnly,
        onConflict: query.OnConflict,
        idempotencyKey: readIdempotencyKey(request),
        requestId,
      });
      return {
        status: 202,
        body: wire.toAcceptedTimetable(answer),
        headers: {
          Location: `${context.config.BaseUrl}/${viewer.mandator}/api/v2.0/jobs/batches/${answer.batchId}`,
          'Retry-After': '2',
        },
      };
    },
  }),
  ...profileRoutes,
];
