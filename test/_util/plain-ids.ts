/** Ids as REST has them, in what GraphQL answers: tests that compare the two fronts read them so. */
import type { Client } from 'graphql-sse';
import { readGlobalId } from '../../src/graphql/ids.ts';

const ids = /^(\d+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** For `JSON.parse`, and for clients that take a reviver. */
export function plainId(_name: string, value: unknown): unknown {
  const read = typeof value === 'string' ? readGlobalId(value) : undefined;
  return read && (ids.test(read.id) || read.noun === 'lessonJob') ? read.id : value;
}

export const readPlain = <Answer>(text: string): Answer => JSON.parse(text, plainId);
/** The same of a value that has been read already. */
const plainIds = <Value>(value: Value): Value => readPlain(JSON.stringify(value));

/** A client over SSE that gives such ids. */
export function withPlainIds(client: Client): Client {
  return {
    ...client,
    subscribe: (request, sink, on) =>
      client.subscribe(request, { ...sink, next: (value: never) => sink.next(plainIds(value)) } as never, on),
    iterate(request, on) {
      const frames = client.iterate(request, on);
      const plain = async (one: Promise<IteratorResult<unknown>>) => plainIds(await one);
      return {
        next: () => plain(frames.next()),
        return: () => frames.return?.(),
        [Symbol.asyncIterator]() {
          return this;
        },
      } as never;
    },
  };
}
