/** Fetches from URLs that users supply. Private addresses are refused, even if a public name resolves to them. */
import dns, { type LookupAddress } from 'node:dns';
import type { Agent } from 'node:http';
import https from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
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

/** Whether a name means this machine, so that no nameserver may be asked for it (RFC 6761, 6.3). */
export const isLocalName = (host: string): boolean => /(^|\.)localhost\.?$/.test(host);

/** Requests to this address are not allowed; the message is a clause: `… is not an address of the internet`. */
export class NotPublic extends Error {}

/** The milliseconds of the first attempt at a nameserver, and the attempts; each further one lasts twice as long. */
const nameserverPatience = { timeout: 2_000, tries: 2 };

/**
 * Asks nameservers itself: `dns.lookup` resolves only two names at a time in the whole process, so a nameserver that
 * does not answer would delay all others. Ends with the signal.
 * @throws NotPublic if one of the addresses is not; the error of the nameserver if there is no address
 */
async function resolvePublic(hostname: string, signal: AbortSignal | null | undefined): Promise<LookupAddress[]> {
  const resolver = new dns.promises.Resolver(nameserverPatience);
  const cancel = () => resolver.cancel();
  signal?.addEventListener('abort', cancel);
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = (family: 4 | 6, answer: PromiseSettledResult<string[]>) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
    const addresses = [...found(4, four), ...found(6, six)];
    if (addresses.length === 0) {
      const failed = [four, six].find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
      // A CNAME without addresses yields an empty list, not an error.
      throw failed?.reason ?? Object.assign(new Error(`${hostname} has no address`), { code: dns.NODATA });
    }
    if (!addresses.every(({ address }) => isPublic(address)))
      throw new NotPublic(`${hostname} resolves to an address that is not public`);
    return addresses;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

/** Checks the address that the connection itself will use: a name may resolve to another address when it is looked up again. */
const lookupPublic =
  (signal: AbortSignal | null | undefined): LookupFunction =>
  (hostname, { all }, callback) =>
    callbackify(resolvePublic)(hostname, signal, (error, addresses) => {
      if (error) return callback(error, '');
      const [first] = addresses;
      return all ? callback(null, addresses) : callback(null, first!.address, first!.family);
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
  if (isLocalName(host) || (isIP(host) !== 0 && !isPublic(host)))
    throw new NotPublic(`${host} is not a public address`);
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
  const checked = { lookup: lookupPublic(request.signal), ...(kept && { agent: kept }) };
  return await fetchBounded(address, isTrusted ? request : { ...request, ...checked }, most);
}
