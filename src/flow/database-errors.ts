/** Classifies the errors of PostgreSQL and of connections to it: every SQLSTATE that means "not now" or "again" is here. */
import { isNativeError } from 'node:util/types';
import { type Conflict, DomainError, TenantAway, Unavailable } from '../errors.ts';

/** The SQLSTATE of PostgreSQL, or the code of Node.js; '' for an error without one. */
export const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

/**
 * SQLSTATEs that mean "not now": connection failures, shutdowns and ended sessions, lack of resources, system failures, a
 * read-only standby, idle time-outs, serialization failures, deadlocks, lock time-outs, cancelled statements, and a tenant that
 * is being moved.
 */
const outageStates = /^(08|57P|53|58)|^(25006|25P03|25P04|40001|40P01|55P03|57014|RG001)$/;
/** Node.js's error codes of sockets and name resolution, also where this machine has no ports or file descriptors left. */
const outageCodes = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENFILE',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
/** Messages of pg, pg-pool and Kysely for connections that have ended or do not answer; these errors have no codes. */
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

/** pg has no code for it. */
const withoutTls = 'The server does not support SSL connections';

/** The server refuses connections with these settings: user, password, database name, or TLS. */
const isShut = (error: unknown): boolean =>
  /^(28|3D|CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|SELF_SIGNED_|UNABLE_TO_)/.test(codeOf(error)) ||
  (error as Error).message === withoutTls;

/** Whether the database is out of reach, full, read-only, restarting or contended, or no longer lets us in. */
export function isOutage(error: unknown): boolean {
  // Not instanceof: where the program runs in a realm of its own, Node's socket errors come from another.
  if (!isNativeError(error)) return false;
  const code = codeOf(error);
  return (
    isShut(error) ||
    outageStates.test(code) ||
    outageCodes.has(code) ||
    // The socket file of a server that is not running.
    (code === 'ENOENT' && (error as NodeJS.ErrnoException).syscall === 'connect') ||
    outageMessages.test(error.message)
  );
}

/** The tenant is being moved, so nothing is written for it (sql/000078_resting_tenants.sql). */
const isTenantResting = (error: unknown): boolean => codeOf(error) === 'RG001';

/** The database is read-only, as a standby is. */
export const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006';

/** Whether the database takes no writes at the moment: it is read-only, or its disk is full. It may still answer reads. */
export const isUnwritable = (error: unknown): boolean => isReadOnly(error) || codeOf(error) === '53100';

/** A schema is missing, or nothing can be made because `search_path` names none that exists. */
export const isSchemaless = (error: unknown): boolean => codeOf(error) === '3F000';

/** A table or schema is missing: the migrations have not run. */
export const isSchemaMissing = (error: unknown): boolean => isSchemaless(error) || codeOf(error) === '42P01';

/** The role of the session may not do that. */
export const isForbidden = (error: unknown): boolean => codeOf(error) === '42501';

/** The remedy for `isForbidden`. */
export const ownership =
  'Make it the owner of the database and of all that is in it ("alter database … owner to …", "reassign owned by … to …")';

/** The server refuses these settings, or the role lacks rights. A starting process then ends; a running one waits. */
export const isRefusal = (error: unknown): boolean => isShut(error) || isForbidden(error);

/** The remedy for `isRefusal`, with the name of the setting. */
export const refusalOf = (error: unknown): string =>
  isForbidden(error)
    ? `DatabaseUrl: its role may not do that (${(error as Error).message}). ${ownership}`
    : `DatabaseUrl: ${(error as Error).message}`;

/** A lock was not free within `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03';

/** PostgreSQL ended one of several transactions that waited for each other. */
export const isDeadlock = (error: unknown): boolean => codeOf(error) === '40P01';

/** A statement was cancelled: because of `statement_timeout`, or on request. */
export const isCancelled = (error: unknown): boolean => codeOf(error) === '57014';

/** A unique key refuses the row. */
export const isDuplicate = (error: unknown): boolean => codeOf(error) === '23505';

/**
 * For `.catch` of a statement: a duplicate value becomes a Conflict.
 * @param conflictOf the Conflict for the violated constraint
 */
export const refuseDuplicate =
  (conflictOf: (constraint: string) => Conflict) =>
  (error: unknown): never => {
    if (!isDuplicate(error)) throw error;
    throw conflictOf((error as { constraint: string }).constraint);
  };

/** A foreign key refuses the change: the row refers to one that does not exist, or other rows refer to the one to delete. */
export const isReferred = (error: unknown): boolean => codeOf(error) === '23503';

/** An exclusion constraint refuses the row, as it would a booking that overlaps one committed meanwhile. */
export const isExcluded = (error: unknown): boolean => codeOf(error) === '23P01';

/** Another writer was first; the next try sees what it wrote. */
export const isOvertaken = (error: unknown): boolean =>
  isDeadlock(error) || isExcluded(error) || codeOf(error) === '40001';

/** The domain error that a client gets for a thrown value; undefined for a fault, which must be masked. */
export function asDomainError(error: unknown): DomainError | undefined {
  if (error instanceof DomainError) return error;
  if (isTenantResting(error)) return new TenantAway();
  if (isUnwritable(error))
    return new Unavailable('The database takes no writes at the moment; send the same request again.');
  if (isOutage(error))
    return new Unavailable('The database does not answer at the moment; send the same request again.');
  return undefined;
}
