import { sql } from 'kysely';
import type { lockClasses } from '../flow/locks.ts';

/** The locks of a class that are held in this database, as a table: `pid` of who holds it, and the second `number` of the lock. */
export const heldLocks = (lockClass: (typeof lockClasses)[keyof typeof lockClasses]) => sql`(
  select pid, objid::bigint::bit(32)::integer as number from pg_locks
  where locktype = 'advisory' and classid = ${lockClass} and objsubid = 2 and granted
    and database = (select oid from pg_database where datname = current_database()))`;
