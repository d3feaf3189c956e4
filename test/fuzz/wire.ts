/** Sends generated requests, and judges the answers: which are faults of ours, not of the caller. */
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import type { Dice } from '../_util/dice.ts';
import { type fields, makeOperation } from './graphql.ts';
import * as hostile from './hostile.ts';
import type { Sent } from './rest.ts';
import { tenantCode, type World } from './world.ts';

/** `isPromised`: the document tells of it, and a machine or database that is slow may be the reason. */
export type Fault = { text: string; isPromised: boolean };
/** `fault`: why it is an error of ours; `status`: what it counts as. */
export type Verdict = { status: string; isSuccess: boolean; fault: Fault | undefined; ms: number };

/** For the frames of a stream; then it is left. */
const streamMs = 40;
const longestAnswerMs = 35_000;

const isMasked = (text: string) => text.includes('INTERNAL_ERROR') || text.includes('"InternalError"');

/** GraphQL says in a 200 what went wrong, also by the type of a result. */
const isData = (text: string) => !/"errors":\[\{|"__typename":"\w+Problem"/.test(text);

/** Why something is answered 503 because of others: they have the places and turns, hold the record, or changed rights. */
const ofOthers = [
  /are (under way|waiting) already; send the same request again\./,
  /is locked by another change, such as an import of lessons or an erasure that has not ended; send the same request again\./,
  /What you may see or do has changed; subscribe again\./,
];
/** Of a mutation all of these are members of its result. */
const outsideOfResult =
  /"errors":\[\{[^{}]*(?:"locations":\[\{[^}]*\}\],)?"path":\["[^"]*"\],"extensions":\{"code":"(FORBIDDEN|NOT_FOUND|CONFLICT)"/;
/** What is refused further in is null there, and leaves the rest of the answer. */
const isWhollyNull = /"path":\["[^"]*",[\s\S]*"code":"(FORBIDDEN|NOT_FOUND)"[\s\S]*\}\],"data":null\}$/;
const isUnavailable = (text: string) => /"code":"(UNAVAILABLE|Unavailable)"/i.test(text);

type Judged = { mayBeUnavailable?: boolean; isMutation?: boolean; retryAfter?: string | undefined };

/**
 * A fault of ours: all that is masked, a 503 that the document does not tell of, and one for any other reason, such as a
 * database that is not slow but for what was sent.
 */
function judge(
  status: number,
  text: string,
  { mayBeUnavailable = true, isMutation = false, retryAfter }: Judged = {},
): Fault | undefined {
  if (isMutation && (outsideOfResult.test(text) || isWhollyNull.test(text)))
    return { text: `${status} ${text.slice(0, 600)}`, isPromised: false };
  if (!isMasked(text) && status < 500 && !isUnavailable(text)) return undefined;
  const isPromised =
    !isMasked(text) && (status < 500 || (status === 503 && mayBeUnavailable && retryAfter !== undefined));
  const isRight = isPromised && ofOthers.some((reason) => reason.test(text));
  return isRight ? undefined : { text: `${status} ${text.slice(0, 600)}`, isPromised };
}

function learnFrom(world: World, type: string, text: string): void {
  if (!type.includes('json') || text.length > 200_000) return;
  try {
    world.pool.learn(JSON.parse(text));
  } catch {
    // No JSON although it says so is judged elsewhere.
  }
}

export async function sendHttp(sent: Sent, world: World, agent: http.Agent): Promise<Verdict> {
  const { hostname, port } = new URL(world.url);
  const started = performance.now();
  const { promise, resolve } = Promise.withResolvers<Verdict>();
  const end = (status: string, isSuccess = false, fault?: Fault) =>
    resolve({ status, isSuccess, fault, ms: performance.now() - started });
  const { method, path, body } = sent;
  // Of a GET with a body Node's client tells no length.
  const headers = { ...sent.headers, ...(body && { 'Content-Length': body.length }) };
  const request = http.request({ hostname, port, method, path, headers, agent }, (answer) => {
    const { statusCode = 0, headers: told } = answer;
    const type = String(told['content-type'] ?? '');
    let text = '';
    const finish = () => {
      const verdict = () => judge(statusCode, text, { ...sent, retryAfter: told['retry-after'] });
      if (statusCode < 300 && isData(text)) learnFrom(world, type, text);
      end(String(statusCode), statusCode < 300 && isData(text), verdict());
    };
    answer.setEncoding('utf8').on('data', (chunk: string) => {
      if (text.length < 1_000_000) text += chunk;
    });
    answer.on('end', finish).on('error', finish);
    // It has opened; what it is for may come later.
    if (type.startsWith('text/event-stream'))
      setTimeout(() => {
        end('left', statusCode === 200 && isData(text), judge(statusCode, text));
        request.destroy();
      }, streamMs);
  });
  request.setTimeout(longestAnswerMs, () => request.destroy(new Error(`no answer for ${longestAnswerMs} ms`)));
  request.on('error', (error: NodeJS.ErrnoException) => {
    // An idle connection may be closed at the moment in which it is used again.
    if (request.reusedSocket && error.code === 'ECONNRESET') resolve(sendHttp(sent, world, agent));
    else end('none', false, { text: `no answer: ${error.message}`, isPromised: false });
  });
  request.on('close', () => end('left'));
  request.end(body);
  return await promise;
}

/** Close codes by which a server says that it has failed. */
const faultyCodes = new Set([1006, 1011, 4500]);

export type Told = Verdict & { caller: string; message: string };

/** One operation over a WebSocket of its own, in the protocol graphql-transport-ws or nearly so. */
export async function sendOverSocket(dice: Dice, world: World, field: (typeof fields)[number]): Promise<Told> {
  const { params } = makeOperation(dice, world, field);
  const { name, authorization } = dice.oneOf(world.callers);
  const started = performance.now();
  const socket = new WebSocket(`${world.url.replace('http', 'ws')}/${tenantCode}/graphql`, 'graphql-transport-ws');
  let text = '';
  let code = 0;
  socket.on('message', (data) => {
    text += String(data).slice(0, 100_000);
    if (/"type":"(complete|error)"/.test(text)) socket.close(1000);
  });
  socket.on('error', () => {});
  socket.on('close', (closedWith) => {
    code = closedWith;
  });
  const connection = { ...(authorization && { Authorization: authorization }) };
  const hello = { type: 'connection_init', payload: dice.roll() < 0.1 ? hostile.anything(dice) : connection };
  const call = { id: '1', type: 'subscribe', payload: params };
  const isSpoiled = dice.roll() < 0.1;
  const message = JSON.stringify(isSpoiled ? hostile.spoil(call, dice) : call) ?? 'null';
  await Promise.race([once(socket, 'open').catch(() => {}), sleep(5_000, undefined, { ref: false })]);
  if (socket.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify(hello) ?? 'null');
    await Promise.race([
      once(socket, 'message').catch(() => {}),
      once(socket, 'close'),
      sleep(5_000, undefined, { ref: false }),
    ]);
    if (socket.readyState === WebSocket.OPEN) {
      socket.send(message);
      await Promise.race([once(socket, 'close'), sleep(4 * streamMs)]);
    }
  }
  const fault = judge(200, text);
  const isFaulty = faultyCodes.has(code) || fault !== undefined;
  socket.terminate();
  return {
    caller: name,
    message,
    status: `ws ${code || 'open'}`,
    isSuccess: text.includes('"type":"next"') && isData(text),
    ms: performance.now() - started,
    fault: isFaulty
      ? { text: `closed with ${code}: ${text.slice(0, 600)}`, isPromised: fault?.isPromised === true }
      : undefined,
  };
}
