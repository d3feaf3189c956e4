/** Changes of the day: what is cancelled, moved and substituted, by class, teacher or room; to change, and to print. */

import { useMemo } from 'preact/hooks';
import { addDays } from '../../../time/days.ts';
import { addressWith, go, place } from '../address.ts';
import { LessonForm } from '../changes/edit.ts';
import { groupings, groupsOf, type Lesson, readDay, type Wish } from '../changes/lessons.ts';
import { Group } from '../changes/list.ts';
import { Week } from '../changes/week.ts';
import { dayAt, dayText, isDay, ownZone, timeText } from '../clock.ts';
import { FollowLessonsDocument } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { DayField } from '../parts/day-field.ts';
import { Check, Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { opening } from '../parts/link.ts';
import { useOpened } from '../parts/opened.ts';
import { useRefresh } from '../parts/refresh.ts';
import { RefusedBox } from '../parts/refused.ts';
import { present } from '../present.ts';
import { type Location, type Room, readRooms } from '../rooms/store.ts';
import { person } from '../session.ts';
import { t } from '../texts/changes.ts';

type Read = { rooms: Room[]; locations: Location[] };

function readWish(zone: string): Wish {
  const { day, by, only = '', location = '', as } = place.value;
  return {
    day: isDay(day) ? day : dayAt(zone, present()),
    by: groupings.find((each) => each === by) ?? 'class',
    only,
    location,
    all: as === 'all',
  };
}

const Day: Component<Read> = ({ rooms, locations }) => {
  const first = locations.find(({ id }) => id === place.value['location']) ?? locations[0];
  const zone = first?.timeZone ?? ownZone;
  const wish = readWish(zone);
  const { day, by, only, location, all } = wish;
  const asked = useAsked((stop) => readDay(wish, rooms, stop), [day, all, all ? `${by} ${only}` : '']);
  useRefresh(asked.reload, FollowLessonsDocument);
  const mayEdit = person.value?.mayImport === true;
  const edited = useOpened<Lesson>('lesson');
  const lessons = asked.data?.lessons;
  const shown = useMemo(() => {
    if (all && !only) return [];
    const groups = groupsOf(lessons ?? [], wish);
    return all && only
      ? groups
      : groups
          .map(([name, lines]) => [name, lines.filter(({ mark }) => mark)] as (typeof groups)[number])
          .filter(([, lines]) => lines.length > 0);
  }, [lessons, day, by, only, location, all]);
  const suggestions = useMemo(
    () =>
      by === 'room'
        ? rooms.map(({ name }) => name)
        : groupsOf(lessons ?? [], { ...wish, only: '' }).map(([name]) => name),
    [lessons, rooms, by],
  );
  const show = (next: string, how?: 'push' | 'replace') =>
    go({ day: next === dayAt(zone, present()) ? undefined : next }, how);
  const toDay = (next: string) => () => show(next);
  const notice = () => {
    go({ by: undefined, only: undefined, as: undefined });
    // Prints once the page is drawn.
    requestAnimationFrame(() => requestAnimationFrame(() => print()));
  };
  const tab = (name: (typeof groupings)[number]) => {
    const change = { by: name === 'class' ? undefined : name, only: undefined };
    const open = opening(() => go(change));
    return html`<a key=${name} href=${addressWith(change)} aria-current=${name === by ? 'page' : undefined} onClick=${open}>${t().by[name]}</a>`;
  };
  const count = new Set(shown.flatMap(([, lines]) => lines.map(({ lesson }) => lesson.id))).size;
  const empty = all && !only ? t().chooseFirst[by] : only || location ? t().noMatch : t().none;
  return html`
    <header class="notice-head">
      <p class="paper-only">${person.value?.tenantName}</p>
      <h1>${t().title}</h1>
      <p>${dayText(day)}${asked.data && html`<span class="as-of"> · ${t().asOf(timeText(zone, asked.data.readAt))}</span>`}</p>
    </header>
    <nav class="tabs" aria-label=${t().title}>${groupings.map(tab)}</nav>
    <div class="tools">
      <div class="buttons" role="group" aria-label=${t().date}>
        <button type="button" class="icon" aria-label=${t().earlier} onClick=${toDay(addDays(day, -1))}>‹</button>
        <button type="button" onClick=${toDay(dayAt(zone, present()))}>${t().today}</button>
        <button type="button" class="icon" aria-label=${t().later} onClick=${toDay(addDays(day, 1))}>›</button>
      </div>
      ${h(DayField, { label: t().date, day, onPick: show })}
      ${h(Field, { key: by, label: t().find[by], hideLabel: true, placeholder: t().find[by], type: 'search', value: only, suggestions, onInput: (text) => go({ only: text }, 'replace') })}
      ${locations.length > 1 && h(Field, { label: t().location, hideLabel: true, value: location, onInput: (id) => go({ location: id }), choices: [{ value: '', text: t().everywhere }, ...locations.map(({ id, name }) => ({ value: id, text: name }))] })}
      ${h(Check, { label: t().all, checked: all, onChange: (checked) => go({ as: checked ? 'all' : undefined }) })}
      <span role="status" class="count">${t().count(count)}</span>
      <span class="gap"></span>
      <button type="button" onClick=${notice}>${t().notice}</button>
    </div>
    ${!mayEdit && html`<p class="hint screen-only">${t().mayNot}</p>`}
    ${asked.data && h(RefusedBox, { refusal: asked.refusal })}
    ${showAsked(asked, () =>
      shown.length === 0
        ? html`<p class="state">${empty}</p>`
        : html`<div class="groups">${shown.map(([name, lines]) => h(Group, { key: name, by, name, lines, rooms, onEdit: mayEdit ? edited.show : undefined }))}</div>`,
    )}
    ${
      edited.opened &&
      h(LessonForm, {
        lesson: edited.opened,
        rooms,
        onClose: () => {
          edited.close();
          asked.reload();
        },
      })
    }
  `;
};

const Shown: Component<Read> = (read) => {
  const { room: id, day } = place.value;
  if (!id) return h(Day, read);
  const room = read.rooms.find((each) => each.id === id);
  if (!room) return html`<p class="state">${t().unknownRoom}</p>`;
  return h(Week, { room, day: isDay(day) ? day : dayAt(room.timeZone, present()) });
};

export const Screen: Component<object> = () => {
  const asked = useAsked(readRooms, []);
  return html`<div class="page changes ${place.value['room'] ? 'of-week' : ''}">${showAsked(asked, (read) => h(Shown, read), undefined, t().title)}</div>`;
};
