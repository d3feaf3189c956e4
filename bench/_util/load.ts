/** A load generator in a process of its own: each message starts a run of keep-alive connections, which send the next request after each answer. */
import net from 'node:net';

export type Run = {
  port: number;
  requests: string[];
  connections: number;
  milliseconds: number;
  /** A text in the requests, for which each gets a number of the same length that no other has. */
  numbered?: string;
  /** So many requests a second, whether or not those before are answered; as fast as they are where it is absent. */
  perSecond?: number;
};
export type Outcome = {
  answers: number;
  seconds: number;
  failure?: string;
  /** With `perSecond`: milliseconds from when each should have been sent to its answer, in order. */
  waits?: number[];
};

/** Counts over all runs, so that nothing is sent twice. */
let numbers = 0;

/** Reads one answer from its parts; true with the last one. */
function readAnswer(): (part: string) => boolean {
  let head = '';
  /** Characters of the body that are to come; undefined where the answer does not say. */
  let missing: number | undefined;
  return (part) => {
    let body = part;
    if (!head.includes('\r\n\r\n')) {
      head += part;
      const end = head.indexOf('\r\n\r\n') + 4;
      if (end < 4) return false;
      const [, length] = /\r\ncontent-length: (\d+)/i.exec(head.slice(0, end)) ?? [];
      missing = length === undefined ? undefined : Number(length);
      body = head.slice(end);
    }
    if (missing === undefined) return body.endsWith('0\r\n\r\n');
    missing -= body.length;
    return missing <= 0;
  };
}

/** Ends when the time is over and everything is answered, so that no work remains for the next measurement. */
function run({ port, requests, connections, milliseconds, numbered, perSecond }: Run): Promise<Outcome> {
  return new Promise((resolve) => {
    const started = performance.now();
    const sockets: net.Socket[] = [];
    let answers = 0;
    let next = 0;
    let open = connections;
    const waits: number[] = [];
    const idle: (() => void)[] = [];
    /** When the requests that are due and not sent yet should have been. */
    const due: number[] = [];
    let planned = 0;

    function nextRequest(): string {
      const request = requests[next++ % requests.length] as string;
      if (numbered === undefined) return request;
      return request.replaceAll(numbered, String(++numbers).padStart(numbered.length, '0'));
    }
    /** Sends what has become due, over whichever connections are free. */
    function keepPace(): void {
      const now = performance.now() - started;
      for (; planned < ((perSecond ?? 0) * Math.min(now, milliseconds)) / 1_000; planned++)
        due.push(started + (planned * 1_000) / (perSecond ?? 1));
      while (due.length > 0 && idle.length > 0) idle.shift()?.();
      if (now >= milliseconds && due.length === 0 && idle.length === connections) end();
    }
    const pacing = perSecond === undefined ? undefined : setInterval(keepPace, 2);
    function end(failure?: string): void {
      clearInterval(pacing);
      const seconds = (performance.now() - started) / 1_000;
      for (const socket of sockets)
        socket
          .removeAllListeners()
          .on('error', () => {})
          .destroy();
      waits.sort((a, b) => a - b);
      resolve({ answers, seconds, waits, ...(failure !== undefined && { failure }) });
    }
    for (let number = 0; number < connections; number++) {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1');
      let isLast = readAnswer();
      let isFirst = true;
      let since = 0;
      const fail = () => end('the server has closed the connection');
      function ask(): void {
        since = due.shift() ?? 0;
        isLast = readAnswer();
        isFirst = true;
        socket.write(nextRequest());
      }
      socket.on('connect', () => (perSecond === undefined ? ask() : idle.push(ask)));
      socket.on('data', (part: string) => {
        // Errors are recognized by their text: an answer other than 200, or a GraphQL answer with errors.
        if ((isFirst && !part.startsWith('HTTP/1.1 200')) || part.includes('"errors":')) return end(part);
        isFirst = false;
        if (!isLast(part)) return;
        answers++;
        if (perSecond !== undefined) {
          waits.push(performance.now() - since);
          idle.push(ask);
        } else if (performance.now() - started < milliseconds) ask();
        else {
          // While the others wait for their answers, a server may close a connection that is idle.
          socket.off('end', fail);
          if (--open === 0) end();
        }
      });
      socket.on('error', (error) => end(error.message));
      socket.on('end', fail);
      sockets.push(socket);
    }
  });
}

process.on('message', async (message: Run) => process.send?.(await run(message)));
process.on('disconnect', () => process.exit());
