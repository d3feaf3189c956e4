/** Mail: the status of each room's calendar on the mail server, live; its items without a booking, and bookings missing in it, with the reasons. */
import { useEffect, useState } from 'preact/hooks';
import { go, leave, place } from '../address.ts';
import { lostSince } from '../client.ts';
import { moment } from '../clock.ts';
import { type CalendarFragment, FollowCalendarsDocument } from '../generated/graphql.ts';
import { follow, tryNow } from '../live.ts';
import { Details, nextOf, readNow, stateOf } from '../mail/details.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { table } from '../parts/table.ts';
import { t } from '../texts/mail.ts';
import { t as shell } from '../texts/shell.ts';

export const Screen: Component<object> = () => {
  const [calendars, setCalendars] = useState<ReadonlyMap<string, CalendarFragment>>();
  const put = (some: readonly CalendarFragment[]) =>
    setCalendars((before) => new Map([...(before ?? []), ...some.map((one) => [one.id, one] as const)]));
  useEffect(() => follow(FollowCalendarsDocument, {}, { next: ({ mailSubscriptions }) => put(mailSubscriptions) }), []);
  const { calendar: id } = place.value;
  const open = (one: string) => () => go({ calendar: one });
  const read = (one: CalendarFragment) => () => void readNow(one).then((done) => done && put([done]));
  let body: Child;
  if (!calendars && lostSince.value !== undefined)
    body = html`<div class="state"><p>${shell().failed}</p><button type="button" onClick=${tryNow}>${shell().again}</button></div>`;
  else if (!calendars) body = html`<p class="state" aria-busy="true">${shell().loading}</p>`;
  else if (calendars.size === 0) body = html`<p class="state">${t().none}</p>`;
  else
    body = table({
      caption: t().calendars,
      name: 'mail-calendars',
      rows: [...calendars.values()],
      id: (one) => one.id,
      columns: [
        {
          key: 'room',
          title: t().room,
          value: ({ resource }) => resource.name,
          show: (one) =>
            html`<button type="button" class="link" onClick=${open(one.id)}>${one.resource.name}</button><br /><small>${one.mailbox}</small>`,
        },
        {
          key: 'state',
          title: t().state,
          value: stateOf,
          show: (one) => (one.fault ? html`<strong class="bad">${stateOf(one)}</strong>` : stateOf(one)),
        },
        {
          key: 'read',
          title: t().lastRead,
          value: ({ lastReadAt }) => lastReadAt ?? '',
          show: ({ lastReadAt }) => (lastReadAt ? moment(lastReadAt) : '–'),
        },
        { key: 'next', title: t().nextRead, value: ({ nextReadAt }) => nextReadAt, show: nextOf },
        { key: 'push', title: t().push, value: ({ pushWorks }) => (pushWorks ? t().pushes : t().noPush) },
        { key: 'conflicts', title: t().conflicts, value: ({ conflictCount }) => conflictCount, align: 'end' },
        { key: 'declined', title: t().declined, value: ({ declinedCount }) => declinedCount, align: 'end' },
        { key: 'unreadable', title: t().unreadable, value: ({ unreadableCount }) => unreadableCount, align: 'end' },
        { key: 'unwritten', title: t().unwritten, value: ({ unwrittenCount }) => unwrittenCount, align: 'end' },
        {
          key: 'act',
          title: t().readNow,
          value: () => '',
          show: (one) =>
            html`<button type="button" aria-label="${t().readNow}: ${one.resource.name}" onClick=${read(one)}>${t().readNow}</button>`,
        },
      ],
    });
  return html`
    <div class="page">
      <h1>${t().title}</h1>
      ${body}
      ${id && calendars && h(Details, { calendar: calendars.get(id), onRead: (one) => put([one]), onClose: () => leave('calendar') })}
    </div>
  `;
};
