/** The result of a file that was sent: as it is kept in the draft, and as it is shown. */
import type { Refusal } from '../client.ts';
import { download, toCsv } from '../parts/csv.ts';
import { type Component, h, html } from '../parts/html.ts';
import { ScreenLink } from '../parts/link.ts';
import { t as files } from '../texts/timetable-files.ts';
import { messageOf, t } from '../texts/timetables.ts';
import { type Batch, type BatchError, stateText } from './batch.ts';
import { Difference } from './difference.ts';
import { cellAt, type Draft, isCurrent, type Work } from './draft.ts';
import { atLines, ofBatch } from './faults.ts';
import { readErrors, type useBatch } from './story.ts';

/** The result of a batch for the draft: faults at their cells. @throws Refused */
export async function readResult(draft: Draft, batch: Batch): Promise<Partial<Work>> {
  const sent = draft.work.sent;
  const isRight = batch.importStatus === 'LessonsCreated';
  const { isCheck = batch.validateOnly, version = draft.work.version } = sent ?? {};
  const errors: BatchError[] = [];
  if (!isRight && batch.failureKind === 'Data')
    for await (const some of readErrors(batch.id)) errors.push(...some.filter(({ severity }) => severity === 'Error'));
  const { faults, others } = await ofBatch(draft, errors);
  const omitted = isRight || batch.failureKind !== 'Data' ? 0 : batch.errorCount - errors.length;
  const result = { batchId: batch.id, isCheck, version, isRight, warnings: batch.warningCount, omitted, others };
  return { faults, touched: [], sent: undefined, sending: undefined, result };
}

/** Codes for what is missing in the settings, not in a row. */
const missing = new Set(['MissingTerm', 'MissingPeriods', 'UnknownColumn', 'ClocksWithoutDates']);

/** The faults of files that could not be read, for the draft; undefined if none has a place in the files. */
export async function readRefused(
  draft: Draft,
  { faults, faultCount = faults.length }: Refusal,
  sent: { isCheck: boolean; version: number },
): Promise<Partial<Work> | undefined> {
  const unread = faults.filter(({ line }) => line);
  if (unread.length === 0) return undefined;
  // The answer lists only some faults of a long file.
  const omitted = faultCount - faults.length;
  const found = await atLines(
    draft,
    unread.filter(({ code }) => !missing.has(code)),
  );
  const result = {
    ...sent,
    isRight: false,
    warnings: 0,
    omitted,
    others: found.others,
    missing: unread.filter(({ code }) => missing.has(code)).map(messageOf),
  };
  return { faults: found.faults, touched: [], sending: undefined, result };
}

/** The most faults without a row that are shown. */
const mostOthers = 50;

/** Saves the faults with their places as CSV. */
function saveFaults(draft: Draft): void {
  const rows = draft.work.faults.map(({ sheet, row, column, code, message }) => {
    const { name = '', lines = [], headers = [] } = draft.sheets[sheet] ?? {};
    const title = headers[column] || (column < 0 ? '' : files().column(column + 1));
    return [name, lines[row] ?? row + 1, title, cellAt(draft, sheet, row, column), code, message];
  });
  download(
    'faults.csv',
    toCsv([[files().file, files().line, t().field, files().cell, t().code, t().message], ...rows]),
  );
}

/** How many warnings a batch has, as a link to its story, which lists them. */
const warningsOf = ({ batchId = '', warnings }: NonNullable<Work['result']>) =>
  h(ScreenLink, { screen: 'timetables', members: { batch: batchId }, children: files().someWarnings(warnings) });

export const Result: Component<{
  draft: Draft;
  timeZone: string;
  batch: Batch | undefined;
  asked: ReturnType<typeof useBatch>['asked'];
}> = ({ draft, timeZone, batch, asked }) => {
  const { work } = draft;
  const { result, faults } = work;
  if (!result) return html`<p role="status">${files().checkFirst}</p>`;
  const isOfNow = isCurrent(work, result);
  const leftOut = isCurrent(work, work.leftOut) ? work.leftOut : undefined;
  const rows = new Set(faults.map(({ sheet, row }) => `${sheet} ${row}`)).size;
  const data = asked.data?.id === result.batchId ? asked.data : undefined;
  const lacks = result.missing ?? [];
  const said = result.isRight
    ? files().right
    : result.batchId && batch && batch.failureKind !== 'Data'
      ? stateText(batch)
      : files().wrong(rows);
  return html`
    ${lacks.length > 0 && html`<div class="refused" role="status"><p>${files().missing}</p><ul>${lacks.map((text) => html`<li>${text}</li>`)}</ul></div>`}
    ${(lacks.length === 0 || rows > 0) && html`<p role="status">${result.isRight && !isOfNow ? files().checkFirst : said} ${result.warnings > 0 && warningsOf(result)}</p>`}
    ${result.others.length + result.omitted > 0 && html`<div class="refused"><p>${files().moreFaults(result.others.length + result.omitted)}</p><ul>${result.others.slice(0, mostOthers).map((text) => html`<li>${text}</li>`)}</ul></div>`}
    ${leftOut && leftOut.count > 0 && html`<details><summary>${files().leftOut(leftOut.count)}</summary><ul>${leftOut.notices.slice(0, mostOthers).map((text) => html`<li>${text}</li>`)}</ul></details>`}
    ${faults.length > 0 && html`<p><button type="button" onClick=${() => saveFaults(draft)}>${files().faultsAsCsv}</button></p>`}
    ${!result.isRight && data?.failureKind === 'Technical' && data.errorMessages && html`<p class="refused">${t().serverSays(data.errorMessages)}</p>`}
    ${isOfNow && data?.difference && h(Difference, { difference: data.difference, timeZone })}
  `;
};
