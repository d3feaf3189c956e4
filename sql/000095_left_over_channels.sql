-- Finds the channels of Google that have ended here and still push, among all that ended in the last 30 days.
create index mail_subscription_left_over on mail_subscription (mandator_id, expires_at)
  where kind = 'Google' and external_id is not null and state in ('Dead', 'Failed', 'Replaced', 'Disabled');
