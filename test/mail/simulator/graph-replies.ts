import { randomUUID } from 'node:crypto';
import type { Reply } from './json-calls.ts';

export function refusal(status: number, code: string, message: string, headers: Record<string, string> = {}): Reply {
  const id = randomUUID();
  const innerError = {
    date: new Date().toISOString().slice(0, 19),
    'request-id': id,
    'client-request-id': id,
  };
  return { status, headers, body: { error: { code, message, innerError } } };
}
