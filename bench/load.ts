/** A load generator in a process of its own: for each message one run of keep-alive connections, each asking again once it has its answer. */
import net from 'node:net';

export type Run = { port: number; requests: string[]; connections: number; milliseconds: number };
export type Outcome = { answers: number; seconds: number; failure?: string };

/** Where the answer ends that `text` begins with; 0 while there is more to come. */
function endOfAnswer(text: string): number {
  const body = text.indexOf('\r\n\r\n') + 4;
  if (body < 4) return 0;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, body)) ?? [];
  if (length !== undefined) return text.length >= body + Number(length) ? body + Number(length) : 0;
  return text.endsWith('\r\n0\r\n\r\n') ? text.length : 0;
}

/** Faults are told by their text: an answer that is no 200, or a GraphQL answer with errors. */
function faultOf(text: string): string | undefined {
  return text.startsWith('HTTP/1.1 200') && !text.includes('"errors":') ? undefined : text;
}

function run({ port, requests, connections, milliseconds }: Run): Promise<Outcome> {
  return new Promise((resolve) => {
    const started = performance.now();
    const sockets: net.Socket[] = [];
    let answers = 0;
    let next = 0;
    function end(failure?: string): void {
      const seconds = (performance.now() - started) / 1_000;
      for (const socket of sockets)
        socket
          .removeAllListeners()
          .on('error', () => {})
          .destroy();
      resolve({ answers, seconds, ...(failure !== undefined && { failure }) });
    }
    const timer = setTimeout(end, milliseconds);
    function fail(failure: string): void {
      clearTimeout(timer);
      end(failure);
    }
    for (let number = 0; number < connections; number++) {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1');
      const ask = () => socket.write(requests[next++ % requests.length] as string);
      let text = '';
      socket.on('connect', ask);
      socket.on('data', (part) => {
        text += part;
        if (endOfAnswer(text) === 0) return;
        const fault = faultOf(text);
        if (fault !== undefined) fail(fault);
        else {
          text = '';
          answers++;
          ask();
        }
      });
      socket.on('error', (error) => fail(error.message));
      socket.on('end', () => fail('the server has closed the connection'));
      sockets.push(socket);
    }
  });
}

process.on('message', async (message: Run) => process.send?.(await run(message)));
process.on('disconnect', () => process.exit());
