-- Google's notifications are a dialect of their own.
-- An older release does not know this dialect.
update schema_floor set migration = '000065_google_notifications';

alter table mail_notification
  drop constraint mail_notification_dialect_check,
  add constraint mail_notification_dialect_check check (dialect in ('Ews', 'Graph', 'Jmap', 'Google', 'Unknown'));
