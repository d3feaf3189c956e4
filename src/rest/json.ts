import type { Request, Response } from 'express';

const lowerFirst = (key: string) => key.charAt(0).toLowerCase() + key.slice(1);

function lowerKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lowerKeys);
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [lowerFirst(key), lowerKeys(member)]),
  );
}

/** Whether the caller asked for camel-case property names (specification 4.1). */
function wantsCamel(request: Request): boolean {
  return request.get('x-jsonpropertyformat')?.trim().toLowerCase() === 'camel';
}

/** Writes a body whose keys are in Pascal case, in the casing that the caller asked for. */
export function writeJson(
  request: Request,
  response: Response,
  body: unknown,
  type = 'application/json',
): void {
  response
    .set('Content-Type', `${type}; charset=utf-8`)
    .vary('Authorization')
    .vary('X-JsonPropertyFormat')
    .end(JSON.stringify(wantsCamel(request) ? lowerKeys(body) : body));
}
