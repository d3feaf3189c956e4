import { once } from 'node:events';
import fs from 'node:fs';
import net, { type AddressInfo } from 'node:net';

/** The least of the ports that the kernel gives to outgoing connections, and to servers that ask for any. */
const leastOfKernel = readLeastOfKernel();
/** Clients refuse to connect to 10080, which the Fetch standard blocks. */
const least = 10_081;

function readLeastOfKernel(): number {
  try {
    return Number.parseInt(fs.readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    // Not on Linux.
    return 0;
  }
}

/** A port of this machine on which no server listens. The kernel gives it to nobody else until it is used, also after a restart. */
export async function freePort(): Promise<number> {
  // Any, where the kernel gives nearly all, or does not tell.
  const wanted = least < leastOfKernel / 2 ? least + Math.floor(Math.random() * (leastOfKernel - least)) : 0;
  const server = net.createServer().listen(wanted, '127.0.0.1');
  if (!(await once(server, 'listening').catch(() => undefined))) return await freePort();
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
