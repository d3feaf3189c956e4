/** What the OpenAPI descriptions outside of the tenants share: there is no `Route`, and no problems but RFC 6749's. */
import type { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject, ZodOpenApiResponseObject } from 'zod-openapi';
import { type HeaderName, headerRefs, parameterRefs, problemAnswer } from './openapi-parts.ts';

export function plainAnswer(
  description: string,
  schema: z.ZodType,
  example: unknown,
  ...more: HeaderName[]
): ZodOpenApiResponseObject {
  return {
    description,
    headers: headerRefs('X-Request-Id', ...more),
    content: { 'application/json': { schema, example } },
  };
}

export const fault = problemAnswer(500, 'Something went wrong on the side of the server; quote the `TraceId`.', [
  'X-Request-Id',
]);

export function plainGet(operation: Omit<ZodOpenApiOperationObject, 'parameters'>): ZodOpenApiOperationObject {
  return { ...operation, parameters: parameterRefs('X-Request-Id'), security: [] };
}

/**
 * The paths of what stands outside of the tenants.
 * @param rootServer `servers` of those that stand at another root than the other routes
 */
export type PathsAtRoot = (rootServer: object) => ZodOpenApiPathsObject;
