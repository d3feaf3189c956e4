/** The beginning of a list that may be long: as many pages as somebody has asked for. */
import type { pages } from './client.ts';

/** @param read reads the page after a cursor */
export async function readFirst<Node>(
  pageCount: number,
  read: Parameters<typeof pages<Node>>[0],
): Promise<{ nodes: Node[]; hasMore: boolean }> {
  const nodes: Node[] = [];
  let after: string | null = null;
  for (let page = 0; page < pageCount; page++) {
    const found = await read(after);
    nodes.push(...(found?.nodes ?? []));
    after = found?.pageInfo.hasNextPage ? found.pageInfo.endCursor : null;
    if (after === null) break;
  }
  return { nodes, hasMore: after !== null };
}
