/** Reads XML by namespace and local name, and writes it. */
import { XMLParser, XMLValidator } from 'fast-xml-parser';

const soap = 'http://schemas.xmlsoap.org/soap/envelope/';
export const messages = 'http://schemas.microsoft.com/exchange/services/2006/messages';
export const types = 'http://schemas.microsoft.com/exchange/services/2006/types';

const shortNames: Record<string, string> = { [soap]: 's', [messages]: 'm', [types]: 't' };

export type Element = {
  /** `t:ItemId` for the namespaces of Exchange, however they are called in the text; `{…}name` for others. */
  name: string;
  attributes: Record<string, string>;
  children: Element[];
  text: string;
};

type Node = { [name: string]: Node[] | Record<string, string> | string };

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  ignoreDeclaration: true,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
});

function read(node: Node, scope: Record<string, string>): Element | undefined {
  const raw = Object.keys(node).find((key) => key !== ':@' && key !== '#text');
  if (raw === undefined) return undefined;
  const given = (node[':@'] ?? {}) as Record<string, string>;
  const spaces = { ...scope };
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (name === 'xmlns') spaces[''] = value;
    else if (name.startsWith('xmlns:')) spaces[name.slice(6)] = value;
    else attributes[name] = value;
  }
  const [prefix, local] = raw.includes(':') ? (raw.split(':') as [string, string]) : ['', raw];
  const space = spaces[prefix];
  if (space === undefined && prefix) throw new Error(`the prefix ${prefix} is not bound`);
  const nodes = node[raw] as Node[];
  return {
    name: shortNames[space ?? ''] ? `${shortNames[space ?? '']}:${local}` : `{${space ?? ''}}${local}`,
    attributes,
    children: nodes.map((child) => read(child, spaces)).filter((child) => child !== undefined),
    text: nodes.map((child) => (typeof child['#text'] === 'string' ? child['#text'] : '')).join(''),
  };
}

/** @throws Error when it is not well-formed, or has a document type */
export function parseXml(text: string): Element {
  const valid = XMLValidator.validate(text);
  if (valid !== true) throw new Error(valid.err.msg);
  if (text.includes('<!DOCTYPE')) throw new Error('a document type is not allowed');
  const roots = (parser.parse(text) as Node[]).map((node) => read(node, {})).filter((root) => root !== undefined);
  if (roots.length !== 1) throw new Error('there is not one root');
  return roots[0]!;
}

/** Follows a path of names; undefined where there is none. */
export function child(element: Element | undefined, ...path: string[]): Element | undefined {
  return path.reduce<Element | undefined>((found, name) => found?.children.find((one) => one.name === name), element);
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const escapeXml = (text: string) =>
  // Exchange too leaves out what XML cannot hold.
  [...text]
    .filter((letter) => letter >= ' ' || /[\t\n\r]/.test(letter))
    .join('')
    .replaceAll(/[&<>"]/g, (letter) => escapes[letter]!);

type Content = string | number | boolean;
/** Content that is XML already comes from `el`; text goes through `escapeXml`. */
export function el(name: string, attributes: Record<string, Content>, ...content: string[]): string {
  const own = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`)
    .join('');
  return content.length === 0 ? `<${name}${own}/>` : `<${name}${own}>${content.join('')}</${name}>`;
}

/** An element with text. */
export const leaf = (name: string, text: Content) => el(name, {}, escapeXml(String(text)));

export function envelope(prefix: string, header: string, body: string): string {
  return `<?xml version="1.0" encoding="utf-8"?>${el(
    `${prefix}:Envelope`,
    { [`xmlns:${prefix}`]: soap },
    el(`${prefix}:Header`, {}, header),
    el(`${prefix}:Body`, {}, body),
  )}`;
}

export const bothSpaces = { 'xmlns:m': messages, 'xmlns:t': types };
