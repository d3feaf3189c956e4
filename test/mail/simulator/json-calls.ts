/** Calls of servers that speak JSON, and how they are answered. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

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
/** `isCut`: the connection ends instead of an answer, though what was asked is done. */
export type Reply = { status: number; body?: object; headers?: Record<string, string>; isCut?: boolean };

/** @param contentType of answers with a body */
export async function answerCall(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  contentType: string,
  answerTo: (call: Call) => Promise<Reply>,
): Promise<void> {
  const origin = `http://${request.headers.host}`;
  const { pathname, searchParams } = new URL(request.url ?? '/', origin);
  const { method = 'GET', headers } = request;
  const reply = await answerTo({ method, path: pathname, query: searchParams, headers, origin, body });
  if (reply.isCut) return void request.socket.destroy();
  response.writeHead(reply.status, { ...(reply.body && { 'content-type': contentType }), ...reply.headers });
  response.end(reply.body ? JSON.stringify(reply.body) : undefined);
}
