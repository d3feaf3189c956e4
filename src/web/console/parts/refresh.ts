/** Asks again when one of several subscriptions reports a change: soon, but at most every few seconds. */
import { useEffect } from 'preact/hooks';
import type { TypedDocumentString } from '../generated/graphql.ts';
import { follow } from '../live.ts';

const [soonMs, againMs] = [300, 5_000];

export function useRefresh(
  reload: () => void,
  ...documents: TypedDocumentString<unknown, Record<string, never>>[]
): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let askedAt = Number.NEGATIVE_INFINITY;
    const soon = () => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          askedAt = performance.now();
          reload();
        },
        Math.max(soonMs, askedAt + againMs - performance.now()),
      );
    };
    const ends = documents.map((document) => follow(document, {}, { next: soon, restart: soon }));
    return () => {
      clearTimeout(timer);
      for (const end of ends) end();
    };
  }, []);
}
