/** The common parts of OpenAPI descriptions of paths outside of the tenants, which no `Route` describes. */
import type { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject, ZodOpenApiResponseObject } from 'zod-openapi';
import { type HeaderName, headerRefs, parameterRefs, problemAnswer, unchanged } from './openapi-parts.ts';

export function plainAnswer(
  description: string,
  schema: z.core.$ZodType,
  example: unknown,
  ...more: HeaderName[]
): ZodOpenApiResponseObject {
  return {
    description,
    headers: headerRefs('X-Request-Id', ...more),
    content: { 'application/json': { schema, example } },
  };
}

/** @param more the headers of the 200 */
export const unchangedAnswer = (...more: HeaderName[]): ZodOpenApiResponseObject => ({
  description: unchanged,
  headers: headerRefs('X-Request-Id', ...more),
});

export const fault = problemAnswer(500, 'Something went wrong on the server; quote the `TraceId`.', ['X-Request-Id']);

export function plainGet(operation: Omit<ZodOpenApiOperationObject, 'parameters'>): ZodOpenApiOperationObject {
  return { ...operation, parameters: parameterRefs('X-Request-Id'), security: [] };
}

/** Paths outside of the tenants. @param rootServer `servers` for paths whose root is not that of the tenants' routes */
export type PathsAtRoot = (rootServer: object) => ZodOpenApiPathsObject;
