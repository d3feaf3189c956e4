-- Readings of calendars rewrite changed items: their table is vacuumed in small portions, as bookings are (000080).
alter table mail_item set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
