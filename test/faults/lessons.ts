/** Lesson batches of one tenant, sent one after another, and the lessons that must exist as a result. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import type { Dice } from '../_util/dice.ts';
import { type BatchRecord, type Job, makeJobs } from '../_util/lessons.ts';
import type { Client } from './client.ts';
import type { Ledger, Work } from './ledger.ts';

export type Batch = { id: string; isLarge: boolean; work: Work; final: string | undefined };

/** The jobs of one good create: what was acknowledged of them since. */
type Jobs = {
  prefix: string;
  lessons: number;
  jobs: number;
  title: string | null;
  isGone: boolean;
  isBusy: boolean;
};

type Options = {
  client: Client;
  ledger: Ledger;
  dice: Dice;
  rooms: readonly string[];
  /** Batches of the tenant that are open at a time. */
  open: number;
  /** Milliseconds between two of them. */
  pause: number;
  /** Told of each that was accepted. */
  onAccepted?(batch: Batch): void;
};

const week = 7 * 86_400_000;
const mostSmallJobs = 100;
/** Lessons of one week of `makeJobs` in one room. */
const perWeek = 60;

const faultsOf: ((jobs: Job[]) => void)[] = [
  (jobs) => Object.assign(jobs.at(-1)!.LektionList[0]!, { RessourceName: 'Nowhere' }),
  (jobs) => void jobs.push({ ...jobs[0]!, LektionList: [{ ...jobs[0]!.LektionList[0]!, LektionId: 'again' }] }),
  (jobs) => jobs.at(-1)!.LektionList.push({ ...jobs[0]!.LektionList[0]!, LektionId: 'overlap' }),
];

