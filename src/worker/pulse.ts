/** Whether jobs are being taken: told by the queue library's own looks for them, not by its having been started. */
import type { Worker, WorkerEvents, WorkerPool } from 'graphile-worker';

/** Milliseconds within which every pool has looked for a job, unless each of its places has one. */
const mostSilent = 10_000;

/** To be called before the first pool is made. @returns whether all of them take jobs */
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
