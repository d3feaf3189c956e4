/** Reads untrusted XML within bounds into a small tree. Names are compared by namespace and local name, never by prefix. */
import { isUtf8 } from 'node:buffer';
import { SaxesParser } from 'saxes';

/** An element without its prefixes, comments and processing instructions. */
export type XmlElement = {
  /** '' for none. */
  readonly namespace: string;
  readonly name: string;
  /** By local name, or by `{namespace}name`. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** The element's own text with CDATA, not trimmed. */
  readonly text: string;
};

type OpenElement = XmlElement & {
  attributes: ReadonlyMap<string, string>;
  children: XmlElement[];
  text: string;
};

/** The bytes are not XML, or not within bounds; the message is for people and quotes nothing of them. */
export class XmlFault extends Error {}

const deepest = 32;
const mostAttributes = 64;
/** In characters; bounded, as each use of a namespace compares it. */
const longestNamespace = 256;
const byteOrderMark = '\uFEFF';
const noAttributes: ReadonlyMap<string, string> = new Map();
const xmlnsNamespace = 'http://www.w3.org/2000/xmlns/';

const [lessThan, ampersand, bracket, carriageReturn] = Buffer.from('<&]\r');

/** Counts tags, comments, entities, ends of CDATA and lines before the parser runs, as these are what costs it most. */
function checkMarkup(bytes: Buffer, most: number): void {
  let count = 0;
  // A loop with `of` takes five times as long.
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === lessThan || byte === ampersand || byte === bracket || byte === carriageReturn) count += 1;
  }
  if (count > most) throw new XmlFault(`The XML has more than ${most} tags, entities and lines.`);
}

const endsOfProlog: readonly [start: string, end: string][] = [
  ['<?', '?>'],
  ['<!--', '-->'],
];

/** Refuses a DOCTYPE at its beginning: the parser reports it only at its end, which may be far away or missing. */
function checkDoctype(text: string): void {
  const space = /[ \t\r\n]*/y;
  let at = 0;
  for (;;) {
    space.lastIndex = at;
    space.test(text);
    at = space.lastIndex;
    const end = endsOfProlog.find(([start]) => text.startsWith(start, at))?.[1];
    const found = end === undefined ? -1 : text.indexOf(end, at);
    if (end === undefined || found < 0) break;
    at = found + end.length;
  }
  if (text.startsWith('<!', at) && !text.startsWith('<!--', at)) refuseDoctype();
}

function refuseDoctype(): never {
  throw new XmlFault('The XML has a DOCTYPE, which is not allowed.');
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new XmlFault('The XML is not in UTF-8.');
  const text = bytes.toString('utf8');
  return text.startsWith(byteOrderMark) ? text.slice(1) : text;
}

/**
 * Reads the root element. Refuses a DOCTYPE, entities except the five of XML, more than 32 levels, control characters, encodings
 * other than UTF-8, and XML that is not well-formed.
 * @param most elements and attributes together; three times as many tags, comments, entities and lines
 * @throws XmlFault
 */
export function readXml(bytes: Buffer, most: number): XmlElement {
  // The version of XML is fixed: 1.1 would let control characters in.
  const parser = new SaxesParser({
    xmlns: true,
    position: false,
    forceXMLVersion: true,
    defaultXMLVersion: '1.0',
  });
  const open: OpenElement[] = [];
  let root: XmlElement | undefined;
  let count = 0;
  let attributeCount = 0;

  function countOne(): void {
    count += 1;
    if (count > most) throw new XmlFault(`The XML has more than ${most} elements and attributes.`);
  }
  function addText(text: string): void {
    const element = open.at(-1);
    if (element) element.text += text;
  }

  // With a seventh handler, V8 turns the parser object into a dictionary, which is four times as slow. So there is no handler for
  // errors, which the parser then throws, nor for the declaration.
  parser.on('doctype', refuseDoctype);
  parser.on('attribute', ({ name, prefix, value }) => {
    countOne();
    attributeCount += 1;
    if (attributeCount > mostAttributes)
      throw new XmlFault(`The XML has an element with more than ${mostAttributes} attributes.`);
    if ((prefix === 'xmlns' || name === 'xmlns') && value.length > longestNamespace)
      throw new XmlFault(`The XML has a namespace of more than ${longestNamespace} characters.`);
  });
  parser.on('opentag', ({ uri, local, attributes }) => {
    countOne();
    if (open.length === deepest) throw new XmlFault(`The XML is deeper than ${deepest} levels.`);
    const element: OpenElement = {
      namespace: uri,
      name: local,
      attributes: attributeCount === 0 ? noAttributes : readAttributes(attributes),
      children: [],
      text: '',
    };
    attributeCount = 0;
    open.at(-1)?.children.push(element);
    root ??= element;
    open.push(element);
  });
  parser.on('closetag', () => {
    open.pop();
  });
  parser.on('text', addText);
  parser.on('cdata', addText);

  checkMarkup(bytes, 3 * most);
  const text = decode(bytes);
  checkDoctype(text);
  try {
    parser.write(text);
    checkEncoding(parser.xmlDecl);
    parser.close();
  } catch (error) {
    throw error instanceof XmlFault ? error : new XmlFault('The XML is not well-formed.');
  }
  if (!root) throw new XmlFault('The XML has no element.');
  return root;
}

function checkEncoding({ encoding = 'utf-8' }: { encoding?: string }): void {
  if (encoding.toLowerCase() !== 'utf-8') throw new XmlFault('The XML declares another encoding than UTF-8.');
}

type Attribute = { prefix: string; local: string; uri: string; value: string };

function readAttributes(attributes: Readonly<Record<string, Attribute>>): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  for (const name in attributes) {
    const { uri, local, value } = attributes[name] as Attribute;
    if (uri !== xmlnsNamespace) read.set(uri === '' ? local : `{${uri}}${local}`, value);
  }
  return read.size === 0 ? noAttributes : read;
}

/** The first child of this name; undefined without one, or without an element. */
export function childOf(element: XmlElement | undefined, namespace: string, name: string): XmlElement | undefined {
  return element?.children.find((child) => child.name === name && child.namespace === namespace);
}

export function childrenOf(element: XmlElement | undefined, namespace: string, name: string): XmlElement[] {
  return element?.children.filter((child) => child.name === name && child.namespace === namespace) ?? [];
}

/** The trimmed text of the first child of this name; undefined without one. */
export function textOf(element: XmlElement | undefined, namespace: string, name: string): string | undefined {
  return childOf(element, namespace, name)?.text.trim();
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\r': '&#13;',
};

/** Replaces the characters that XML forbids. */
export const withoutForbidden = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced.
  text.replace(/[\0-\x08\v\f\x0e-\x1f\ufffe\uffff]/g, '\ufffd');

/** Escapes a text for an element or an attribute; characters that XML forbids become U+FFFD. */
export const escapeXml = (text: string): string =>
  withoutForbidden(text.toWellFormed()).replace(/[&<>"'\r]/g, (character) => escapes[character] as string);
