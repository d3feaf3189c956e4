/**
 * All outgoing HTTP requests of this program. For some answers, Node's own fetch throws outside of its promise (undici 7.29, a
 * compressed answer whose connection closes), which would end the process. Here every failure of a connection rejects the
 * promise of its request.
 */
import { once } from 'node:events';
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { inSpan } from '../tracing.ts';
import { nodeHttp } from './node-http.ts';

const mostBytes = 1_048_576;

export type Outgoing = {
  method?: string;
  headers?: ConstructorParameters<typeof Headers>[0];
  /** An async iterable is sent in chunks, without a Content-Length. */
  body?: string | Uint8Array | ArrayBuffer | URLSearchParams | AsyncIterable<Uint8Array> | null | undefined;
  signal?: AbortSignal | null | undefined;
  /** Resolves the name of the host; that of the system when left out. */
  lookup?: LookupFunction;
  /**
   * Keeps connections for further requests whose `lookup` allows the same addresses. If the server has closed a kept
   * connection, the request is sent again over a new one, so it may arrive twice.
   */
  agent?: Agent;
  /** Whether only the beginning is needed: an answer that is too large or breaks off is cut, or empty if compressed. */
  cut?: boolean;
};
export type FetchedAnswer = { status: number; headers: Headers; bytes: Buffer };

type Fetch = (address: string, init: Outgoing) => Promise<Response>;

/** The answer has more bytes than allowed; the rest was not read. */
export class AnswerTooLarge extends Error {}

const inflating = new Map(
  Object.entries({
    gzip: promisify(zlib.gunzip),
    'x-gzip': promisify(zlib.gunzip),
    deflate: promisify(zlib.inflate),
    br: promisify(zlib.brotliDecompress),
  }),
);

/**
 * Sends one request. It follows no redirect and reads at most `most` bytes of the answer, also after decompression. It asks
 * for an uncompressed answer, but reads a compressed one too.
 * @throws AnswerTooLarge, the reason of the signal, or the error of the connection, whose `code` says why
 */
export async function fetchBounded(url: URL, outgoing: Outgoing, most: number): Promise<FetchedAnswer> {
  const method = outgoing.method ?? 'GET';
  // The path and the query may hold secrets.
  const attributes = { 'http.request.method': method, 'server.address': url.hostname };
  return await inSpan(method, { kind: 'CLIENT', attributes }, async (span) => {
    const answer = await fetchKept(url, outgoing, most);
    span?.setAttribute('http.response.status_code', answer.status);
    return answer;
  });
}

async function fetchKept(url: URL, outgoing: Outgoing, most: number): Promise<FetchedAnswer> {
  try {
    return await fetchOnce(url, outgoing, most);
  } catch (error) {
    if (!(error instanceof KeptConnectionLost)) throw error;
    const { agent, ...others } = outgoing;
    return await fetchOnce(url, others, most);
  }
}

/** A connection that had been kept was closed before an answer began. */
class KeptConnectionLost extends Error {}

async function fetchOnce(
  url: URL,
  { method = 'GET', headers, body, signal, lookup, agent, cut = false }: Outgoing,
  most: number,
): Promise<FetchedAnswer> {
  signal?.throwIfAborted();
  const sent = new Headers(headers);
  sent.set('accept-encoding', 'identity');
  if (body instanceof URLSearchParams && !sent.has('content-type'))
    sent.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
  const request = (url.protocol === 'https:' ? https : nodeHttp).request(url, {
    method,
    headers: Object.fromEntries(sent),
    ...(signal && { signal }),
    // A connection of the shared agent may have been opened without this lookup.
    ...(lookup && { lookup, agent: agent ?? false }),
  });
  // The request may fail at any time, also when its answer has been read.
  request.on('error', () => {});
  const closed = once(request, 'close').then(() => {
    throw new Error('the connection was closed without an answer');
  });
  closed.catch(() => {});
  let response: IncomingMessage | undefined;
  try {
    const answered = once(request, 'response') as Promise<[IncomingMessage]>;
    send(request, body);
    [response] = await Promise.race([answered, closed]);
    const answer = await readAnswer(url, response, most, cut);
    if (!response.complete) signal?.throwIfAborted();
    return answer;
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw agent && request.reusedSocket && !response && !isStream(body) ? new KeptConnectionLost() : error;
  } finally {
    // The answer came before the whole request was sent, or was not read to its end.
    if (!request.writableFinished || !response?.complete) request.destroy();
  }
}

const isStream = (body: Outgoing['body']): body is AsyncIterable<Uint8Array> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body;

function send(request: ClientRequest, body: Outgoing['body']): void {
  // The request's own events report a failure.
  if (isStream(body)) pipeline(Readable.from(body), request).catch(() => {});
  else if (body instanceof URLSearchParams) request.end(body.toString());
  else request.end(body instanceof ArrayBuffer ? Buffer.from(body) : (body ?? undefined));
}

async function readAnswer(url: URL, response: IncomingMessage, most: number, cut: boolean): Promise<FetchedAnswer> {
  const tooLarge = () => new AnswerTooLarge(`${url.origin} answers with more than ${most} bytes`);
  const headers = headersOf(response);
  const bytes = await readAtMost(response, most, cut ? undefined : tooLarge);
  const coding = headers.get('content-encoding')?.trim().toLowerCase() || 'identity';
  const isPlain = coding === 'identity' || bytes.length === 0;
  return {
    status: response.statusCode ?? 0,
    headers,
    bytes: isPlain ? bytes : cut ? Buffer.alloc(0) : await inflate(bytes, coding, most, tooLarge),
  };
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
  return headers;
}

/** @param tooLarge the error if the answer has more bytes; undefined: the rest is not read */
async function readAtMost(
  response: IncomingMessage,
  most: number,
  tooLarge: (() => AnswerTooLarge) | undefined,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most && tooLarge) throw tooLarge();
      chunks.push(chunk);
      if (size > most) break;
    }
  } catch (error) {
    // The caller wants only the beginning.
    if (tooLarge) throw error;
  }
  return Buffer.concat(chunks).subarray(0, most);
}

async function inflate(bytes: Buffer, coding: string, most: number, tooLarge: () => AnswerTooLarge): Promise<Buffer> {
  const unpack = inflating.get(coding);
  if (!unpack) throw new Error(`the answer is compressed as ${coding.slice(0, 40)}, which was not requested`);
  try {
    return await unpack(bytes, { maxOutputLength: most });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw error;
  }
}

const withoutBody = new Set([204, 205, 304]);

/**
 * A fetch for URLs that another system supplies. It uses https only, except for the `origin` from the settings, follows no
 * redirects, and takes answers of at most 1 MiB.
 */
export function fetchSafely(origin: string): Fetch {
  return async (address, init) => {
    const url = new URL(address);
    if (url.protocol !== 'https:' && url.origin !== origin)
      throw new Error(`${url.origin} is neither an https address nor ${origin}`);
    const { status, headers, bytes } = await fetchBounded(url, init, mostBytes);
    return new Response(withoutBody.has(status) ? null : new Uint8Array(bytes), { status, headers });
  };
}
