/** Sends files over REST: they may be larger than calls of GraphQL, whose bodies are held in memory. */
import { post, type Refusal, Refused, refusalOf } from '../client.ts';
import { faultIn } from '../texts/timetable-files.ts';
import type { LeftOut } from './draft.ts';

type RestNotice = Record<'File' | 'Code' | 'Message', string> & { Line: number };
type Accepted = { BatchId?: string; NoticeCount?: number; Notices?: RestNotice[] };

/** @returns the id of the batch, as GraphQL has it, and what the server leaves out of the files */
export async function sendJobs(
  path: string,
  body: string | Blob,
  idempotencyKey: string,
): Promise<
  { batchId: string; leftOut: LeftOut; refused?: never } | { refused: Refusal; batchId?: never; leftOut?: never }
> {
  try {
    const headers = { 'Idempotency-Key': idempotencyKey };
    const { answer, told } = await post<Accepted>(path, body, { headers });
    const { BatchId, NoticeCount: count = 0, Notices = [] } = told;
    if (!BatchId) return { refused: refusalOf(answer, told) };
    const notices = Notices.map(({ File, Line, Code, Message }) =>
      faultIn(File, { line: Line, code: Code, message: Message }),
    );
    return { batchId: `batch_${BatchId}`, leftOut: { count, notices } };
  } catch (error) {
    if (error instanceof Refused) return { refused: error.refusal };
    throw error;
  }
}
