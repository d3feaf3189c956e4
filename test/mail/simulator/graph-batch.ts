/** Graph: batches of requests, which are answered together in any order. */
import { refusal } from './graph-replies.ts';
import type { Call, Reply } from './json-calls.ts';

type Step = { id: string; method: string; url: string; headers?: Record<string, string>; body?: object };

const most = 20;

function faultOf(steps: readonly Step[] | undefined): string | undefined {
  if (!Array.isArray(steps) || steps.length === 0) return 'Invalid batch payload format.';
  if (steps.length > most) return `Number of batch request steps exceeds the maximum value of ${most}.`;
  if (new Set(steps.map(({ id }) => id)).size < steps.length) return 'Request Ids must be unique.';
  const isTyped = ({ headers = {} }: Step) => Object.keys(headers).some((name) => /^content-type$/i.test(name));
  const untyped = steps.find((step) => step.body && !isTyped(step));
  return untyped && `Write request id : ${untyped.id} does not contain Content-Type header or body.`;
}

/** @param atOnce requests that run at a time */
export async function answerBatch(call: Call, atOnce: number, answer: (call: Call) => Promise<Reply>): Promise<Reply> {
  const { requests } = JSON.parse(call.body) as { requests?: Step[] };
  const fault = faultOf(requests);
  if (fault !== undefined) return refusal(400, 'BadRequest', fault);
  const waiting = [...requests!];
  const done: (Reply & { id: string })[] = [];
  async function work(): Promise<void> {
    for (let step = waiting.shift(); step; step = waiting.shift()) {
      const { id, method, url, headers = {}, body } = step;
      const { pathname, searchParams } = new URL(`/v1.0/${url.replace(/^\//, '')}`, call.origin);
      const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
      const part = { method, path: pathname, query: searchParams, headers: lower, origin: call.origin };
      done.push({ id, ...(await answer({ ...part, body: body ? JSON.stringify(body) : '' })) });
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  const responses = done.toReversed().map(({ id, status, headers = {}, body = null }) => ({
    id,
    status,
    body,
    headers: { 'Content-Type': 'application/json', ...headers },
  }));
  return { status: 200, body: { responses }, isCut: done.some(({ isCut }) => isCut) };
}
