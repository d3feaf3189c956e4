/** Sends files over REST: they may be larger than calls of GraphQL, whose bodies are held in memory. */
import { call, isSessionLost, type Refusal, Refused, readAnswer, untilSignedIn, without } from '../client.ts';
import { faultIn } from '../texts/timetable-files.ts';
import type { LeftOut } from './draft.ts';

type RestFault = Record<'Field' | 'Pointer', string | null> &
  Record<'Code' | 'Message', string> & {
    Line?: number | null;
    Column?: number | null;
  };
type RestNotice = Record<'File' | 'Code' | 'Message', string> & { Line: number };
type RestProblem = { detail?: string; Code?: string; TraceId?: string; Errors?: RestFault[] };

/** @returns the id of the batch, as GraphQL has it, and what the server leaves out of the files */
export async function sendJobs(
  path: string,
  body: string | Blob,
  idempotencyKey: string,
): Promise<
  { batchId: string; leftOut: LeftOut; refused?: never } | { refused: Refusal; batchId?: never; leftOut?: never }
> {
  const headers = { 'Idempotency-Key': idempotencyKey };
  for (;;) {
    let answer: Response;
    let told: { BatchId?: string; NoticeCount?: number; Notices?: RestNotice[] } & RestProblem;
    try {
      answer = await call('POST', path, body, { headers });
      told = await readAnswer(answer);
    } catch (error) {
      if (error instanceof Refused) return { refused: error.refusal };
      throw error;
    }
    if (answer.status === 401) {
      isSessionLost.value = true;
      await untilSignedIn();
      continue;
    }
    if (told.BatchId) {
      const { NoticeCount: count = 0, Notices = [] } = told;
      const notices = Notices.map(({ File, Line, Code, Message }) =>
        faultIn(File, { line: Line, code: Code, message: Message }),
      );
      return { batchId: `batch_${told.BatchId}`, leftOut: { count, notices } };
    }
    return {
      refused: {
        ...without,
        code: told.Code ?? (answer.status === 503 ? 'Unavailable' : 'INTERNAL_ERROR'),
        message: told.detail ?? `HTTP ${answer.status}`,
        faults: (told.Errors ?? []).map(({ Field, Pointer, Code, Message, Line, Column }) => ({
          field: Field,
          pointer: Pointer,
          code: Code,
          message: Message,
          line: Line ?? null,
          column: Column ?? null,
        })),
        traceId: told.TraceId,
        retryAfterSeconds: Number(answer.headers.get('Retry-After')) || undefined,
      },
    };
  }
}
