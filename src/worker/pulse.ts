/** Tells whether the queue library takes jobs: by the events when it looks for them, not by the fact that it was started. */
import type { Worker, WorkerEvents, WorkerPool } from 'graphile-worker';

/** Milliseconds within which every pool must look for a job, unless all of its workers have one. */
const mostSilent = 30_000;

/** Call it before the first pool is made. @returns a function that tells whether all pools take jobs */
export function watchPulse(events: WorkerEvents): () => boolean {
  const pools = new Map<WorkerPool, { lookedAt: number; workers: Worker[] }>();
  const lookedAt = ({ worker }: { worker: Worker }) => {
    const pool = pools.get(worker.workerPool);
    if (pool) pool.lookedAt = performance.now();
  };
  events.on('pool:create', ({ workerPool }) => pools.set(workerPool, { lookedAt: performance.now(), workers: [] }));
  events.on('worker:create', ({ worker }) => pools.get(worker.workerPool)?.workers.push(worker));
  events.on('worker:getJob:empty', lookedAt).on('job:start', lookedAt);
  return () =>
    pools
      .values()
      .every(
        (pool) =>
          performance.now() - pool.lookedAt < mostSilent ||
          pool.workers.every((worker) => worker.getActiveJob() !== null),
      );
}
