/** Asks again when one of some subscriptions tells of news; once for all that come within a moment. */
import { useEffect } from 'preact/hooks';
import type { TypedDocumentString } from '../generated/graphql.ts';
import { follow } from '../live.ts';

const momentMs = 300;

export function useRefresh(
  reload: () => void,
  ...documents: TypedDocumentString<unknown, Record<string, never>>[]
): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        reload();
      }, momentMs);
    };
    const ends = documents.map((document) => follow(document, {}, { next: soon, restart: soon }));
    return () => {
      clearTimeout(timer);
      for (const end of ends) end();
    };
  }, []);
}
