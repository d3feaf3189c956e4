import { sql } from 'kysely';
import type { lockClasses } from '../flow/locks.ts';

/** A table of the locks of a class that are held in this database: the holder's `pid`, and the lock's second `number`. */
export const heldLocks = (lockClass: (typeof lockClasses)[keyof typeof lockClasses]) => sql`(
  select pid, objid::bigint::bit(32)::integer as number from pg_locks
  where locktype = 'advisory' and classid = ${lockClass} and objsubid = 2 and granted
    and database = (select oid from pg_database where datname = current_database()))`;
