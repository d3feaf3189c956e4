/** A batch and its end in the words of the command line. */
import path from 'node:path';
import { formatTable } from '../cli/output.ts';
import type { BatchClient, BatchRecord, ErrorRecord } from './service.ts';

export const mostFindingsShown = 100;

/** How a batch reports what it has written. */
const writtenKinds = {
  Create: ['Created'],
  Update: ['Created', 'Changed', 'Moved', 'Removed'],
  Delete: ['Removed'],
} as const;

export function describeBatch(batch: BatchRecord): string {
  const seconds = batch.FinishedAt && (Date.parse(batch.FinishedAt) - Date.parse(batch.CreatedAt)) / 1_000;
  return formatTable(
    ['Batch', batch.BatchId],
    [
      ['Status', batch.ImportStatus],
      ['Jobs', batch.JobCount],
      ['Lessons', batch.LessonCount ?? '-'],
      ...writtenKinds[batch.Operation].map((kind) => [kind, batch[`${kind}Count`] ?? '-']),
      ['Errors', batch.ErrorCount],
      ['Warnings', batch.WarningCount],
      ...(seconds === null ? [] : [['Seconds', seconds]]),
    ],
  );
}

export function describeSuccess(batch: BatchRecord, { onConflict }: { onConflict?: string }): string {
  const { Operation, ValidateOnly, WarningCount, CreatedCount, LessonCount } = batch;
  const warnings =
    WarningCount === 0 ? '' : `; there ${WarningCount === 1 ? 'is 1 warning' : `are ${WarningCount} warnings`}`;
  if (ValidateOnly)
    return `Success: ${WarningCount === 0 ? 'nothing is wrong' : 'there is no error'}, and nothing was written${warnings}.`;
  if (Operation === 'Delete') return `Success: what the file names is deleted${warnings}.`;
  if (Operation === 'Update')
    return onConflict === 'skip' && WarningCount > 0
      ? `Done: the changes are in the timetable, without those that a warning says were left out${warnings}.`
      : `Success: the changes are in the timetable${warnings}.`;
  const total = LessonCount ?? CreatedCount;
  const leftOut = total - CreatedCount;
  return leftOut === 0
    ? `Success: ${total} of ${total} lessons are in the timetable${warnings}.`
    : `Done: ${CreatedCount} of ${total} lessons are in the timetable; ${leftOut} ${leftOut === 1 ? 'was' : 'were'} left out${warnings}.`;
}

/** `GPU001.TXT:12`. */
function lineOf({ Line, Pointer }: ErrorRecord, files: readonly string[]): string {
  const file = files[Number(/^\/Files\/(\d+)/.exec(Pointer ?? '')?.[1])];
  return Line === null || file === undefined ? '' : `${path.basename(file)}:${Line}`;
}

/** The first errors, or warnings, of a batch as a table, and how many more there are. */
export async function describeFindings(
  client: BatchClient,
  { BatchId, ErrorCount, WarningCount, OmittedErrors = [] }: BatchRecord,
  severity: ErrorRecord['Severity'],
  files: readonly string[],
): Promise<string> {
  const findings: ErrorRecord[] = [];
  for await (const finding of client.listErrors(BatchId)) {
    if (finding.Severity === severity) findings.push(finding);
    if (findings.length === mostFindingsShown) break;
  }
  const hasLines = findings.some(({ Line }) => typeof Line === 'number');
  const table = formatTable(
    [hasLines ? 'Line' : 'Index', 'JobID', 'LektionId', 'Field', 'Code', 'Message'],
    findings.map((finding) => [
      hasLines ? lineOf(finding, files) : finding.Index,
      finding.JobID,
      finding.LektionId,
      finding.Field,
      finding.Code,
      finding.Message,
    ]),
  );
  const more = (severity === 'Error' ? ErrorCount : WarningCount) - findings.length;
  if (more <= 0) return table;
  const omitted = OmittedErrors.filter(({ Severity }) => Severity === severity).map(
    ({ Code, Count }) => `${Count} ${Code}`,
  );
  const unkept = omitted.length > 0 ? `, of which the server has counted and not kept ${omitted.join(', ')}` : '';
  return `${table}\n... and ${more} more${unkept}`;
}