export function startLessons({ client, ledger, dice, rooms, open, pause, onAccepted }: Options) {
  const batches: Batch[] = [];
  const kept: Jobs[] = [];
  const following = new Set<Promise<void>>();
  let made = 0;
  let nextWeek = 0;
  let isLargeWanted = false;
  let isStopped = false;
  const mandator = client.mandator;

  function draw(lessons: number): { jobs: Job[]; of: Jobs } {
    const perJob = lessons > 2_000 ? 15 : 5;
    const from = Date.UTC(2030, 0, 7, 7) + nextWeek * week;
    nextWeek += perJob * Math.ceil(lessons / perJob / rooms.length / perWeek);
    const prefix = `${made++}-`;
    const jobs = makeJobs(lessons, { rooms: [...rooms], prefix, perJob, from });
    return { jobs, of: { prefix, lessons, jobs: jobs.length, title: null, isGone: false, isBusy: true } };
  }

  /** Sends a batch, and repeats it if its answer may have been lost. @returns once it is accepted */
  async function submit(operation: string, jobs: readonly unknown[]): Promise<Batch> {
    const work = ledger.open('batch');
    const key = `${mandator}-${made}-${dice.below(2 ** 31)}`;
    const sent = {
      method: 'POST',
      path: `/v2.0/jobs/${operation}`,
      body: JSON.stringify(jobs),
      headers: { 'Idempotency-Key': key },
      patience: 25_000,
    };
    const answer = await client.send(sent);
    const { BatchId: id } = answer.body as { BatchId: string };
    if (answer.status !== 202)
      throw new Error(`${operation} was answered ${answer.status}: ${answer.text.slice(0, 300)}`);
    const isLarge = operation === 'create' && jobs.length > mostSmallJobs;
    const batch: Batch = { id, isLarge, work, final: undefined };
    batches.push(batch);
    if (answer.isRepeated || dice.roll() < 0.2) {
      const again = await client.send(sent);
      if (again.body['BatchId'] !== id)
        ledger.blame(
          'doubled',
          `${key} was answered with batch ${id}, and again ${again.status} ${again.text.slice(0, 200)}`,
          work,
        );
    }
    onAccepted?.(batch);
    return batch;
  }

  async function ended(batch: Batch): Promise<BatchRecord> {
    for (;;) {
      const { status, body, text } = await client.send({
        method: 'GET',
        path: `/v2.0/jobs/batches/${batch.id}?WaitSeconds=8`,
      });
      const record = body as BatchRecord;
      if (status !== 200)
        ledger.blame(
          'lost',
          `batch ${batch.id} was accepted, and is answered ${status}: ${text.slice(0, 200)}`,
          batch.work,
        );
      if (status !== 200 || ['LessonsCreated', 'LessonsImportFailed'].includes(record.ImportStatus)) {
        batch.work.to = Date.now();
        batch.final = record.ImportStatus;
        return record;
      }
    }
  }

  /** @param meant `Data` where it is faulty @returns whether it has taken effect */
  async function judge(batch: Batch, meant: 'good' | 'Data'): Promise<boolean> {
    const { ImportStatus, FailureKind, ErrorMessages } = await ended(batch);
    const outcome = ImportStatus === 'LessonsCreated' ? 'good' : FailureKind;
    if (outcome !== meant)
      ledger.blame(
        outcome === 'Technical' ? 'lost' : 'otherwise wrong',
        `batch ${batch.id} of ${mandator} was to end as ${meant}, and ended as ${outcome}: ${ErrorMessages}`,
        batch.work,
      );
    return outcome === 'good';
  }

  function follow(batch: Batch, meant: 'good' | 'Data', then: (isDone: boolean) => void): void {
    const followed = judge(batch, meant)
      .then(then)
      .finally(() => following.delete(followed));
    // At the end of all nobody waits for it.
    followed.catch(() => {});
    following.add(followed);
  }

  async function create(lessons: number): Promise<void> {
    const { jobs, of } = draw(lessons);
    const isFaulty = dice.roll() < 0.25;
    if (isFaulty) dice.oneOf(faultsOf)(jobs);
    const batch = await submit('create', jobs);
    if (!isFaulty) kept.push(of);
    follow(batch, isFaulty ? 'Data' : 'good', (isDone) => {
      of.isBusy = false;
      of.isGone = !isDone;
    });
  }

  async function change(of: Jobs, operation: 'update' | 'delete'): Promise<void> {
    of.isBusy = true;
    const isFaulty = dice.roll() < 0.25;
    const title = `title ${made++}`;
    const jobs = Array.from({ length: of.jobs }, (_, number) => ({
      JobID: `${of.prefix}${number}`,
      ...(operation === 'update' && {
        LektionList: Array.from({ length: Math.min(5, of.lessons - number * 5) }, (_, at) => ({
          LektionId: `${number}-${at}`,
          Titel: title,
        })),
      }),
    }));
    if (isFaulty) jobs.push({ JobID: 'nowhere' });
    const batch = await submit(operation, jobs);
    follow(batch, isFaulty ? 'Data' : 'good', (isDone) => {
      of.isBusy = false;
      if (isDone && operation === 'delete') of.isGone = true;
      else if (isDone) of.title = title;
    });
  }

  async function sendNext(): Promise<void> {
    if (isLargeWanted) {
      isLargeWanted = false;
      return await create(5_000 + dice.below(15_000));
    }
    const free = kept.filter(({ isBusy, isGone }) => !isBusy && !isGone);
    const large = free.find(({ lessons }) => lessons > 2_000);
    if (large && dice.roll() < 0.3) return await change(large, 'delete');
    const small = free.filter(({ lessons }) => lessons <= 2_000);
    if (small.length > 2 && dice.roll() < 0.5)
      return await change(dice.oneOf(small), dice.roll() < 0.6 ? 'update' : 'delete');
    await create(20 + dice.below(380));
  }

  const running = (async () => {
    while (!isStopped) {
      if (following.size < open)
        await sendNext().catch(({ message }: Error) => ledger.blame('otherwise wrong', `${mandator}: ${message}`));
      await sleep(pause * (0.5 + dice.roll()));
    }
    await Promise.all(following);
  })();
  running.catch(() => {});

  return {
    mandator,
    batches,
    /** The next batch is so large that it takes seconds. */
    wantLarge() {
      isLargeWanted = !batches.some(({ isLarge, final }) => isLarge && final === undefined);
    },
    /** Sends no more, and waits for the end of those that were sent. */
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
    /** Compares the database, once nothing is under way, with what was acknowledged. */
    async verify(db: Database, mandatorId: number): Promise<void> {
      const { rows: stored } = await sql<{
        prefix: string;
        jobs: number;
        lessons: number;
        titles: (string | null)[];
      }>`
        select split_part(job_id, '-', 1) || '-' as prefix, count(distinct lesson_job.id)::int as jobs,
          count(lesson.job)::int as lessons, array_agg(distinct titel) as titles
        from lesson_job left join lesson on lesson.mandator_id = lesson_job.mandator_id and lesson.job = lesson_job.id
        where lesson_job.mandator_id = ${mandatorId} group by 1`.execute(db);
      const found = new Map(stored.map((row) => [row.prefix, row]));
      for (const { prefix, lessons, jobs, title, isGone, isBusy } of kept) {
        const row = found.get(prefix);
        found.delete(prefix);
        if (isBusy) continue;
        const wanted = isGone ? undefined : { prefix, jobs, lessons, titles: [title] };
        if (JSON.stringify(row) === JSON.stringify(wanted)) continue;
        const told = `${mandator}, jobs ${prefix}*: ${JSON.stringify(wanted ?? 'none')} acknowledged, ${JSON.stringify(row ?? 'none')} stored`;
        ledger.blame(wanted && !row ? 'lost' : 'half-applied', told);
      }
      for (const row of found.values())
        ledger.blame('half-applied', `${mandator} has lessons of a batch that failed: ${JSON.stringify(row)}`);

      const { rows } = await sql<{
        id: string;
      }>`select id from batch where mandator_id = ${mandatorId}`.execute(db);
      const there = new Set(rows.map(({ id }) => id));
      for (const { id, work } of batches)
        if (!there.delete(id)) ledger.blame('lost', `batch ${id} of ${mandator} was accepted, and is not there`, work);
      for (const id of there) ledger.blame('doubled', `batch ${id} of ${mandator} is there, and no client was told so`);
    },
  };
}
