/** A proxy between the service and a mail server, which refuses, loses or delays requests, or drops answers, as a test says. */
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Refusal = { status: number; headers?: Record<string, string>; body?: string };
/** Refused; done without an answer; neither done nor answered; or done only after later requests, and never answered. */
export type Fate = 'Passes' | 'NoAnswer' | 'NotDone' | 'Late' | Refusal;
export type Asked = { method: string; path: string };
type Sent = Asked & { body: Buffer };
/** What an answer says: how much was changed, and how much of it was refused for now. A batch of Graph is many requests. */
type Told = { writes: number; throttled: number };

type Passed = { status: number; headers: IncomingMessage['headers']; body: Buffer };

const isWrite = ({ method }: Asked) => ['PUT', 'POST', 'PATCH', 'DELETE'].includes(method);

function read(asked: Asked, sent: Buffer, status: number, told: Buffer): Told {
  const isThrottled = status === 429 || (status === 403 && told.includes('ateLimitExceeded'));
  const count = (is: unknown) => (is ? 1 : 0);
  if (asked.path.endsWith('.asmx')) {
    const done = `${told}`.match(/<m:(Create|Update|Delete)ItemResponseMessage ResponseClass="Success"/g)?.length ?? 0;
    return { writes: done, throttled: count(told.includes('ErrorServerBusy')) };
  }
  if (!asked.path.endsWith('/$batch'))
    return { writes: count(isWrite(asked) && status < 300), throttled: count(isThrottled) };
  const methods = new Map(
    (JSON.parse(`${sent}`) as { requests: { id: string; method: string }[] }).requests.map(({ id, method }) => [
      id,
      method,
    ]),
  );
  const { responses = [] } = JSON.parse(`${told}`) as { responses?: { id: string; status: number }[] };
  return {
    writes: responses.filter(({ id, status: own }) => methods.get(id) !== 'GET' && own < 300).length,
    throttled: responses.filter(({ status: own }) => own === 429).length + count(isThrottled),
  };
}

/** @param target the root of the mail server's URLs */
export async function startGoBetween(target: string) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  let fateOf: (asked: Sent) => Fate | Promise<Fate> = () => 'Passes';
  let passed: (asked: Asked) => unknown = () => {};
  /** What is late: it arrives after so many other requests. */
  let late: { after: number; send: () => Promise<unknown> }[] = [];
  const counts = { requests: 0, refused: 0, writes: 0, throttled: 0 };

  async function pass(asked: Asked, headers: IncomingMessage['headers'], body: Buffer): Promise<Passed> {
    const request = http.request(`${target}${asked.path}`, { method: asked.method, headers, agent });
    request.end(body);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    const status = answer.statusCode ?? 0;
    const told = Buffer.concat(chunks);
    const { writes, throttled } = read(asked, body, status, told);
    counts.writes += writes;
    counts.throttled += throttled;
    return { status, headers: answer.headers, body: told };
  }

  async function sendLate(isLast = false): Promise<void> {
    for (const one of late) one.after -= 1;
    const due = late.filter(({ after }) => isLast || after <= 0);
    late = late.filter((one) => !due.includes(one));
    for (const { send } of due) await send();
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = { method: request.method ?? 'GET', path: request.url ?? '/' };
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const send = () => pass(asked, request.headers, body);
    counts.requests += 1;
    await sendLate();
    const fate = await fateOf({ ...asked, body });
    if (fate === 'Late') late.push({ after: 1 + (counts.requests % 7), send });
    if (fate === 'Late' || fate === 'NotDone') return void response.destroy();
    if (typeof fate === 'object') {
      counts.refused += 1;
      return void response.writeHead(fate.status, fate.headers).end(fate.body);
    }
    const { status, headers, body: told } = await send();
    await passed(asked);
    if (fate === 'NoAnswer') return void response.destroy();
    delete headers['transfer-encoding'];
    response.writeHead(status, { ...headers, 'content-length': told.length }).end(told);
  }

  const server = http.createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    /** @param after is awaited when a request is done, before its answer */
    setFate(next: typeof fateOf = () => 'Passes', after: typeof passed = () => {}): void {
      fateOf = next;
      passed = after;
    },
    /** Resolves when what is late has arrived. */
    arrive: () => sendLate(true),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      agent.destroy();
    },
  };
}
