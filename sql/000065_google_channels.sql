-- The channels through which Google reports changes are subscriptions.
-- An older release does not know this kind.
update schema_floor set migration = '000065_google_channels';

alter table mail_subscription
  drop constraint mail_subscription_kind_check,
  add constraint mail_subscription_kind_check check (kind in ('Ews', 'Graph', 'CalDav', 'Google'));
