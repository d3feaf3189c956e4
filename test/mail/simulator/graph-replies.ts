import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export type Call = {
  method: string;
  /** As the client wrote it. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** Where the client thinks that this is: links lead there. */
  origin: string;
  body: string;
};
export type Reply = { status: number; body?: object; headers?: Record<string, string> };

export function refusal(status: number, code: string, message: string, headers: Record<string, string> = {}): Reply {
  const id = randomUUID();
  const innerError = {
    date: new Date().toISOString().slice(0, 19),
    'request-id': id,
    'client-request-id': id,
  };
  return { status, headers, body: { error: { code, message, innerError } } };
}
