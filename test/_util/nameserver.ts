/** A nameserver that public addresses are looked up at, until it is closed. */
import dgram from 'node:dgram';
import dns from 'node:dns';
import { once } from 'node:events';
import { isIP } from 'node:net';

export type Nameserver = {
  /** The names that were asked for, one for each question; a repeated request is the same question. */
  asked: string[];
  close(): Promise<void>;
};

/**
 * Addresses of IPv4, or names that the name is an alias of; an empty list: the name has none; `fails`: the nameserver does not
 * know now.
 */
type Known = readonly string[] | 'fails';

/** @param known by name, or by `A name` for the addresses of IPv4 alone. Requests for other names get no answer. */
export async function startNameserver(known: Readonly<Record<string, Known>>): Promise<Nameserver> {
  const asked: string[] = [];
  const requests = new Set<string>();
  const socket = dgram.createSocket('udp4');
  socket.on('message', (request, { port, address }) => {
    const { name, type, question } = readQuestion(request);
    const key = `${port} ${request.readUInt16BE(0)}`;
    if (!requests.has(key)) asked.push(name);
    requests.add(key);
    const data = known[`${type} ${name}`] ?? known[name];
    if (!data) return;
    const answers = data === 'fails' ? [] : data.flatMap((one) => (!isIP(one) || type === 'A' ? [answerOf(one)] : []));
    const head = Buffer.from(request.subarray(0, 12));
    // A response, with recursion; one question.
    head.writeUInt16BE(data === 'fails' ? 0x8182 : 0x8180, 2);
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

/** For the name of the question, an address (A) or an alias (CNAME), IN, for a minute. */
function answerOf(data: string): Buffer {
  const labels = data.split('.');
  const content = isIP(data)
    ? Buffer.from(labels.map(Number))
    : Buffer.concat([...labels, ''].map((label) => Buffer.from([label.length, ...Buffer.from(label)])));
  return Buffer.from([0xc0, 12, 0, isIP(data) ? 1 : 5, 0, 1, 0, 0, 0, 60, 0, content.length, ...content]);
}
