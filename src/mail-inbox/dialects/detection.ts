import { XmlFault } from '../../mail-servers/service.ts';
import { readEws } from './ews.ts';
import { readGraph } from './graph.ts';
import { isStateChange, readStateChange } from './jmap.ts';
import { readJsonObject } from './json.ts';
import { DialectFault, type ReadNotifications } from './notification.ts';

/** The first character that is neither a byte order mark nor white space; '' where there is none. */
function firstOf(body: Buffer): string {
  return body
    .toString('latin1', 0, 4_096)
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart()
    .charAt(0);
}

/**
 * Reads a body by its content, regardless of its Content-Type; 'Object' is a JSON object of no known dialect.
 * @throws DialectFault for everything else; DialectOverflow for more notifications than one request may have
 */
export function readBody(body: Buffer): ReadNotifications | 'Object' {
  const first = firstOf(body);
  if (first === '<') return readXmlBody(body);
  if (first !== '{') throw new DialectFault('The body is neither XML nor a JSON object.');
  const object = readJsonObject(body);
  if (Array.isArray(object['value'])) return readGraph(object['value']);
  return isStateChange(object) ? readStateChange(object) : 'Object';
}

function readXmlBody(body: Buffer): ReadNotifications {
  try {
    return readEws(body);
  } catch (error) {
    if (error instanceof XmlFault) throw new DialectFault(error.message);
    throw error;
  }
}
