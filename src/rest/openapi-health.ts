/** The OpenAPI descriptions of the health checks. */
import { z } from 'zod';
import { fault, type PathsAtRoot, plainAnswer, plainGet } from './openapi-root.ts';

const health = z.enum(['Healthy', 'Unhealthy']);
const readiness = z
  .object({
    Status: z.enum(['Healthy', 'Degraded', 'Unhealthy', 'Stopping']),
    Checks: z.object({
      Database: health,
      Migrations: health,
      Pepper: health,
      Notifications: health,
      Worker: health.optional().meta({ description: 'Absent if the process has no worker.' }),
      Writes: z.enum(['Healthy', 'Degraded']).meta({
        description:
          'Degraded while PostgreSQL has refused writes within the last minute, because its disk is full or it is read-only. The process stays ready, as it answers reads.',
      }),
    }),
  })
  .meta({ id: 'Readiness' });

const getHealth = plainGet({
  operationId: 'getHealth',
  summary: 'Check whether the process serves requests',
  description: 'It checks nothing else; it answers as long as the process does.',
  tags: ['Health'],
  responses: {
    200: plainAnswer(
      'It does.',
      z.object({ Status: z.enum(['Healthy']) }).meta({ id: 'Health' }),
      { Status: 'Healthy' },
      'Cache-Control',
    ),
    500: fault,
  },
});

const ready = {
  Database: 'Healthy',
  Migrations: 'Healthy',
  Pepper: 'Healthy',
  Notifications: 'Healthy',
  Worker: 'Healthy',
  Writes: 'Healthy',
};

const getReadiness = plainGet({
  operationId: 'getReadiness',
  summary: 'Check whether the process can do its work',
  description:
    'The database answers and is no standby, its schema is current, its notifications arrive, and the worker runs.',
  tags: ['Health'],
  responses: {
    200: plainAnswer('It can.', readiness, { Status: 'Healthy', Checks: ready }, 'Cache-Control'),
    500: fault,
    503: plainAnswer(
      'It cannot, or it is stopping.',
      readiness,
      { Status: 'Unhealthy', Checks: { ...ready, Database: 'Unhealthy' } },
      'Cache-Control',
      'Retry-After',
    ),
  },
});

export const healthPaths: PathsAtRoot = (rootServer) => ({
  '/healthz': { ...rootServer, get: getHealth },
  '/readyz': { get: getReadiness },
});
