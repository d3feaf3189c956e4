/** Clients of streams: a door sign that shows a room, and a program that follows its batch. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'graphql-sse';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { plainId } from '../_util/plain-ids.ts';
import type { Client } from './client.ts';
import type { Ledger } from './ledger.ts';
import type { Batch } from './lessons.ts';

/** Opens a stream at any Web process. @returns once it ends, for whatever reason; whether that was its own end */
async function follow<Data>(
  client: Client,
  query: string,
  variables: object,
  over: AbortSignal,
  onData: (data: Data) => void,
): Promise<boolean> {
  const url = client.nextUrl();
  const token = await client.signIn(url);
  if (!token) throw new Error('no token');
  const stream = createClient({
    url: `${url}/${client.mandator}/graphql`,
    headers: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
  });
  const dispose = () => stream.dispose();
  over.addEventListener('abort', dispose, { once: true });
  try {
    for await (const { data, errors } of stream.iterate<Data>({ query, variables: { ...variables } })) {
      if (errors) throw new Error(errors[0]?.message);
      if (data) onData(data);
    }
    return true;
  } finally {
    over.removeEventListener('abort', dispose);
    dispose();
  }
}

const pauseBefore = (over: AbortSignal) =>
  sleep(300 + Math.random() * 700, undefined, { signal: over }).catch(() => {});

type Slot = { bookingId: string; subject: string | null; start: string; end: string };
type Frame = { __typename: string; serverTime?: string; end?: string; schedule?: Slot[] };

/** A frame at least every 30 seconds is promised: without one for longer the sign reconnects, as the page does. */
const silence = 45_000;

export function watchRoom(client: Client, resourceId: number, ledger: Ledger, over: AbortSignal) {
  let shown: Frame | undefined;
  const running = (async () => {
    while (!over.aborted) {
      const quiet = new AbortController();
      let timer = setTimeout(() => quiet.abort(), silence);
      await follow<{ display: Frame }>(
        client,
        `subscription ($room: ID!) { display(resourceId: $room) { __typename
          ... on DisplaySnapshot { serverTime end schedule { bookingId subject start end } } } }`,
        { room: resourceId },
        AbortSignal.any([over, quiet.signal]),
        ({ display }) => {
          clearTimeout(timer);
          timer = setTimeout(() => quiet.abort(), silence);
          if (display.__typename === 'DisplaySnapshot') shown = display;
        },
      ).catch(() => {});
      clearTimeout(timer);
      await pauseBefore(over);
    }
  })();
  running.catch(() => {});

  const wordOf = (id: unknown, start: string, end: string, subject: string | null) =>
    `${id} ${Date.parse(start)}-${Date.parse(end)} ${subject}`;

  return {
    /** Differences between what the sign shows and the stored bookings that have not begun. */
    async differences(db: Database): Promise<string[]> {
      if (!shown?.end) return ['it has shown nothing yet'];
      const from = new Date(Date.now() + 60_000);
      const { rows } = await sql<{ id: number; start: Date; end: Date; subject: string | null }>`
        select id, lower(occupied) as start, upper(occupied) as "end", subject from booking
        where resource_id = ${resourceId} and status in ('Confirmed', 'Tentative')
          and lower(occupied) > ${from} and lower(occupied) < ${new Date(shown.end)}`.execute(db);
      const wanted = new Set(
        rows.map((row) => wordOf(row.id, row.start.toISOString(), row.end.toISOString(), row.subject)),
      );
      const seen = (shown.schedule ?? [])
        .filter(({ start }) => Date.parse(start) > from.getTime())
        .map((slot) => wordOf(plainId('', slot.bookingId), slot.start, slot.end, slot.subject));
      return [
        ...seen.filter((word) => !wanted.delete(word)).map((word) => `shown and not so: ${word}`),
        ...[...wanted].map((word) => `so and not shown: ${word}`),
      ];
    },
    blame: (differences: readonly string[]) => {
      for (const text of differences)
        ledger.blame('stuck', `the sign of room ${resourceId} of ${client.mandator}: ${text}`);
    },
  };
}

const order = ['AwaitingLessonCreation', 'AwaitingLessonProcessing', 'LessonsCreated', 'LessonsImportFailed'];
const isFinal = (status: string | undefined) => status?.startsWith('Lessons') === true;

/** Follows one batch until its end. */
export function watchBatch(client: Client, batch: Batch, ledger: Ledger, over: AbortSignal) {
  const seen: string[] = [];
  const running = (async () => {
    while (!over.aborted && !isFinal(seen.at(-1))) {
      const isEnd = await follow<{ batchStatus: { importStatus: string } }>(
        client,
        'subscription ($id: ID!) { batchStatus(batchId: $id) { importStatus } }',
        { id: batch.id },
        over,
        ({ batchStatus }) => {
          const before = seen.at(-1);
          if (isFinal(before) || (before && order.indexOf(batchStatus.importStatus) < order.indexOf(before)))
            ledger.blame(
              'otherwise wrong',
              `batchStatus of ${batch.id} told ${batchStatus.importStatus} after ${before}`,
              batch.work,
            );
          seen.push(batchStatus.importStatus);
        },
      ).catch(() => false);
      if (isEnd && !over.aborted && !isFinal(seen.at(-1)))
        ledger.blame(
          'otherwise wrong',
          `batchStatus of ${batch.id} completed after ${seen.at(-1)}, without a final state`,
          {
            ...batch.work,
            to: Date.now(),
          },
        );
      await pauseBefore(over);
    }
  })();
  running.catch(() => {});

  return {
    /** What the stream told wrongly of an ended batch; undefined if it agrees with the record. */
    difference: (): string | undefined =>
      seen.at(-1) === batch.final
        ? undefined
        : `batchStatus of ${batch.id} told ${seen.at(-1)}, and it is ${batch.final}`,
    batch,
  };
}
