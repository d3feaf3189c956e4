/** What the errors of PostgreSQL and of connections to it mean: every SQLSTATE that means "not now" or "again" is listed here. */
import { isNativeError } from 'node:util/types';
import { DomainError, Unavailable } from '../errors.ts';

/** The SQLSTATE of PostgreSQL, or the code of Node.js; '' for an error without one. */
export const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

/**
 * SQLSTATEs of "not now" rather than "wrong": connection failures, shutdowns and sessions that were ended, lack of
 * resources, failures of the system; a read-only standby, and what ended because of others or of time.
 */
const outageStates = /^(08|57P|53|58)|^(25006|25P03|25P04|40001|40P01|55P03|57014)$/;
/** Of sockets and of the resolution of names, by Node.js. */
const outageCodes = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
/** Of connections that have ended or do not answer, as pg, pg-pool and Kysely tell them: they have no codes. */
const outageMessages = new RegExp(
  `^(${[
    'Connection terminated',
    'Client has encountered a connection error',
    'Client was closed and is not queryable',
    'Query read timeout',
    'timeout expired',
    'timeout exceeded when trying to connect',
    'Postgres connection has been discarded',
    'Cannot use a pool after calling end',
    'driver has already been destroyed',
  ].join('|')})`,
);

/** Whether the database is out of reach, full, read-only, restarting or contended. */
export function isOutage(error: unknown): boolean {
  // Not instanceof: where the program runs in a realm of its own, Node's socket errors are of another one.
  if (!isNativeError(error)) return false;
  const code = codeOf(error);
  return (
    outageStates.test(code) ||
    outageCodes.has(code) ||
    // The socket file of a server that does not run.
    (code === 'ENOENT' && (error as NodeJS.ErrnoException).syscall === 'connect') ||
    outageMessages.test(error.message)
  );
}

/** Whether the database takes no writes at the moment, though it may answer reads: it is read-only, or its disk is full. */
export const isUnwritable = (error: unknown): boolean => /^(25006|53100)$/.test(codeOf(error));

/** A table or schema is missing: the migrations have not run. */
export const isSchemaMissing = (error: unknown): boolean => /^(42P01|3F000)$/.test(codeOf(error));

/** A lock was not free within `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03';

/** PostgreSQL ended one of several transactions that waited for each other. */
export const isDeadlock = (error: unknown): boolean => codeOf(error) === '40P01';

/** The row to be written excludes one that was committed meanwhile, such as an overlapping booking. */
export const isExcluded = (error: unknown): boolean => codeOf(error) === '23P01';

/** Another writer was first: the next try sees what it has written. */
export const isOvertaken = (error: unknown): boolean =>
  isDeadlock(error) || isExcluded(error) || codeOf(error) === '40001';

/** What a client is answered for a thrown value: a domain error, or undefined for a fault that must be masked. */
export function asDomainError(error: unknown): DomainError | undefined {
  if (error instanceof DomainError) return error;
  if (isOutage(error))
    return new Unavailable('The database does not answer at the moment; send the same request again.');
  return undefined;
}
