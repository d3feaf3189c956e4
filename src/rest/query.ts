/** Query strings: parameter names in both spellings; unknown parameters are ignored unless the caller or a setting is strict. */
import type { Request, Response } from 'express';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { codeOfIssue, type FieldError, Malformed, parameterFault } from '../errors.ts';
import { upperFirst } from '../fields.ts';
import { isStorable, notStorable } from '../storable.ts';

/** Reads the query with names in the schema's spelling. The values of a repeated name become a list, which a schema of one value refuses. */
function splitQuery({ url }: Request): Record<string, unknown> {
  const query: Record<string, string | string[]> = Object.create(null);
  const cut = url.indexOf('?');
  if (cut < 0) return query;
  const text = url.slice(cut + 1);
  try {
    decodeURIComponent(text);
  } catch {
    throw new Malformed('The query is not percent-encoded UTF-8.');
  }
  for (const [name, value] of new URLSearchParams(text)) {
    const key = upperFirst(name);
    const before = query[key];
    if (Array.isArray(before)) before.push(value);
    else query[key] = before === undefined ? value : [before, value];
  }
  return query;
}

function faultsOf(issue: z.core.$ZodIssue, query: Record<string, unknown>): FieldError[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      field: key,
      pointer: null,
      code: 'UnknownField',
      message: `${key} is not a query parameter of this route.`,
    }));
  const field = issue.path.join('.');
  const isRepeated = issue.code === 'invalid_type' && Array.isArray(query[field]);
  const text = isRepeated ? 'is sent more than once; send it once' : issue.message;
  const isMissing = issue.code === 'invalid_type' && !Object.hasOwn(query, field);
  return [parameterFault(field, isMissing ? 'MissingField' : codeOfIssue(issue, query[field]), text)];
}

/** Whether the caller asks for an error instead of ignored parameters (RFC 7240, 4.4). */
const prefersStrict = ({ headers: { prefer } }: Request): boolean =>
  prefer !== undefined && /(?:^|,)\s*handling\s*=\s*"?strict"?\s*(?:[;,]|$)/i.test(String(prefer));

/** Bounds of what is logged: clients choose the number and length of names. */
const mostNamed = 20;
const longestNamed = 64;

/**
 * @param strict whether an unknown parameter is a fault
 * @returns the checked values, and the names of the ignored parameters, bounded for the log
 * @throws Malformed with all faults of the query
 */
function checkQuery<T extends z.core.$ZodType>(
  schema: T,
  request: Request,
  strict: boolean,
): { values: z.output<T>; ignored: string[] } {
  const query = splitQuery(request);
  let result = z.safeParse(schema, query);
  const unknown = (strict ? [] : (result.error?.issues ?? [])).flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys : [],
  );
  for (const name of unknown) delete query[name];
  if (unknown.length > 0) result = z.safeParse(schema, query);
  const unusable = Object.keys(query).filter((key) => !isStorable(String(query[key])));
  if (result.success && unusable.length === 0)
    return { values: result.data, ignored: unknown.slice(0, mostNamed).map((name) => name.slice(0, longestNamed)) };
  const faults = [
    ...unusable.map((field) => parameterFault(field, 'InvalidType', notStorable)),
    ...(result.error?.issues ?? []).flatMap((issue) => faultsOf(issue, query)),
  ];
  throw Malformed.of(...faults);
}

/**
 * Reads the query of a request. The answer says whether the caller's wish for strictness was followed; what is ignored is logged.
 * @param route its pattern, for the log
 * @returns the checked values
 * @throws Malformed with all faults of the query
 */
export function readQuery<T extends z.core.$ZodType>(
  { config, log }: Pick<Context, 'config' | 'log'>,
  schema: T,
  request: Request,
  response: Response,
  route: string,
): z.output<T> {
  const isAsked = prefersStrict(request);
  if (isAsked) response.setHeader('Preference-Applied', 'handling=strict');
  const { values, ignored } = checkQuery(schema, request, isAsked || config.StrictQueryParameters);
  if (ignored.length > 0)
    log.info(
      { requestId: response.locals['requestId'], method: request.method, route, parameters: ignored },
      'query parameters that the route does not know are ignored',
    );
  return values;
}
