/** Calls to the master data of a running service, over REST and GraphQL. */
import { fetchWhole } from './fetch-whole.ts';
import { readPlain } from './plain-ids.ts';
import type { Service } from './service.ts';

type Tree = Record<string, unknown>;
export type Reply = { status: number; headers: Headers; body: Tree; text: string };

/** @param token whose; `mandator` is the tenant of the path */
export function masterData(service: Service, token: string, mandator = 'school') {
  async function send(
    method: string,
    path: string,
    options: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Reply> {
    const { body, headers = {} } = options;
    const answer = await fetchWhole(`${service.url}/${mandator}/api/v1.0${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, body: text ? JSON.parse(text) : {} };
  }

  return {
    token,
    send,
    get: (path: string, headers: Record<string, string> = {}) => send('GET', path, { headers }),
    post: (path: string, body: unknown, headers: Record<string, string> = {}) => send('POST', path, { body, headers }),
    /** @param version what If-Match names; any when left out */
    patch: (path: string, body: unknown, version: number | '*' = '*') =>
      send('PATCH', path, { body, headers: { 'If-Match': version === '*' ? '*' : `"${version}"` } }),
    /** The whole answer of a GraphQL call. */
    async ask(query: string, variables: object = {}): Promise<{ data?: Tree; errors?: Tree[] }> {
      const answer = await fetchWhole(`${service.url}/${mandator}/graphql`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      });
      return readPlain(await answer.text());
    },
  };
}

export type MasterData = ReturnType<typeof masterData>;

/** The names of the items of a list, in their order. */
export const namesOf = ({ body }: Reply) => (body['Items'] as Tree[]).map(({ Name }) => Name);
