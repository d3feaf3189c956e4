-- Lessons are vacuumed in small portions, as bookings are (000080), of which each has one: imports insert, change and replace them.
alter table lesson set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02);
