/** Makes the OpenAPI 3.1 document from the routes and the schemas that check their input. */
import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import { upperFirst } from '../fields.ts';
import {
  commonHeaders,
  headerRefs,
  headers,
  parameterRefs,
  parameters,
  problemAnswers,
  problemComponents,
  unchanged,
} from './openapi-parts.ts';
import { problemSchema } from './openapi-problem.ts';
import type { PathsAtRoot } from './openapi-root.ts';
import { type DescribedAnswer, isChange, type Route } from './route.ts';
import { membersReadOnly } from './sent-back.ts';

const introduction = `Rooms and lessons of schools and universities: lesson jobs are sent and imported in the background.

**Signing in.** A person's PIN is exchanged for a token at \`/connect/token\`; the token goes into the header
\`Authorization: Bearer …\` of every call. Where the server allows it, the PIN itself may be sent in the header \`APIKEY\`.

**Names.** Properties are in Pascal case. With \`X-JsonPropertyFormat: camel\` the first letter of every property name of an
answer is lower case (\`BatchId\` becomes \`batchId\`, \`JobID\` becomes \`jobID\`), and nothing else changes. Bodies and query
parameters are read in both spellings, whatever the header says. Query parameters that an operation does not know are ignored,
unless \`Prefer: handling=strict\` or the server asks for their refusal.

**Times** are RFC 3339 in UTC.

**Lists** are pages: \`{"Items": […], "NextCursor": …}\`. \`NextCursor\`, sent as \`Cursor\`, gives the next page; null ends the
list.

**Errors** are problems (RFC 9457) with a \`Code\` for programs and a \`TraceId\` for questions. A method that an address does
not take gets 405 with \`Allow\`.

**Changes.** Members may be added at any time; inside a version none is renamed or removed.`;

const securitySchemes = {
  Bearer: {
    type: 'http' as const,
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'The access token for a PIN, from `POST /connect/token` with `grant_type=apikey`; it is valid for an hour. A JWT of type `at+jwt`, signed with RS256 and checked by the rules of RFC8725: fixed algorithm, issuer, audience and type. A paired display sends its own token instead.',
  },
  APIKEY: {
    type: 'apiKey' as const,
    in: 'header' as const,
    name: 'APIKEY',
    description:
      'Deprecated: the PIN itself on every call, for programs from before the identity provider. Accepted only if the server has it enabled.',
  },
  Session: {
    type: 'apiKey' as const,
    in: 'cookie' as const,
    name: 'roomgate_session',
    description:
      "The session of a person who has signed in at the console; `__Secure-roomgate_session` on a server with https. It is also accepted by the other operations, in calls of the console's own page.",
  },
};

const tags = [
  { name: 'API 1.0', description: 'Bookings, opening hours, rooms.' },
  { name: 'API 2.0', description: 'Lesson jobs, which are processed in the background.' },
  { name: 'Identity', description: 'Tokens, and the metadata to check them.' },
  { name: 'Console', description: 'Signing in to the console in a browser.' },
  { name: 'Mail servers', description: 'Notifications of mail servers that a calendar has changed.' },
  { name: 'Webhooks', description: 'Messages that are sent to receivers of events.' },
  { name: 'Health', description: 'The state of the server.' },
  { name: 'Entry', description: 'The addresses of the service.' },
];

/** GET `/v2.0/jobs/batches/:batchId/errors` has the id `getJobsBatchesByBatchIdErrors`. */
function operationIdOf({ method, path }: Route): string {
  const words = path
    .replace(/^\/v[\d.]+/, '')
    .split(/[/.-]/)
    .filter(Boolean);
  const name = words.map((word) => (word.startsWith(':') ? `By${upperFirst(word.slice(1))}` : upperFirst(word)));
  return method.toLowerCase() + name.join('');
}

function describeAnswer(answer: DescribedAnswer, tagged: boolean, type: string): ZodOpenApiResponseObject {
  const { description, body, example } = answer;
  const own = new Set([...(tagged ? (['ETag'] as const) : []), ...(answer.headers ?? [])]);
  return {
    description,
    headers: headerRefs(...commonHeaders, ...own),
    ...(body ? { content: { [type]: { schema: body, ...(example === undefined ? {} : { example }) } } } : {}),
  };
}

/** Members of the record that a change may send back. */
function sendable(body: z.core.$ZodType, reading: Route | undefined): z.core.$ZodType {
  const names = membersReadOnly(body, reading?.answers[200]?.body);
  if (names.length === 0) return body;
  const member = z.unknown().optional().meta({
    description: 'A member of the record: accepted with the value that was read, and refused if it differs.',
    readOnly: true,
  });
  const schema = body as z.ZodObject;
  const { id, description } = schema.meta() ?? {};
  const members = { ...schema.shape, ...Object.fromEntries(names.map((name) => [name, member])) };
  return z.strictObject(members).meta({ ...(id && { id }), ...(description && { description }) });
}

