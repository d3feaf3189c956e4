-- Each row of the feed is updated once, when it gets its position, and never within its page, as that is indexed; a month later it
-- is deleted. So all of the table is dead once, and it is vacuumed in small portions, as bookings are (000080).
alter table change set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02);
