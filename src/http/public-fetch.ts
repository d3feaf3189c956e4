/** Fetches from URLs that users supply. Private addresses are refused, even if a public name resolves to them. */
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
/** The IPv6 addresses in use on the internet, without those for documentation and those that embed IPv4 addresses. */
const outer = new BlockList();
outer.addSubnet('2000::', 3, 'ipv6');
for (const [network, bits] of [
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
] as const)
  inner.addSubnet(network, bits, 'ipv6');

/** Whether an IP address belongs to the public internet. */
export const isPublic = (address: string): boolean =>
  isIP(address) === 4
    ? !inner.check(address)
    : isIP(address) === 6 && outer.check(address, 'ipv6') && !inner.check(address, 'ipv6');

/** The address may not be asked; the message is a clause: `… is not an address of the internet`. */
export class NotPublic extends Error {}

/** Checks the address that the connection itself will use: a name may resolve to another address when it is looked up again. */
const lookupPublic: LookupFunction = (hostname, options, callback) =>
  dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '');
    if (!addresses.every(({ address }) => isPublic(address)))
      return callback(new NotPublic(`${hostname} resolves to an address that is not public`), '');
    const [first] = addresses;
    return options.all ? callback(null, addresses) : callback(null, first!.address, first!.family);
  });

/** Keeps connections of `fetchPublic` open until its `destroy`. Each was checked when it was opened. */
export const keepPublic = (): Agent => new https.Agent({ keepAlive: true });

/** `trusted`: origins that may be private and use http; they share the connections of the whole process. */
type Trusting = { most: number; trusted: readonly string[]; kept?: Agent | undefined };

/**
 * Checks a URL as far as that is possible without resolving its name, which `fetchPublic` does.
 * @throws NotPublic
 */
export function checkPublic(address: URL, trusted: readonly string[]): void {
  if (trusted.includes(address.origin)) return;
  if (address.protocol !== 'https:') throw new NotPublic(`${address.origin} is not an https address`);
  const host = address.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !isPublic(host)) throw new NotPublic(`${host} is not a public address`);
}

/**
 * Sends one request over https; no redirects are followed. Over a `kept` connection the request may arrive twice.
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
