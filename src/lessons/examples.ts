/** The answers that the documentation shows: one job that is sent, processed, changed and read. */

const batchId = '01a1f8da-707e-77b2-927f-0b8eb9707a33';
const sender = { PersonId: 1, DisplayName: 'Stundenplan-Import' };

export const accepted = { BatchId: batchId, ImportStatus: 'AwaitingLessonCreation' };

const running = {
  BatchId: batchId,
  Operation: 'Create',
  ImportStatus: 'AwaitingLessonProcessing',
  JobCount: 1,
  LessonCount: 1,
  ProcessedCount: 0,
  CreatedCount: 0,
  ChangedCount: null,
  MovedCount: null,
  RemovedCount: null,
  ErrorCount: 0,
  WarningCount: 0,
  FailureKind: null,
  ValidateOnly: false,
  Quelle: null,
  CreatedAt: '2026-11-20T08:00:00.000Z',
  StartedAt: '2026-11-20T08:00:00.050Z',
  FinishedAt: null,
  CreatedBy: sender,
  QueuePosition: 1,
};

const error = {
  Severity: 'Error',
  Index: 0,
  JobID: 'MA-1A-2027',
  LektionIndex: null,
  LektionId: null,
  Field: 'JobID',
  Code: 'DuplicateJobId',
  Message: 'Duplicate JobId: MA-1A-2027',
  Pointer: '/0/JobID',
  Line: null,
};

const failed = {
  ...running,
  ImportStatus: 'LessonsImportFailed',
  ErrorCount: 1,
  FailureKind: 'Data',
  FinishedAt: '2026-11-20T08:00:00.200Z',
  QueuePosition: null,
  ErrorMessages: error.Message,
  Errors: [error],
  OmittedErrors: [],
  Difference: null,
};

const cancelled = {
  ...failed,
  FailureKind: 'Cancelled',
  ErrorMessages: 'The batch was cancelled; nothing of it was stored.',
  Errors: [],
};

const job = {
  JobID: 'MA-1A-2027',
  Bezeichnung: 'Mathematik 1A',
  Quelle: null,
  Standort: null,
  Bemerkung: null,
  LessonCount: 1,
  BatchId: batchId,
  CreatedAt: '2026-11-20T08:00:00.100Z',
  ChangedAt: '2026-11-20T09:30:00.000Z',
  CreatedBy: sender,
};

const lesson = {
  LektionId: 'L-1',
  JobID: 'MA-1A-2027',
  Beginn: '2027-02-01T08:00:00.000Z',
  Ende: '2027-02-01T08:45:00.000Z',
  RessourceName: 'HS 101',
  RessourceId: 2,
  Titel: null,
  Fach: 'Mathematik',
  Bemerkung: null,
  Klassen: ['1A'],
  Lehrpersonen: ['A. Turing'],
  Status: 'Vertretung',
  KopplungId: null,
  Privat: false,
  BookingId: 1,
  Ursprung: {
    RessourceName: 'HS 101',
    Lehrpersonen: ['E. Noether'],
    Fach: 'Mathematik',
    Beginn: '2027-02-01T08:00:00.000Z',
    Ende: '2027-02-01T08:45:00.000Z',
  },
};

const page = (item: unknown) => ({ Items: [item], NextCursor: null });

export const batch = failed;
export const cancelledBatch = cancelled;
export const batches = page(running);
export const errors = { ...page(error), OmittedErrors: [] };
export const jobs = page(job);
export const lessons = page(lesson);
