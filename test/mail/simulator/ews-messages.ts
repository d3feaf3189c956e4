/** Answers of EWS: response messages for success and errors, and SOAP faults. */
import { el, escapeXml, leaf, types } from './xml.ts';

/** What is answered as a SOAP fault. */
export class SoapFault extends Error {
  readonly code: string;
  readonly values: Record<string, string>;
  constructor(code: string, message: string, values: Record<string, string> = {}) {
    super(message);
    this.code = code;
    this.values = values;
  }
}
/** What is answered as a response message of class Error. */
export class Refused extends Error {
  readonly code: string;
  readonly values?: Record<string, string>;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export const version = el('h:ServerVersionInfo', {
  MajorVersion: 15,
  MinorVersion: 2,
  MajorBuildNumber: 1748,
  MinorBuildNumber: 10,
  Version: 'V2017_07_11',
  'xmlns:h': types,
});

export function success(operation: string, ...content: string[]): string {
  return el(
    `m:${operation}ResponseMessage`,
    { ResponseClass: 'Success' },
    leaf('m:ResponseCode', 'NoError'),
    ...content,
  );
}
const valuesOf = (values: Record<string, string>) =>
  Object.entries(values).map(([Name, value]) => el('t:Value', { Name }, escapeXml(value)));

export function failure(operation: string, { code, message, values = {} }: Refused | SoapFault): string {
  const content = [leaf('m:MessageText', message), leaf('m:ResponseCode', code), leaf('m:DescriptiveLinkKey', 0)];
  const xml = valuesOf(values);
  if (xml.length > 0) content.push(el('m:MessageXml', {}, ...xml));
  // These must have their part also when it is empty.
  if (/^(GetItem|CreateItem|UpdateItem)$/.test(operation)) content.push(el('m:Items', {}));
  return el(`m:${operation}ResponseMessage`, { ResponseClass: 'Error' }, ...content);
}

export function faultText({ code, message, values }: SoapFault): string {
  const told = valuesOf(values);
  return el(
    's:Fault',
    {},
    el('faultcode', { 'xmlns:a': types }, `a:${code}`),
    el('faultstring', { 'xml:lang': 'en-US' }, escapeXml(message)),
    el(
      'detail',
      {},
      el('e:ResponseCode', { 'xmlns:e': 'http://schemas.microsoft.com/exchange/services/2006/errors' }, code),
      el('e:Message', { 'xmlns:e': 'http://schemas.microsoft.com/exchange/services/2006/errors' }, escapeXml(message)),
      ...(told.length > 0 ? [el('t:MessageXml', { 'xmlns:t': types }, ...told)] : []),
    ),
  );
}
