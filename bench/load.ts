/** A load generator in a process of its own: for each message one run of keep-alive connections, each asking again once it has its answer. */
import net from 'node:net';

export type Run = { port: number; requests: string[]; connections: number; milliseconds: number };
export type Outcome = { answers: number; seconds: number; failure?: string };

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

/** Ends when the time is over and all has been answered: nothing is left for the server to do in the time of another. */
function run({ port, requests, connections, milliseconds }: Run): Promise<Outcome> {
  return new Promise((resolve) => {
    const started = performance.now();
    const sockets: net.Socket[] = [];
    let answers = 0;
    let next = 0;
    let open = connections;
    function end(failure?: string): void {
      const seconds = (performance.now() - started) / 1_000;
      for (const socket of sockets)
        socket
          .removeAllListeners()
          .on('error', () => {})
          .destroy();
      resolve({ answers, seconds, ...(failure !== undefined && { failure }) });
    }
    for (let number = 0; number < connections; number++) {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1');
      let isLast = readAnswer();
      let isFirst = true;
      function ask(): void {
        isLast = readAnswer();
        isFirst = true;
        socket.write(requests[next++ % requests.length] as string);
      }
      socket.on('connect', ask);
      socket.on('data', (part: string) => {
        // Faults are told by their text: an answer that is no 200, or a GraphQL answer with errors.
        if ((isFirst && !part.startsWith('HTTP/1.1 200')) || part.includes('"errors":')) return end(part);
        isFirst = false;
        if (!isLast(part)) return;
        answers++;
        if (performance.now() - started < milliseconds) ask();
        else if (--open === 0) end();
      });
      socket.on('error', (error) => end(error.message));
      socket.on('end', () => end('the server has closed the connection'));
      sockets.push(socket);
    }
  });
}

process.on('message', async (message: Run) => process.send?.(await run(message)));
process.on('disconnect', () => process.exit());
