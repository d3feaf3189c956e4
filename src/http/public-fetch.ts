/** Fetches from addresses that users write: those of the inside are refused, also where a public name leads to them. */
import dns from 'node:dns';
import type { Agent } from 'node:http';
import https from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { type FetchedAnswer, fetchBounded, type Outgoing } from './safe-fetch.ts';

const inner = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  inner.addSubnet(network, bits);
/** Of IPv6 what is in use in the internet, without what is for documents or wraps IPv4. */
const outer = new BlockList();
outer.addSubnet('2000::', 3, 'ipv6');
for (const [network, bits] of [
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
] as const)
  inner.addSubnet(network, bits, 'ipv6');

/** Whether an address of IP is one of the internet. */
export const isPublic = (address: string): boolean =>
  isIP(address) === 4
    ? !inner.check(address)
    : isIP(address) === 6 && outer.check(address, 'ipv6') && !inner.check(address, 'ipv6');

/** The address may not be asked; the message is a clause: `… is not an address of the internet`. */
export class NotPublic extends Error {}

/** Checks what the very connection will use: a name that is looked up twice may lead elsewhere the second time. */
const lookupPublic: LookupFunction = (hostname, options, callback) =>
  dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '');
    if (!addresses.every(({ address }) => isPublic(address)))
      return callback(new NotPublic(`${hostname} leads to an address that is not of the internet`), '');
    const [first] = addresses;
    return options.all ? callback(null, addresses) : callback(null, first!.address, first!.family);
  });

/** Keeps connections of `fetchPublic`, each of which was checked when it was opened, until its `destroy`. */
export const keepPublic = (): Agent => new https.Agent({ keepAlive: true });

/** The origins are asked wherever they are, over http too, and over connections of the whole process. */
type Trusting = { most: number; trusted: readonly string[]; kept?: Agent | undefined };

/**
 * Whether `fetchPublic` refuses the address at sight; a name is looked up when it is asked.
 * @throws NotPublic
 */
export function checkPublic(address: URL, trusted: readonly string[]): void {
  if (trusted.includes(address.origin)) return;
  if (address.protocol !== 'https:') throw new NotPublic(`${address.origin} is no https address`);
  const host = address.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !isPublic(host)) throw new NotPublic(`${host} is not an address of the internet`);
}

/**
 * Sends one request over https; no redirects are followed. Over what is `kept` it may arrive twice.
 * @throws NotPublic, and what `fetchBounded` throws
 */
export async function fetchPublic(
  address: URL,
  { most, trusted, kept, ...request }: Omit<Outgoing, 'lookup' | 'agent'> & Trusting,
): Promise<FetchedAnswer> {
  checkPublic(address, trusted);
  const isTrusted = trusted.includes(address.origin);
  const checked = { lookup: lookupPublic, ...(kept && { agent: kept }) };
  return await fetchBounded(address, isTrusted ? request : { ...request, ...checked }, most);
}
