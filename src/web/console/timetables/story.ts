/** The story of one batch: its progress, who sent it, its result, and what was wrong. */

import { useEffect, useState } from 'preact/hooks';
import { act, ask, pages, type Refusal, Refused } from '../client.ts';
import { momentOr, ownZone, withLocalTimes } from '../clock.ts';
import {
  BatchDetailsDocument,
  BatchErrorsDocument,
  CancelBatchDocument,
  FollowBatchDocument,
} from '../generated/graphql.ts';
import { follow } from '../live.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { fact } from '../parts/fact.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { ScreenLink } from '../parts/link.ts';
import { RefusedBox } from '../parts/refused.ts';
import { table } from '../parts/table.ts';
import { toast } from '../parts/toast.ts';
import { personName } from '../person-name.ts';
import { messageOf, t } from '../texts/timetables.ts';
import { type Batch, type BatchError, hasEnded, kindText, Progress, stateText } from './batch.ts';
import { Difference } from './difference.ts';

/** All errors and warnings, page by page. @throws Refused */
export async function* readErrors(id: string, stop?: AbortSignal): AsyncGenerator<BatchError[]> {
  yield* pages(async (after) => (await ask(BatchErrorsDocument, { id, after }, stop)).batch?.errors);
}

/** The present state of a batch, followed until it has ended. */
export function useBatch(id: string | undefined) {
  const asked = useAsked(
    async (stop) => (id ? (await ask(BatchDetailsDocument, { id }, stop)).batch : undefined),
    [id],
  );
  const [live, setLive] = useState<Batch>();
  useEffect(() => {
    setLive(undefined);
    if (!id) return undefined;
    const end = follow(
      FollowBatchDocument,
      { batchId: id },
      {
        next: ({ batchStatus }) => {
          if (!batchStatus) return;
          setLive(batchStatus);
          if (!hasEnded(batchStatus)) return;
          end();
          asked.reload();
        },
      },
    );
    return end;
  }, [id]);
  const batch = live?.id === id ? live : asked.data;
  return { asked, batch: batch ?? undefined };
}

/** The line of a file, with the number of the file if it is not the first. */
const placeOf = ({ line, pointer }: BatchError): string | number | null => {
  const file = Number(/^\/files\/(\d+)/i.exec(pointer ?? '')?.[1] ?? 0);
  return line === null || file === 0 ? line : t().lineOfFile(line, file + 1);
};

const textOf = (error: BatchError) => withLocalTimes(ownZone, messageOf(error));

/** A link to the booking that is in the way of a lesson. */
const linkToBooking = ({ code, message }: BatchError): Child => {
  const [, id] = (code === 'ResourceConflict' && / by booking (\d+)/.exec(message)) || [];
  return id && h(ScreenLink, { screen: 'rooms', members: { booking: `booking_${id}` }, children: t().openBooking });
};

