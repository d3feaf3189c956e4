/** A nameserver that public addresses are looked up at, until it is closed. */
import dgram from 'node:dgram';
import dns from 'node:dns';
import { once } from 'node:events';

export type Nameserver = {
  /** The names that were asked for, one for each request. */
  asked: string[];
  close(): Promise<void>;
};

/** @param known addresses of IPv4 by name; an empty list: the name has none. Requests for other names get no answer. */
export async function startNameserver(known: Readonly<Record<string, readonly string[]>>): Promise<Nameserver> {
  const asked: string[] = [];
  const socket = dgram.createSocket('udp4');
  socket.on('message', (request, { port, address }) => {
    const { name, type, question } = readQuestion(request);
    asked.push(name);
    const addresses = known[name];
    if (!addresses) return;
    const answers = type === 'A' ? addresses.map(answerOf) : [];
    const head = Buffer.from(request.subarray(0, 12));
    // A response, with recursion; one question.
    head.writeUInt16BE(0x8180, 2);
    for (const [place, count] of [1, answers.length, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * place);
    socket.send(Buffer.concat([head, question, ...answers]), port, address);
  });
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  const { promises } = dns;
  const { Resolver } = promises;
  promises.Resolver = class extends Resolver {
    constructor(options?: dns.ResolverOptions) {
      super(options);
      this.setServers([`127.0.0.1:${socket.address().port}`]);
    }
  };
  return {
    asked,
    async close() {
      promises.Resolver = Resolver;
      socket.close();
      await once(socket, 'close');
    },
  };
}

function readQuestion(request: Buffer): { name: string; type: 'A' | 'other'; question: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = request.readUInt8(at); length > 0; length = request.readUInt8(at)) {
    labels.push(request.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = request.readUInt16BE(at + 1) === 1 ? 'A' : 'other';
  return { name: labels.join('.').toLowerCase(), type, question: request.subarray(12, at + 5) };
}

/** The name of the question, A, IN, for a minute. */
const answerOf = (address: string) =>
  Buffer.from([...[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4], ...address.split('.').map(Number)]);
