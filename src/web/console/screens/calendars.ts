/** Calendar addresses, for a timetable or a room in one's own calendar program: to make, show once, list and revoke. */
import { useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { go, place } from '../address.ts';
import { act, ask, pages } from '../client.ts';
import { moment, momentOr } from '../clock.ts';
import {
  CreateRoomFeedDocument,
  CreateTimetableFeedDocument,
  type FeedFragment,
  RevokeFeedDocument,
  RoomFeedsDocument,
  TimetableFeedsDocument,
} from '../generated/graphql.ts';
import { readRooms } from '../master/data.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt, RefusedBox } from '../parts/refused.ts';
import { useRevocation } from '../parts/revoke.ts';
import { Secret, useMaking } from '../parts/secret.ts';
import { table } from '../parts/table.ts';
import { person } from '../session.ts';
import { t } from '../texts/calendars.ts';
import { labels } from '../texts/members.ts';

const kinds = ['mine', 'class', 'teacher', 'room'] as const;
type Kind = (typeof kinds)[number];
type Room = { id: string; name: string };

async function readFeeds(roomId: string | undefined, stop: AbortSignal): Promise<FeedFragment[]> {
  const read = async (after: string | null) =>
    roomId
      ? (await ask(RoomFeedsDocument, { resourceId: roomId, after }, stop)).calendarTokens
      : (await ask(TimetableFeedsDocument, { after }, stop)).timetableTokens;
  const all: FeedFragment[] = [];
  for await (const nodes of pages(read)) all.push(...nodes);
  return all;
}

const Feeds: Component<{ kind: Kind; room: Room | undefined }> = ({ kind, room }) => {
  const asked = useAsked((stop) => readFeeds(room?.id, stop), []);
  const [name, setName] = useState('');
  const [label, setLabel] = useState('');
  const { make, made, refusal, isBusy } = useMaking(async (idempotencyKey) => {
    const of = {
      idempotencyKey,
      ...(label && { label }),
      ...(kind === 'class' && { class: name }),
      ...(kind === 'teacher' && { teacher: name }),
    };
    const { done, refused } = await (room
      ? act(CreateRoomFeedDocument, { resourceId: room.id, ...of })
      : act(CreateTimetableFeedDocument, of));
    return { secret: done?.url, refused };
  }, asked.reload);
  const { revoke, isGoing } = useRevocation((which) => act(RevokeFeedDocument, which), t().willRevoke, asked.reload);
  const ofText = (feed: FeedFragment) =>
    room?.name ?? (feed.class ? t().ofClass(feed.class) : feed.teacher ? t().ofTeacher(feed.teacher) : t().kinds.mine);
  return html`
    <div class="panel form">
      <h2>${t().make}</h2>
      ${made && h(Secret, { label: t().address, value: made, hint: t().once })}
      <form onSubmit=${submit(async () => void ((await make()) && setLabel('')))}>
        <div class="fields">
          ${(kind === 'class' || kind === 'teacher') && h(Field, { label: t().names[kind], value: name, onInput: setName, required: true, maxLength: longest.name, fault: faultAt(refusal, kind) })}
          ${h(Field, { label: labels().label, value: label, onInput: setLabel, maxLength: longest.label, placeholder: t().labelHint, fault: faultAt(refusal, 'label') })}
          <button class="main" disabled=${isBusy}>${t().makeNow}</button>
        </div>
        ${h(RefusedBox, { refusal, fields: ['label', 'class', 'teacher'] })}
      </form>
    </div>
    ${showAsked(
      asked,
      (feeds) =>
        table({
          caption: t().title,
          name: 'calendars',
          rows: feeds.filter((one) => !isGoing(one)),
          id: ({ id }) => id,
          columns: [
            { key: 'of', title: t().of, value: ofText },
            { key: 'label', title: labels().label, value: (feed) => feed.label },
            ...(person.value?.role === 'Admin'
              ? [{ key: 'who', title: t().who, value: (feed: FeedFragment) => feed.person?.name }]
              : []),
            {
              key: 'made',
              title: t().madeAt,
              value: ({ createdAt }) => createdAt,
              show: ({ createdAt }) => moment(createdAt),
            },
            {
              key: 'used',
              title: t().usedAt,
              value: ({ lastUsedAt }) => lastUsedAt,
              show: ({ lastUsedAt }) => momentOr(lastUsedAt, t().never),
            },
            {
              key: 'state',
              title: t().state,
              value: ({ revokedAt }) => (revokedAt ? t().revoked : t().counts),
              show: (feed) =>
                feed.revokedAt
                  ? t().revoked
                  : html`<button type="button" class="danger" aria-label=${t().revokeThis(feed.label ?? ofText(feed))} onClick=${() => revoke(feed)}>${t().revoke}</button>`,
            },
          ],
        }),
      { when: (feeds) => feeds.length === 0, text: t().none },
    )}
  `;
};

export const Screen: Component<object> = () => {
  const asked = useAsked(async (stop) => (await readRooms(stop)).filter(({ active }) => active), []);
  const kind = kinds.find((each) => each === place.value['of']) ?? 'mine';
  const choose = (of: string) =>
    go({ of: of === 'mine' ? undefined : of, room: undefined, filter: undefined, sort: undefined, page: undefined });
  return html`
    <div class="page">
      <h1>${t().title}</h1>
      <p>${t().what}</p>
      ${showAsked(asked, (rooms) => {
        const room = kind === 'room' ? (rooms.find(({ id }) => id === place.value['room']) ?? rooms[0]) : undefined;
        return html`
          <div class="fields">
            ${h(Field, { label: t().of, value: kind, onInput: choose, choices: kinds.filter((each) => each !== 'room' || rooms.length > 0).map((value) => ({ value, text: t().kinds[value] })) })}
            ${room && h(Field, { label: t().room, value: room.id, onInput: (id) => go({ room: id }), choices: rooms.map(({ id, name }) => ({ value: id, text: name })) })}
          </div>
          ${h(Feeds, { key: `${kind} ${room?.id}`, kind, room })}
        `;
      })}
    </div>
  `;
};