/** The console's text for the code, or else the server's message, which says more. */
const Errors: Component<{ id: string }> = ({ id }) => {
  const [found, setFound] = useState<readonly BatchError[]>([]);
  const [isReading, setReading] = useState(true);
  const [refusal, setRefusal] = useState<Refusal>();
  useEffect(() => {
    const stop = new AbortController();
    const read = async () => {
      try {
        for await (const some of readErrors(id, stop.signal)) setFound((before) => [...before, ...some]);
      } catch (error) {
        if (stop.signal.aborted) return;
        if (!(error instanceof Refused)) throw error;
        setRefusal(error.refusal);
      }
      if (!stop.signal.aborted) setReading(false);
    };
    void read();
    return () => stop.abort();
  }, [id]);
  return html`
    ${h(RefusedBox, { refusal })}
    ${table<BatchError & { number: number }>({
      caption: t().findings,
      name: `findings-${id}`,
      rows: found.map((error, number) => ({ ...error, number })),
      id: ({ number }) => String(number),
      columns: [
        { key: 'severity', title: t().severity, value: ({ severity }) => t().severities[severity] },
        ...(found.some(({ line }) => line !== null) ? [{ key: 'line', title: t().line, value: placeOf }] : []),
        {
          key: 'job',
          title: t().jobKey,
          value: ({ jobKey, index }) => jobKey ?? (index === null ? '' : `#${index + 1}`),
        },
        {
          key: 'lesson',
          title: t().lesson,
          value: ({ lessonKey, lessonIndex }) => lessonKey ?? (lessonIndex === null ? '' : `#${lessonIndex + 1}`),
        },
        { key: 'field', title: t().field, value: ({ field }) => (field ? (t().fields[field] ?? field) : '') },
        { key: 'code', title: t().code, value: ({ code }) => code },
        {
          key: 'message',
          title: t().message,
          value: textOf,
          show: (error) => html`${textOf(error)} ${linkToBooking(error)}`,
        },
      ],
    })}
    ${isReading && html`<p aria-busy="true">${t().reading}</p>`}
  `;
};

const facts = (batch: Batch): Child => html`
  <dl class="facts">
    ${fact(t().what, kindText(batch))}
    ${fact(t().state, stateText(batch))}
    ${fact(t().sender, personName(batch.createdBy.displayName, batch.createdBy.personId))}
    ${fact(t().sentAt, momentOr(batch.createdAt))}
    ${fact(t().startedAt, momentOr(batch.startedAt))}
    ${fact(t().endedAt, momentOr(batch.finishedAt))}
    ${fact(t().queue, batch.queuePosition)}
    ${fact(t().jobs, batch.jobCount)}
    ${fact(t().lessons, batch.lessonCount)}
    ${fact(t().source, batch.source)}
    ${fact(t().created, batch.createdCount)}
    ${fact(t().changed, batch.changedCount)}
    ${fact(t().moved, batch.movedCount)}
    ${fact(t().removed, batch.removedCount)}
    ${fact(t().onConflict, t().conflictRules[batch.onConflict])}
    ${fact(t().errors, batch.errorCount)}
    ${fact(t().warnings, batch.warningCount)}
    ${fact('BatchId', html`<code>${batch.id.replace('batch_', '')}</code>`)}
  </dl>
`;

/** Asks the server to end a batch. */
export const CancelButton: Component<{ id: string }> = ({ id }) => {
  const [refusal, setRefusal] = useState<Refusal>();
  const [isAsked, setAsked] = useState(false);
  const cancel = async () => {
    setAsked(true);
    const { refused } = await act(CancelBatchDocument, { id });
    setAsked(false);
    setRefusal(refused);
    if (!refused) toast(t().cancelAsked);
  };
  return html`
    <button type="button" class="danger" disabled=${isAsked} onClick=${() => void cancel()}>${t().cancelBatch}</button>
    ${h(RefusedBox, { refusal })}
  `;
};

export const Story: Component<{ id: string }> = ({ id }) => {
  const { asked, batch } = useBatch(id);
  const show = () =>
    batch &&
    html`
      <section class="panel" aria-label=${t().story}>
        <div aria-live="polite">${!hasEnded(batch) && h(Progress, { batch })}</div>
        ${facts(batch)}
        ${!hasEnded(batch) && html`<div class="buttons">${h(CancelButton, { id })}</div>`}
      </section>
      ${asked.data?.difference && h(Difference, { difference: asked.data.difference })}
      ${batch.failureKind === 'Technical' && asked.data?.errorMessages && html`<p class="refused">${t().serverSays(asked.data.errorMessages)}</p>`}
      ${batch.failureKind === 'Data' && html`<p>${t().nothingStored}</p>`}
      ${hasEnded(batch) && batch.errorCount + batch.warningCount > 0 && batch.failureKind !== 'Cancelled' && html`<h2>${t().findings}</h2>${h(Errors, { id })}`}
      ${(asked.data?.omittedErrors.length ?? 0) > 0 && html`<p>${t().omitted(asked.data?.omittedErrors.map(({ code, count }) => `${code}: ${count}`).join(', ') ?? '')}</p>`}
    `;
  return html`
    ${showAsked(asked, show, { when: (data) => !data, text: t().unknownBatch })}
  `;
};
