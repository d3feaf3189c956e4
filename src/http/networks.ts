/** Callers without a credential, who are distinguished by their addresses. */
import net from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';

/** An address with a port, as some proxies write it: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
const withPort = /^(?:([\d.]+):\d+|\[([^\]]*)\](?::\d+)?)$/;

/** The address without a port or a zone; IPv4 addresses of a dual-stack socket are written as IPv4. */
export function normalizeAddress(ip = ''): string {
  const [address = ''] = ip
    .replace(withPort, '$1$2')
    .replace(/^::ffff:(?=\d+\.)/i, '')
    .split('%', 1);
  return net.isIP(address) ? address : '0.0.0.0';
}

/** The key of limits: an IPv4 address, or a network of IPv6, because one host may have all of its addresses. */
export const networkOf = (ip: string | undefined, bits = 64): string => ipKeyGenerator(normalizeAddress(ip), bits);
