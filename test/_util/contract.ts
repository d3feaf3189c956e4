/** Checks the requests of tests and their answers against src/rest/openapi.json. */
import fs from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { lowerFirst, upperFirst } from '../../src/fields.ts';
import { fetchWhole } from './fetch-whole.ts';
import { project } from './generate.ts';

export const documentFile = path.join(project, 'src/rest/openapi.json');

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Tree = { [key: string]: Json };
type Casing = 'pascal' | 'camel';

const isTree = (value: Json | undefined): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The document for tests: a member that it does not name is a violation, while clients must accept members of later versions.
 * For answers to `X-JsonPropertyFormat: camel` its names are in camel case.
 */
function tighten(value: Json, rename: (name: string) => string): Json {
  if (Array.isArray(value)) return value.map((item) => tighten(item, rename));
  if (!isTree(value)) return value;
  const tree = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, tighten(item, rename)]));
  const { properties, required } = tree;
  if (tree['type'] !== 'object' || !isTree(properties)) return tree;
  return {
    additionalProperties: false,
    ...tree,
    properties: Object.fromEntries(Object.entries(properties).map(([name, item]) => [rename(name), item])),
    ...(Array.isArray(required) ? { required: required.map((name) => rename(String(name))) } : {}),
  };
}

/** Validates values by the schemas of the document, given by JSON pointers. */
function openJudge(document: Tree, options: { coerceTypes?: 'array' } = {}) {
  // Most schemas judge a few values: to improve the code of each takes longer than it saves, and so does to repeat in it what
  // it refers to. The document as a whole is no schema that could be validated.
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateSchema: false,
    inlineRefs: false,
    code: { optimize: false },
    ...options,
  });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  return (where: string, pointer: string, value: Json): string[] => {
    const validate = ajv.getSchema(`openapi#${pointer}`);
    if (!validate) throw new Error(`the document has no schema at ${pointer}`);
    // Coercion replaces members, so the value is put into one.
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${where}${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
}

const pointerOf = (...keys: string[]) =>
  keys.map((key) => `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

type Parameter = { name: string; in: 'path' | 'query' | 'header'; required?: boolean; schema: Json };
type Answer = { content?: Tree; headers?: Record<string, Tree> };
type Operation = ReturnType<typeof operationsOf>[number];

/** `METHOD /path/{template}` of each operation, how its addresses look, and what it takes and gives. */
function operationsOf(document: Tree) {
  /** The object at a place, or at the target of its `$ref`, and the pointer of it. */
  function follow<Found>(value: Json, pointer: string): { value: Found; pointer: string } {
    if (!isTree(value) || typeof value['$ref'] !== 'string') return { value: value as Found, pointer };
    const keys = value['$ref'].split('/').slice(1);
    const found = keys.reduce<Json>((tree, key) => (tree as Tree)[key] as Json, document);
    return { value: found as Found, pointer: pointerOf(...keys) };
  }
  return Object.entries(document['paths'] as Record<string, Tree>).flatMap(([template, item]) =>
    Object.entries(item)
      .filter(([method]) => /^(get|post|put|patch|delete)$/.test(method))
      .map(([method, value]) => {
        const operation = value as Record<'responses' | 'requestBody', Tree> & {
          parameters?: Json[];
          security?: Json[];
        };
        const pointer = pointerOf('paths', template, method);
        const body = operation.requestBody as { required?: boolean; content?: Tree } | undefined;
        return {
          name: `${method.toUpperCase()} ${template}`,
          method: method.toUpperCase(),
          pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
          fixed: template.replaceAll(/\{\w+\}/g, '').length,
          isAnonymous: operation.security?.length === 0,
          parameters: (operation.parameters ?? []).map((one, index) =>
            follow<Parameter>(one, `${pointer}/parameters/${index}`),
          ),
          body: { isRequired: body?.required === true, content: body?.content, pointer: `${pointer}/requestBody` },
          answers: new Map(
            Object.entries(operation.responses).map(([status, answer]) => [
              Number(status),
              follow<Answer>(answer, pointerOf('paths', template, method, 'responses', status)),
            ]),
          ),
          follow,
        };
      }),
  );
}

/** The document in one casing. */
function readDocument(document: Tree, casing: Casing) {
  const tight = tighten(document, casing === 'camel' ? lowerFirst : (name) => name) as Tree;
  const operations = operationsOf(tight);
  const judge = openJudge(tight);
  // Parameters and headers arrive as strings.
  const judgeText = openJudge(tight, { coerceTypes: 'array' });
  const judgeParameter = (where: string, pointer: string, values: string[]) => {
    const [one = ''] = values;
    return judgeText(where, `${pointer}/schema`, values.length > 1 ? values : one);
  };

  function judgeBody(where: string, content: Tree | undefined, pointer: string, type: string | null, text: string) {
    const media = type?.split(';')[0]?.trim().toLowerCase() ?? '';
    if (!content) return text === '' ? [] : [`${where}: none is described`];
    if (!(media in content)) return [`${where}: "${media}" is none of its media types`];
    if (!isTree(content[media]) || !content[media]['schema']) return [];
    const value = media.endsWith('json')
      ? (JSON.parse(text) as Json)
      : media === 'application/x-www-form-urlencoded'
        ? Object.fromEntries(new URLSearchParams(text))
        : text;
    return judge(where, `${pointer}/content${pointerOf(media)}/schema`, value);
  }

  return {
    /** The operation of a URL. */
    find(method: string, address: string): Operation | undefined {
      return operations
        .filter((candidate) => candidate.method === method && candidate.pattern.test(address))
        .toSorted((one, other) => other.fixed - one.fixed)[0];
    },

    request(operation: Operation, address: string, query: URLSearchParams, sent: Request, text: string): string[] {
      const groups = operation.pattern.exec(address)?.groups ?? {};
      const known = new Map<string, string[]>();
      for (const [name, value] of query) {
        // Parameters are described in Pascal case and read in both.
        const described = upperFirst(name);
        known.set(described, [...(known.get(described) ?? []), value]);
      }
      const wrong = operation.parameters.flatMap(({ value: { name, in: place, required }, pointer }) => {
        const header = place === 'header' ? sent.headers.get(name) : null;
        const values =
          place === 'path'
            ? [decodeURIComponent(groups[name] ?? '')]
            : place === 'query'
              ? (known.get(name) ?? [])
              : header === null
                ? []
                : [header];
        if (place === 'query') known.delete(name);
        if (values.length === 0) return required ? [`request.${place}.${name} is missing`] : [];
        return judgeParameter(`request.${place}.${name}`, pointer, values);
      });
      wrong.push(...[...known.keys()].map((name) => `request.query.${name} is not described`));
      if (!operation.isAnonymous && !['authorization', 'apikey', 'cookie'].some((name) => sent.headers.has(name)))
        wrong.push('request has no credential');
      const { content, isRequired, pointer } = operation.body;
      if (text !== '' || isRequired)
        wrong.push(...judgeBody('request.body', content, pointer, sent.headers.get('content-type'), text));
      return wrong;
    },

    response(operation: Operation, answer: Response, text: string): string[] {
      const described = operation.answers.get(answer.status);
      if (!described) return [`response.status ${answer.status} is not described`];
      const { value, pointer } = described;
      const wrong = Object.entries(value.headers ?? {}).flatMap(([name, header]) => {
        const found = operation.follow<{ required?: boolean }>(header, `${pointer}/headers${pointerOf(name)}`);
        const sent = answer.headers.get(name);
        if (sent === null) return found.value.required ? [`response.headers.${name} is missing`] : [];
        return judgeParameter(`response.headers.${name}`, found.pointer, [sent]);
      });
      wrong.push(...judgeBody('response.body', value.content, pointer, answer.headers.get('content-type'), text));
      return wrong;
    },

    /** What is wrong with the examples of operations, for each one with its place. */
    examples: () =>
      operations.flatMap(({ name, body, answers }) =>
        [
          { place: 'request', pointer: body.pointer, content: body.content },
          ...[...answers].map(([status, { value, pointer }]) => ({
            place: `${status}`,
            pointer,
            content: value.content,
          })),
        ].flatMap(({ place, pointer, content = {} }) =>
          Object.entries(content as Record<string, Tree>).flatMap(([media, { example, schema }]) =>
            example === undefined || !schema
              ? []
              : judge(`${name} ${place}`, `${pointer}/content${pointerOf(media)}/schema`, example),
          ),
        ),
      ),

    operations,
  };
}

/** Read once for all test files of a worker: to compile the schemas takes a second. */
const documents: Partial<Record<Casing, ReturnType<typeof readDocument>>> = {};
const documentIn = (casing: Casing) =>
  (documents[casing] ??= readDocument(JSON.parse(fs.readFileSync(documentFile, 'utf8')), casing));

export const brokenExamples = () => documentIn('pascal').examples();

/** @param service the root of its URLs */
export function openContract(service: string) {
  const seen = new Map<string, Set<number>>();

  return {
    /** Each operation with its described statuses, and those that were answered so far. */
    operations: () =>
      documentIn('pascal').operations.map(({ name, answers }) => ({
        name,
        statuses: [...answers.keys()],
        seen: [...(seen.get(name) ?? [])].sort(),
      })),
    /**
     * `fetch` of the service; `path` begins with a slash.
     * @param options.wrong the request violates the document on purpose
     * @throws Error when the answer, or a request without `wrong`, violates the document
     */
    async fetch(path: string, init: RequestInit = {}, options: { wrong?: boolean } = {}): Promise<Response> {
      const sent = new Request(service + path, init);
      const { pathname, searchParams } = new URL(sent.url);
      const casing = sent.headers.get('x-jsonpropertyformat') === 'camel' ? 'camel' : 'pascal';
      const { find, request, response } = documentIn(casing);
      const body =
        typeof init.body === 'string' ? init.body : init.body ? new Uint8Array(await sent.clone().arrayBuffer()) : null;
      const text = body === null ? '' : Buffer.from(body).toString();
      const answer = await fetchWhole(sent.url, {
        method: sent.method,
        headers: Object.fromEntries(sent.headers),
        body,
      });
      const operation = find(sent.method, pathname);
      if (!operation) {
        if (options.wrong) return answer;
        throw new Error(`the document has no ${sent.method} ${pathname}`);
      }
      seen.set(operation.name, (seen.get(operation.name) ?? new Set()).add(answer.status));
      const got = await answer.text();
      const broken = options.wrong ? [] : request(operation, pathname, searchParams, sent, text);
      broken.push(...response(operation, answer, got));
      if (broken.length > 0)
        throw new Error([`${sent.method} ${path} -> ${answer.status}`, ...broken, got.slice(0, 500)].join('\n  '));
      // To be read again.
      return new Response(got || null, answer);
    },
  };
}

export type Contract = ReturnType<typeof openContract>;
