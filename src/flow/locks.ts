/**
 * The numbers of all advisory locks. A lock of a class has two numbers: the class, and the one stated below. A lock by name has
 * one number, the `hashtextextended` of the name. Locks of the two kinds never conflict.
 */
export const lockClasses = {
  /** By the tenant's id: a worker is running its batches. */
  batches: 7_001,
  /** By the hash of a runner's name: the runner is alive. */
  runner: 7_002,
  /** By the tenant's id: its open batches are being counted. */
  openBatches: 7_003,
  /** By the tenant's id: its changes are being numbered. Taken by `place_changes` of sql/000010_changes.sql. */
  placedChanges: 7_004,
  /** By the fingerprint of a worker's settings: a worker with these settings is alive. */
  settings: 7_005,
  /** By the hash of a runner's name: a session is working for it. */
  work: 7_006,
  /** By 0, shared: a worker is starting, and may take jobs before it holds the lock that shows that it is alive. */
  starting: 7_008,
  /** By the tenant's id: it is being moved, frozen, thawed or removed. */
  rest: 7_007,
} as const;

/** Held shared, in the database `postgres` of the local server, by each process that uses that server. */
export const localServerLock = 1;

/** By name: a new signing key for tokens is being made. Idempotency keys and wrong PINs also lock by name. */
export const signingKeyLock = 'roomgate signing key';

/** By its hash: the triggers that guard resting tenants are being created or dropped. */
export const guardsLock = 'roomgate guards';

/** By its hash, in the database `postgres` of a server: a backup is being restored there. */
export const restoreLock = 'roomgate restore';
