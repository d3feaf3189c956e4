/** Automatic persisted queries: a document is sent once, and later named by its SHA-256 (Apollo's protocol, version 1). */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { refusal } from './errors.ts';

/** Bounds of the cache, in documents and characters. */
const kept = { max: 1_000, maxSize: 1_000_000 };

export type FindDocument = (query: unknown, extensions: unknown) => unknown;

/** Returns a function from the members of a call to its document. @throws GraphQLError */
export function openPersisted(): FindDocument {
  const documents = new LRUCache<string, string>({ ...kept, sizeCalculation: (text) => text.length + 1 });
  return (query, extensions) => {
    const sent = (
      extensions as { persistedQuery?: { version?: unknown; sha256Hash?: unknown } | null } | null | undefined
    )?.persistedQuery;
    if (sent === undefined || sent === null) return query;
    const { version, sha256Hash } = sent;
    if (version !== 1 || typeof sha256Hash !== 'string' || !/^[0-9a-f]{64}$/.test(sha256Hash))
      throw refusal(
        'extensions.persistedQuery: must have the version 1, and a sha256Hash of 64 hexadecimal digits in lower case.',
        'BAD_REQUEST',
        400,
      );
    if (query === undefined || query === null) {
      const known = documents.get(sha256Hash);
      // Tells clients to send the document too. The status is 200, so that no proxy takes it for a failure.
      if (known === undefined) throw refusal('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND', 200);
      return known;
    }
    if (typeof query !== 'string') return query;
    if (hash('sha256', query) !== sha256Hash)
      throw refusal('extensions.persistedQuery: the sha256Hash is not that of query.', 'PERSISTED_QUERY_MISMATCH', 400);
    documents.set(sha256Hash, query);
    return query;
  };
}
