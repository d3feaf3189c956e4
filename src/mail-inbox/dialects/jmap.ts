/** JMAP's StateChange (RFC 8620, 7.1) says which types of data have changed in which accounts. */
import { isObject, type SentObject } from './json.ts';
import { checkCount, dedupeKeyOf, nameOf, notification, type ReadNotifications } from './notification.ts';

const calendarTypes = ['CalendarEvent', 'Calendar'] as const;

export const isStateChange = (body: SentObject) => body['@type'] === 'StateChange' && isObject(body['changed']);

/** @throws DialectOverflow */
export function readStateChange(body: SentObject): ReadNotifications {
  const changed = Object.entries(body['changed'] as SentObject);
  checkCount(changed.length);
  const states = changed
    .flatMap(([account, byType]) =>
      calendarTypes.map((type) => [account, type, isObject(byType) ? nameOf(byType[type]) : null] as const),
    )
    .filter(([account, , state]) => state !== null && nameOf(account) !== null);
  const accounts = [...new Set(states.map(([account]) => account.toLowerCase()))];
  // Even if no calendar has changed, the notification shows that the sender is alive.
  const isCalendar = accounts.length > 0;
  const told = states.map((state) => state.join('\0')).sort();
  return {
    dialect: 'Jmap',
    notifications: [
      notification({
        kind: isCalendar ? 'Change' : 'Status',
        dedupeKey: isCalendar ? dedupeKeyOf(...told) : null,
        accounts,
      }),
    ],
  };
}
