-- Large tables that change all the time are vacuumed and analyzed in small portions: by default once a fifth of the rows is dead.
--
-- A changed booking is never written within its page, as `changed_at` is indexed: each leaves a dead row in the table and in every
-- index. Of millions a fifth is much that every scan reads, and room that no row uses. A fiftieth comes ten times as often for a
-- tenth of the work. Imports only insert: after a twentieth the table is vacuumed, so that scans of an index alone need not look
-- into it, and after a fiftieth analyzed, as the newest times are what is asked for. The lock holds up nobody but a vacuum.
alter table booking set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02);
