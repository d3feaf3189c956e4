import type { Batch, LessonError } from './batch.ts';

/** The batch record of contract 4.4, as a list entry: without Errors and ErrorMessages. */
export function toBatchEntry(batch: Batch) {
  return {
    BatchId: batch.id,
    Operation: batch.operation,
    ImportStatus: batch.importStatus,
    JobCount: batch.jobCount,
    LessonCount: batch.lessonCount,
    ProcessedCount: batch.processedCount,
    CreatedCount: batch.createdCount,
    ErrorCount: batch.errorCount,
    WarningCount: batch.warningCount,
    FailureKind: batch.failureKind,
    ValidateOnly: batch.validateOnly,
    CreatedAt: batch.createdAt,
    StartedAt: batch.startedAt,
    FinishedAt: batch.finishedAt,
    CreatedBy: { PersonId: batch.createdBy.personId, DisplayName: batch.createdBy.displayName },
    QueuePosition: batch.queuePosition,
  };
}

/** The whole record; `errors` are the first hundred. */
export function toBatchRecord(batch: Batch, errors: LessonError[]) {
  return { ...toBatchEntry(batch), ErrorMessages: batch.errorMessages, Errors: errors.map(toErrorEntry) };
}

export function toErrorEntry(error: LessonError) {
  return {
    Severity: error.severity,
    Index: error.index,
    JobID: error.jobId,
    LektionIndex: error.lektionIndex,
    LektionId: error.lektionId,
    Field: error.field,
    Code: error.code,
    Message: error.message,
    Pointer: error.pointer,
  };
}
