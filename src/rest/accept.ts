/** Negotiation by Accept (RFC 9110, 12.5.1). */
import type { Request } from 'express';

/** The media ranges of Accept without their parameters, except the weights. */
const withoutParameters = (accept: string): string =>
  accept
    .replaceAll(/"[^"]*"?/g, '')
    .split(',')
    .map((range) => {
      const [type = '', ...parameters] = range.split(';');
      return [type, ...parameters.filter((parameter) => /^\s*q\s*=/i.test(parameter))].join(';');
    })
    .join(',');

/**
 * The first of the media types that the client prefers; undefined if it takes none. Our types have no parameters that change
 * them, so those that clients name (`charset`, `version`, `odata.metadata`) neither exclude nor prefer anything.
 */
export function acceptedType(request: Request, types: string[]): string | undefined {
  const { accept } = request.headers;
  if (accept === undefined) return types[0];
  const plain = Object.create(request, { headers: { value: { accept: withoutParameters(accept) } } }) as Request;
  return plain.accepts(types) || undefined;
}
