/**
 * The numbers of all advisory locks that this program takes. A lock of a class has two: the class, and what is locked. A lock by
 * a name has one, the name's `hashtextextended`; those of the two kinds never meet.
 */
export const lockClasses = {
  /** By tenant: a worker is on its batches. */
  batches: 7_001,
  /** By the hash of its name: a runner lives. */
  runner: 7_002,
  /** By tenant: its open batches are counted. */
  openBatches: 7_003,
  /** By the fingerprint of a worker's settings: a worker that follows them lives. */
  settings: 7_005,
  /** By the hash of a runner's name: a session works for it. */
  work: 7_006,
} as const;

/** In the database `postgres` of the local server, shared: a process uses that server. */
export const localServerLock = 1;

/** By name: tokens are being given a new key. Two more names are made of what they are for: of an Idempotency-Key, of wrong PINs. */
export const signingKeyLock = 'roomgate signing key';
