/** Prism between a test and a running service: every call is held against src/rest/openapi.json. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { project } from './generate.ts';

export const documentFile = path.join(project, 'src/rest/openapi.json');

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Tree = { [key: string]: Json };
type Violation = { location: string[]; severity: string; message: string };

const isTree = (value: Json | undefined): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const lowerFirst = (key: string) => key.charAt(0).toLowerCase() + key.slice(1);

/**
 * The document as a test wants it: a member that it does not name is a violation, where its readers must let those of
 * later versions pass; and, for answers to `X-JsonPropertyFormat: camel`, with names in camel case.
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

const running = new Set<ChildProcess>();
// Jest may give this process up without running any hook.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

async function startPrism(file: string, upstream: string) {
  const child = spawn('prism', ['proxy', '--port', '0', '--cors=false', file, upstream], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${path.join(project, 'node_modules/.bin')}:${process.env['PATH']}`, NO_COLOR: '1' },
  });
  running.add(child);
  const lines: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`prism has ended: ${lines.join('\n')}`)));
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on('line', (line) => {
        lines.push(line);
        const said = /Prism is listening on (\S+)/.exec(line)?.[1];
        if (said) resolve(said);
      });
  });
  return {
    url,
    async stop() {
      running.delete(child);
      const ended = once(child, 'close');
      child.kill();
      await ended;
    },
  };
}

function violationsOf(answer: Response): Violation[] {
  const header = answer.headers.get('sl-violations');
  if (!header) return [];
  try {
    return JSON.parse(header) as Violation[];
  } catch {
    // Too many for a header.
    return [{ location: ['response'], severity: 'Error', message: header }];
  }
}

/** `METHOD /path/{template}` of each operation, and how its addresses look. */
function operationsOf(document: Tree) {
  return Object.entries(document['paths'] as Tree).flatMap(([template, item]) =>
    Object.entries(item as Tree)
      .filter(([method]) => /^(get|post|put|patch|delete)$/.test(method))
      .map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${template}`,
        method: method.toUpperCase(),
        pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
        fixed: template.replaceAll(/\{\w+\}/g, '').length,
        statuses: Object.keys((operation as Tree)['responses'] as Tree).map(Number),
      })),
  );
}

/** @param service the root of its URLs */
export async function startContractProxy(service: string) {
  const document = JSON.parse(fs.readFileSync(documentFile, 'utf8')) as Tree;
  const operations = operationsOf(document);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-contract-'));
  const start = async (casing: 'pascal' | 'camel') => {
    const file = path.join(folder, `${casing}.json`);
    const rename = casing === 'camel' ? lowerFirst : (name: string) => name;
    fs.writeFileSync(file, JSON.stringify(tighten(document, rename)));
    return await startPrism(file, service);
  };
  const pascal = await start('pascal');
  let camel: ReturnType<typeof start> | undefined;
  const seen = new Map<string, Set<number>>();

  return {
    /** Each operation with the statuses that its description names, and those that came by so far. */
    operations: () =>
      operations.map(({ name, statuses }) => ({ name, statuses, seen: [...(seen.get(name) ?? [])].sort() })),
    /**
     * `fetch` through the proxy; `path` begins with a slash. A text body is sent on as compact JSON.
     * @param options.wrong the request is meant to break its description
     * @throws Error when the answer, or a request not meant to, breaks its description
     */
    async fetch(path: string, init: RequestInit = {}, options: { wrong?: boolean } = {}): Promise<Response> {
      const headers = new Headers(init.headers);
      const isCamel = headers.get('x-jsonpropertyformat') === 'camel';
      const { url } = isCamel ? await (camel ??= start('camel')) : pascal;
      const answer = await fetch(url + path, { ...init, headers });
      const method = init.method ?? 'GET';
      const address = path.split('?')[0] ?? '';
      const operation = operations
        .filter((candidate) => candidate.method === method && candidate.pattern.test(address))
        .toSorted((one, other) => other.fixed - one.fixed)[0];
      if (operation) seen.set(operation.name, (seen.get(operation.name) ?? new Set()).add(answer.status));
      const broken = violationsOf(answer).filter(
        // Bodies are described in Pascal case and read in both.
        ({ location: [where, part] = [] }) => where === 'response' || !(options.wrong || (isCamel && part === 'body')),
      );
      if (broken.length > 0)
        throw new Error(
          [
            `${method} ${path} -> ${answer.status}`,
            ...broken.map(({ location = [], message }) => `${location.join('.')}: ${message}`),
            (await answer.clone().text()).slice(0, 500),
          ].join('\n  '),
        );
      return answer;
    },
    async stop() {
      await Promise.all([pascal.stop(), camel?.then(({ stop }) => stop())]);
      fs.rmSync(folder, { recursive: true });
    },
  };
}

export type ContractProxy = Awaited<ReturnType<typeof startContractProxy>>;
