-- Readings of calendars write the items that have changed anew: they are vacuumed in small portions, as bookings are (000080).
alter table mail_item set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
