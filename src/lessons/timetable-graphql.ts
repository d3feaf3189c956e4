/** The timetable over GraphQL: jobs and their lessons. */
import { Malformed } from '../errors.ts';
import { judgedBy } from '../graphql/body.ts';
import { type AddTypes, enumNamed, typeNamed } from '../graphql/builder.ts';
import { connectionType, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { globalId, idArgument, idFields } from '../graphql/ids.ts';
import { describeMember } from '../graphql/names.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { describe, recordFields } from '../graphql/record.ts';
import { textArgument } from '../graphql/texts.ts';
import { lessonLimits } from '../names.ts';
import * as lessons from './service.ts';
import * as wire from './wire.ts';

export const addTimetable: AddTypes = (builder) => {
  const lesson = builder.objectRef<lessons.Lesson>('Lesson').implement({
    ...nodeOf('lesson', ({ context, viewer }, id) => lessons.findLessonById(context.db, viewer, id)),
    description: wire.lessonRecord.description ?? '',
    fields: (t) => ({
      id: t.id({
        description: 'The id of the lesson; it stays when the lesson changes.',
        resolve: ({ key: [, job], lektionId }) => globalId('lesson', `${job}_${lektionId}`),
      }),
      ...recordFields(t, wire.lessonRecord, wire.toLessonRecord),
      booking: t.field({
        type: typeNamed<object>('Booking'),
        description: 'Its booking, which coupled lessons share.',
        resolve: (row, _args, { context, viewer }) => lessons.getBookingOf(context.db, viewer, row),
      }),
      resource: t.field({
        type: typeNamed<NonNullable<Awaited<ReturnType<typeof lessons.findRoomOf>>>>('Resource'),
        nullable: true,
        description: 'Its room.',
        resolve: async (row, _args, { context, viewer }) => (await lessons.findRoomOf(context.db, viewer, row)) ?? null,
      }),
    }),
  });
  const job = builder.objectRef<lessons.LessonJob>('LessonJob').implement({
    ...nodeOf('lessonJob', async ({ context, viewer }, jobID) => {
      const { items } = await lessons.listJobs(context.db, viewer, { jobID }, { limit: 1, after: undefined });
      return items[0];
    }),
    description: wire.jobRecord.description ?? '',
    fields: (t) => ({
      ...idFields(t, 'lessonJob', ({ jobID }) => jobID, 'The id of the job, made of its JobID.'),
      ...recordFields(t, wire.jobRecord, wire.toJobRecord),
    }),
  });
  builder.objectField(lesson, 'job', (t) =>
    t.field({
      type: job,
      nullable: true,
      description: 'The job that it belongs to.',
      resolve: async (row, _args, { context, viewer }) => (await lessons.findJobOf(context.db, viewer, row)) ?? null,
    }),
  );
  builder.objectField(job, 'batch', (t) =>
    t.field({
      type: typeNamed<lessons.Batch>('Batch'),
      nullable: true,
      description: 'The batch that created it; null once it is forgotten.',
      resolve: async (row, _args, { context, viewer }) => (await lessons.findBatchOf(context.db, viewer, row)) ?? null,
    }),
  );
  const lessonConnection = connectionType(builder, lesson, lessons.lessonList);
  const jobConnection = connectionType(builder, job, lessons.jobList);
  const key = textArgument(lessonLimits.key);
  const wantedJob = wire.jobFilter.shape.JobID;
  const filter = filterType(builder, 'LessonFilter', 'Which lessons', wire.lessonFilter);
  builder.objectField(job, 'lessons', (t) =>
    t.field({
      type: lessonConnection,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'Its lessons in order of their start.',
      resolve: ({ id }, page, { context, viewer }) =>
        lessons.listLessonsOf(context.db, viewer, { of: 'job', id }, pageOf(lessons.lessonList, page)),
    }),
  );
  const batch = typeNamed<lessons.Batch>('Batch');
  builder.objectFields(batch, (t) => ({
    jobs: t.field({
      type: jobConnection,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'The jobs that it created and that still exist, newest first.',
      resolve: ({ id }, page, { context, viewer }) =>
        lessons.listJobsOf(context.db, viewer, id, pageOf(lessons.jobList, page)),
    }),
    lessons: t.field({
      type: lessonConnection,
      args: pageArguments(t.arg),
      // For one page, all lessons of the batch are sorted.
      complexity: (page) => ({ ...pageCost(page), field: 200 }),
      description: 'The lessons of these jobs in order of their start.',
      resolve: ({ id }, page, { context, viewer }) =>
        lessons.listLessonsOf(context.db, viewer, { of: 'batch', id }, pageOf(lessons.lessonList, page)),
    }),
  }));
  builder.objectField(typeNamed<{ id: number; kind: string }>('Booking'), 'lessons', (t) =>
    t.field({
      type: [lesson],
      // Each lesson leads back to this booking: the cost of nested fields must grow about as fast as the answer.
      complexity: { field: 5, multiplier: 50 },
      description: 'The first 200 lessons that share it; none unless it is a lesson.',
      resolve: async ({ id, kind }, _args, { context, viewer }) =>
        kind === 'Lesson'
          ? (await lessons.listLessonsOf(context.db, viewer, { of: 'booking', id }, { limit: 200, after: undefined }))
              .items
          : [],
    }),
  );
  builder.queryFields((t) => ({
    lessonJob: t.field({
      type: job,
      nullable: true,
      args: {
        id: idArgument(t.arg, 'lessonJob', { description: 'The id of the job.' }),
        jobKey: t.arg.string({ description: 'Or its `jobKey`.', validate: key }),
      },
      description: 'One job without its lessons; null if this tenant has none with this id or key.',
      resolve: async (_root, { id, jobKey }, { context, viewer }) => {
        if ((id ?? jobKey ?? undefined) === undefined || (id && jobKey))
          throw new Malformed('id, jobKey: give one of them.');
        return (await lessons.findJob(context.db, viewer, (id ?? jobKey) as string)) ?? null;
      },
    }),
    lesson: t.field({
      type: lesson,
      nullable: true,
      args: {
        id: idArgument(t.arg, 'lesson', { description: 'The id of the lesson.' }),
        jobKey: t.arg.string({ description: 'Or the `jobKey` of its job, …', validate: key }),
        lessonKey: t.arg.string({ description: '… and its id in the job.', validate: key }),
      },
      description: 'One lesson; null if this tenant has none with this id or these keys.',
      resolve: async (_root, { id, jobKey, lessonKey }, { context, viewer }) => {
        const which = jobKey && lessonKey ? { jobID: jobKey, lektionId: lessonKey } : undefined;
        if (id && !jobKey && !lessonKey) return (await lessons.findLessonById(context.db, viewer, id)) ?? null;
        if (id || !which) throw new Malformed('id, jobKey, lessonKey: give the id, or both keys.');
        return (await lessons.findLesson(context.db, viewer, which)) ?? null;
      },
    }),
    lessonJobs: t.field({
      type: jobConnection,
      args: {
        jobKey: t.arg.string({
          description: describeMember('JobID', describe(wantedJob)),
          validate: judgedBy(wantedJob),
        }),
        ...pageArguments(t.arg),
      },
      complexity: pageCost,
      description: 'The jobs of the tenant without their lessons, newest first.',
      resolve: (_root, { jobKey, ...page }, { context, viewer }) =>
        lessons.listJobs(context.db, viewer, { jobID: jobKey ?? undefined }, pageOf(lessons.jobList, page)),
    }),
    lessons: t.field({
      type: lessonConnection,
      args: {
        filter: t.arg({ type: filter, description: 'The filter of the list.' }),
        order: t.arg({
          type: enumNamed<'Ascending' | 'Descending'>('SortOrder'),
          description: wire.lessonOrder.description ?? '',
        }),
        ...pageArguments(t.arg),
      },
      complexity: pageCost,
      description:
        'The lessons of the tenant in order of their start; of a private one only Admins and who sent it see the content.',
      resolve: (_root, { filter: wanted, order, ...page }, { context, viewer }) =>
        lessons.listLessons(context.db, viewer, given({ ...wanted, order }), pageOf(lessons.lessonList, page)),
    }),
  }));
};
