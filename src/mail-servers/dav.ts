/** The part of WebDAV (RFC 4918) that calendars need: requests in XML, answered by a list of resources. */

import { ServerFault } from './connector.ts';
import { faultOf } from './faults.ts';
import type { AskServer, ServerAnswer } from './http.ts';
import { childOf, childrenOf, escapeXml, readXml, textOf, type XmlElement, XmlFault } from './xml.ts';

export const davNamespace = 'DAV:';
export const calDavNamespace = 'urn:ietf:params:xml:ns:caldav';

/** A resource in an answer. */
export type DavResource = {
  /** As the server writes it. */
  path: string;
  /** The status of the resource; null if each property has its own. */
  status: number | null;
  /** The properties with status 200. */
  properties: readonly XmlElement[];
};

export type DavResources = { resources: DavResource[]; syncToken: string | null };

export type DavQuestion = {
  method: 'PROPFIND' | 'REPORT';
  address: string;
  depth: 0 | 1;
  body: string;
  what?: string;
  deadlineMs?: number;
};

/** An element of the namespaces D (`DAV:`) and C (CalDAV). `inner` is XML. */
export function rootElement(name: string, inner: string): string {
  return `<?xml version="1.0" encoding="utf-8"?><${name} xmlns:D="${davNamespace}" xmlns:C="${calDavNamespace}">${inner}</${name}>`;
}

/** A `D:href` for each path. */
export function hrefs(paths: readonly string[]): string {
  return paths.map((path) => `<D:href>${escapeXml(path)}</D:href>`).join('');
}

/**
 * Statuses that writers of objects handle themselves. A 403 or 409 may mean that the UID is taken, or that the account may not
 * write.
 */
export const writeStatuses = [207, 400, 403, 404, 409, 410, 412, 413, 415, 422];

const mostElements = 400_000;
function readAnswer({ bytes, address }: ServerAnswer): XmlElement {
  try {
    return readXml(bytes, mostElements);
  } catch (error) {
    if (!(error instanceof XmlFault)) throw error;
    throw new ServerFault(
      'Unreadable',
      `${new URL(address).origin} sends an answer that cannot be understood: ${error.message}`,
    );
  }
}

/** Reads a status line such as `HTTP/1.1 404 Not Found`. */
function readStatus(text: string | undefined): number | null {
  const status = /^HTTP\/\d(?:\.\d)? (\d{3})\b/.exec(text ?? '')?.[1];
  return status === undefined ? null : Number(status);
}

/** @throws ServerFault for another origin than the server's own */
function pathOf(href: string, address: string): string {
  const url = URL.parse(href, address);
  const { origin } = new URL(address);
  if (url?.origin !== origin)
    throw new ServerFault('Unreadable', `${origin} refers to a resource of another server, which is not followed.`);
  return url.pathname;
}

function readResource(response: XmlElement, address: string): DavResource {
  const found = childrenOf(response, davNamespace, 'propstat').filter(
    (propstat) => readStatus(textOf(propstat, davNamespace, 'status')) === 200,
  );
  return {
    path: pathOf(textOf(response, davNamespace, 'href') ?? '', address),
    status: readStatus(textOf(response, davNamespace, 'status')),
    properties: found.flatMap((propstat) => [...(childOf(propstat, davNamespace, 'prop')?.children ?? [])]),
  };
}
export async function askResources(ask: AskServer, question: DavQuestion, signal: AbortSignal): Promise<DavResources> {
  const answer = await sendQuestion(ask, question, signal);
  return readResources(answer);
}

/** @param reads statuses whose answers the caller handles itself */
export async function sendQuestion(
  ask: AskServer,
  { depth, ...question }: DavQuestion,
  signal: AbortSignal,
  reads: readonly number[] = [],
): Promise<ServerAnswer> {
  const headers = { 'content-type': 'application/xml; charset=utf-8', depth: `${depth}` };
  return ask({ ...question, headers, reads }, signal);
}
export function readResources(answer: ServerAnswer): DavResources {
  const { status, address, request } = answer;
  const { origin } = new URL(address);
  if (status !== 207) {
    if (status >= 300) throw faultOf(answer, origin);
    throw new ServerFault(
      'Unreadable',
      `${origin} answers ${status} to ${request}, which no calendar server does; is the Url of the settings right?`,
    );
  }
  const root = readAnswer(answer);
  if (root.name !== 'multistatus' || root.namespace !== davNamespace)
    throw new ServerFault('Unreadable', `${origin} sends an answer that cannot be understood.`);
  return {
    resources: childrenOf(root, davNamespace, 'response').map((response) => readResource(response, address)),
    syncToken: textOf(root, davNamespace, 'sync-token') ?? null,
  };
}

/** The preconditions (RFC 4918, 16) that a refusal names. */
export function failedPreconditions({ bytes }: ServerAnswer): string[] {
  try {
    const root = readXml(bytes, mostElements);
    return root.name === 'error' ? root.children.map(({ name }) => name) : [];
  } catch {
    return [];
  }
}

/** A property of a resource; undefined without it. */
export function propertyOf(resource: DavResource, namespace: string, name: string): XmlElement | undefined {
  return resource.properties.find((property) => property.name === name && property.namespace === namespace);
}

/** The path that a property holds as a `D:href`; undefined without one. */
export function hrefOf(resource: DavResource, namespace: string, name: string, address: string): string | undefined {
  const href = textOf(propertyOf(resource, namespace, name), davNamespace, 'href');
  return href === undefined ? undefined : pathOf(href, address);
}

/** The canonical form of a path: servers escape the same name in different ways. */
export function canonicalPath(path: string): string {
  return path
    .split('/')
    .map((segment) => {
      try {
        return encodeURIComponent(decodeURIComponent(segment));
      } catch {
        return segment;
      }
    })
    .join('/');
}