/** @param reading the GET of the same path */
function describeRoute(route: Route, reading: Route | undefined): ZodOpenApiOperationObject {
  const { method, path, summary, description, params, query, body, answers, type = 'application/json' } = route;
  const own = route.headers ?? [];
  // `writeTagged` gives every GET an ETag.
  const tagged = method === 'GET';
  const shown = {
    ...answers,
    ...(tagged ? { 304: { description: unchanged, headers: answers[200]?.headers ?? [] } } : {}),
  };
  return {
    operationId: operationIdOf(route),
    summary,
    description: description ?? `${summary}.`,
    tags: [`API ${/^\/v([\d.]+)\//.exec(path)?.[1]}`],
    security: route.anonymous ? [] : [{ Bearer: [] }, { APIKEY: [] }],
    requestParams: {
      ...(params ? { path: params as z.ZodObject } : {}),
      ...(query ? { query: query as z.ZodObject } : {}),
    },
    parameters: parameterRefs(
      'mandator',
      'X-JsonPropertyFormat',
      'X-Request-Id',
      'Prefer',
      ...(tagged ? (['If-None-Match'] as const) : []),
      ...own,
    ),
    ...(body
      ? {
          requestBody: {
            required: !body.mayBeEmpty,
            content: {
              'application/json': {
                schema: isChange(route) ? sendable(body.schema, reading) : body.schema,
                example: body.example,
              },
            },
          },
        }
      : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(shown).map(([status, answer]) => [status, describeAnswer(answer, tagged, type)]),
      ),
      ...problemAnswers(route.problems ?? {}, {
        body: body !== undefined,
        checked: body !== undefined && !body.streamed,
        idempotencyKey: own.includes('Idempotency-Key'),
        // A cancellation needs no version; the other methods say themselves whether they need one.
        ifMatch: own.includes('If-Match') && (method === 'PATCH' || method === 'PUT'),
        anonymous: route.anonymous === true,
      }),
    },
  };
}

/** Adds to a JSON schema what OpenAPI needs and zod leaves out. */
const completeSchema: ZodOpenApiOverride = ({ jsonSchema, zodSchema, io }) => {
  // Members may be added inside a version, so clients must accept unknown ones.
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (zodSchema._zod.def.type === 'date') jsonSchema.format = 'date-time';
  if (jsonSchema.format === 'date') jsonSchema.maxLength ??= 10;
  if (jsonSchema.format === 'date-time') jsonSchema.maxLength ??= 40;
  if (jsonSchema.format === 'uuid') jsonSchema.maxLength ??= 36;
  if (jsonSchema.type === 'integer') jsonSchema.format ??= Number(jsonSchema.maximum) < 2 ** 31 ? 'int32' : 'int64';
};

function pathsOf(routes: readonly Route[]): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    const path = `/{mandator}/api${route.path.replaceAll(/:(\w+)/g, '{$1}')}`;
    const reading = routes.find((other) => other.path === route.path && other.method === 'GET');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeRoute(route, reading) };
  }
  return paths;
}

type ApiDocument = ReturnType<typeof createDocument>;

/** Removes headers and parameters to which no operation refers. */
function tidy(document: ApiDocument): ApiDocument {
  const text = JSON.stringify(document);
  const tidied: ApiDocument = JSON.parse(text);
  const { headers = {}, parameters = {} } = tidied.components ?? {};
  for (const [kind, parts] of Object.entries({ headers, parameters }))
    for (const name of Object.keys(parts)) if (!text.includes(`"#/components/${kind}/${name}"`)) delete parts[name];
  return tidied;
}

/**
 * @param routes below a tenant
 * @param options.atRoot paths outside of the tenants
 * @param options.messages what is sent to receivers
 * @param options.problemMembers members that rooms add to problems
 * @param options.roots the server's URLs for clients (settings BaseUrl and IdpUrl)
 */
export function describeApi(
  routes: readonly Route[],
  {
    atRoot,
    messages,
    problemMembers,
    roots,
  }: {
    atRoot: readonly PathsAtRoot[];
    messages: ZodOpenApiPathsObject;
    problemMembers: z.ZodRawShape;
    roots: { BaseUrl: string; IdpUrl: string };
  },
) {
  const server = (url: string) => ({
    url,
    description: 'This server: production, test or local',
    'x-internal': false,
  });
  const identityServer = roots.IdpUrl === roots.BaseUrl ? {} : { servers: [server(roots.IdpUrl)] };
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'roomgate',
        version: '2.0',
        summary: 'Room booking: lesson jobs, bookings, opening hours',
        description: introduction,
        contact: { name: 'Whoever runs this server' },
        license: { name: 'Proprietary' },
      },
      servers: [server(roots.BaseUrl)],
      tags: tags.filter(({ name }) => name !== 'API 1.0' || routes.some(({ path }) => path.startsWith('/v1.0/'))),
      paths: Object.assign(pathsOf(routes), ...atRoot.map((describe) => describe(identityServer))),
      webhooks: messages,
      components: {
        schemas: { Problem: problemSchema(problemMembers) },
        headers,
        parameters,
        securitySchemes,
        responses: problemComponents,
      },
    },
    { override: completeSchema },
  );
  return tidy(document);
}
