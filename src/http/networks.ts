/** Callers without a credential, who are told apart by where they call from. */
import net from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';

/** What some proxies write beside an address: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
const withPort = /^(?:([\d.]+):\d+|\[([^\]]*)\](?::\d+)?)$/;

/** The address alone, without a port or a zone; one of IPv4 on a dual-stack socket is written as IPv4. */
export function normalizeAddress(ip = ''): string {
  const [address = ''] = ip
    .replace(withPort, '$1$2')
    .replace(/^::ffff:(?=\d+\.)/i, '')
    .split('%', 1);
  return net.isIP(address) ? address : '0.0.0.0';
}

/** What limits count by: an IPv4 address, or a network of IPv6, since one host may have all of its addresses. */
export const networkOf = (ip: string | undefined, bits = 64): string => ipKeyGenerator(normalizeAddress(ip), bits);
