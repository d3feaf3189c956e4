import { startTestPostgres } from './postgres.ts';

export default async function setup(): Promise<void> {
  const server = await startTestPostgres();
  process.env['ROOMGATE_TEST_TEMPLATE'] = server.url;
  (globalThis as { stopTestPostgres?: () => Promise<void> }).stopTestPostgres = server.stop;
}
