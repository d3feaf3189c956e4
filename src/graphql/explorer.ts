import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from '../context.ts';

/** The page and its workers are inline. It loads nothing from elsewhere, and no page may frame it. */
const contentPolicy = [
  `default-src 'self' 'unsafe-inline' data: blob:`,
  `script-src 'unsafe-inline' 'unsafe-eval' blob:`,
  `worker-src blob: data:`,
  `connect-src 'self'`,
  `frame-ancestors 'none'`,
].join('; ');

/**
 * Serves GraphiQL to browsers if the setting GraphiQLEnabled is true (contract 8). The page has no data: its calls need a
 * token in the header `Authorization`, as all others do.
 * @returns whether it has answered the request
 */
export function openExplorer({
  config,
}: Context): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  let page: Promise<Buffer> | undefined;
  return async (request, response) => {
    if (!config.GraphiQLEnabled || request.method !== 'GET') return false;
    if (!request.headers.accept?.includes('text/html')) return false;
    page ??= renderPage();
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.setHeader('Content-Security-Policy', contentPolicy);
    response.end(await page);
    return true;
  };
}

/** Loads the page on demand, because it takes nine megabytes. */
async function renderPage(): Promise<Buffer> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const page = renderGraphiQL({
    title: 'roomgate',
    subscriptionsProtocol: 'SSE',
    headers: '{"Authorization": "Bearer "}',
    defaultQuery: '{ serverTime me { name role } batches { nodes { id importStatus progress } } }',
  });
  return Buffer.from(page);
}
