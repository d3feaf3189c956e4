/** The page of one room. */
import { barKey, describeBar, drawBar } from './bar-view.ts';
import { drawChange } from './change-view.ts';
import { clockTime, isNight, localDay, localTime } from './clock.ts';
import { dayBar } from './day-bar.ts';
import { stayAwake } from './device.ts';
import { byId, icon, make, scale, show } from './dom.ts';
import { askFree } from './elsewhere.ts';
import type { ShownRoom, ShownSlot } from './frames.ts';
import type { Text } from './german.ts';
import {
  dateLine,
  dayLine,
  endOf,
  instantLine,
  noMoreLine,
  peopleLine,
  timesLine,
  titleLine,
  untilLine,
} from './lines.ts';
import { drawLook } from './look.ts';
import { offersAt } from './offers.ts';
import { openReports, type Reports } from './reports.ts';
import { openSession, type Session } from './session.ts';
import { lookAt, type Sight } from './sight.ts';
import { type Elsewhere, makeTouch, type Touch } from './touch.ts';
import { startWatch, type Watch } from './watch.ts';

const parameters = new URLSearchParams(location.search);
const isPaper = parameters.get('mode') === 'epaper';
let session: Session;
let text: Text;
let touch: Touch;
let reports: Reports;
let watch: Watch;
const root = document.documentElement;

/** Part of the keys of `show`, so that everything is measured again when the device is turned. */
const size = () => [innerWidth, innerHeight];

function drawHead(room: ShownRoom, now: number): void {
  const { resource, zoneOffsets } = room;
  const place = [resource.locationName, resource.capacity && text.seats(resource.capacity)].filter(Boolean);
  const date = dateLine(text, zoneOffsets, now);
  const time = isPaper ? '' : clockTime(zoneOffsets, now);
  show(byId('clock'), [time, date], () => [time && make('strong', {}, time), make('span', {}, date)]);
  show(byId('title'), [resource.name, place, size()], () => [
    make('h1', {}, resource.name),
    make('p', {}, place.join(' · ')),
  ]) && scale(byId('title'));
}

/** The age of what is shown, and the reason. */
function drawNotice(room: ShownRoom, { age, status, until }: Sight, now: number): void {
  const isOffline = watch.state === 'offline' || watch.state === 'connecting';
  // E-paper polls seldom, and always shows its age.
  const isOld = age === 'lost' || (age === 'stale' && !isPaper);
  const stand = isOld || isPaper ? text.asOf(instantLine(text, room.zoneOffsets, room.asOf, now)) : '';
  const reason = isOffline ? text.offline : isOld ? text.stale : '';
  byId('notice').hidden = !stand && !reason;
  show(byId('notice'), [isPaper ? [room.cursor, status, until] : stand, reason], () => [
    reason && icon(isOffline ? 'offline' : 'stale'),
    stand && make('strong', {}, stand),
    reason && make('span', {}, reason),
  ]);
}

/** @param said times of this day are written without their date */
function details(room: ShownRoom, slot: ShownSlot, now: number, said = now): (HTMLElement | false)[] {
  const uncertain = slot.isRequested ? text.requested : slot.isTentative && text.tentative;
  const people = [peopleLine(slot), uncertain].filter(Boolean).join(' · ');
  return [
    make('p', { class: slot.occupies ? 'subject' : 'subject gone' }, titleLine(text, slot)),
    drawChange(text, room.zoneOffsets, slot, now, said),
    Boolean(people) && make('p', { class: 'people' }, people),
  ];
}

const timesOf = (room: ShownRoom, slot: ShownSlot, now: number, said = now) =>
  make('p', { class: slot.occupies ? 'times' : 'times gone' }, timesLine(text, room.zoneOffsets, slot, now, said));

/** The present booking, and lessons that were cancelled or have moved away. */
function drawState(room: ShownRoom, sight: Sight, now: number): void {
  const { zoneOffsets } = room;
  const { status, current } = sight;
  const word = text.states[status];
  const until = untilLine(text, room, sight, now);
  const gone = room.slots.filter((slot) => !slot.occupies && slot.start <= now && now < endOf(slot)).slice(0, 2);
  const slots = [...(current ? [current] : []), ...gone];
  const isNew = show(
    byId('now'),
    [status, until, slots, localDay(zoneOffsets, now), byId('now').clientHeight, size()],
    () => [
      make('h2', { id: 'word' }, icon(status), make('span', {}, word)),
      make('p', { class: 'until' }, until),
      ...slots.map((slot) => make('div', { class: 'event' }, timesOf(room, slot, now), ...details(room, slot, now))),
    ],
  );
  document.title = `${[word, until].filter(Boolean).join(' ')} – ${room.resource.name}`;
  // For screen readers, which announce only what changes.
  show(byId('said'), [status, until], () => [`${word} ${until}`]);
  root.dataset['status'] = status;
  if (!isNew) return;
  const box = byId('now');
  scale(box, 1.4);
  // Removes a line that would be cut off.
  const people = box.querySelectorAll('.people');
  for (let n = people.length; n-- > 0 && box.scrollHeight > box.clientHeight + 1; ) people[n]?.remove();
}

/** As many of the next bookings as fit. */
function drawNext(room: ShownRoom, sight: Sight, now: number): void {
  const { zoneOffsets } = room;
  const coming = room.slots.filter(
    (slot) => slot !== sight.current && (slot.occupies ? slot.from > now : slot.start > now),
  );
  const list = byId('list');
  const today = localDay(zoneOffsets, now);
  const hasToday = coming.some(({ start }) => localDay(zoneOffsets, start) === today);
  const noMore = hasToday ? '' : noMoreLine(text, room, coming.length > 0, now);
  const isNew = show(list, [coming, today, noMore, list.clientHeight, size()], () => {
    const rows: HTMLElement[] = [];
    let day = today;
    if (noMore) rows.push(make('li', { class: 'none' }, noMore));
    for (const slot of coming) {
      const itsDay = localDay(zoneOffsets, slot.start);
      if (itsDay !== day) rows.push(make('li', { class: 'day' }, dayLine(text, zoneOffsets, slot.start, now)));
      day = itsDay;
      rows.push(
        make(
          'li',
          slot.change ? { class: 'changed' } : {},
          timesOf(room, slot, now, slot.start),
          make('div', {}, ...details(room, slot, now, slot.start)),
        ),
      );
    }
    return rows;
  });
  if (!isNew) return;
  // Larger type would cut long subjects off.
  if (coming.every((slot) => titleLine(text, slot).length < 36)) scale(list, 1.4, 1);
  else list.style.removeProperty('--fit');
  shorten(list);
}

function shorten(list: HTMLElement): void {
  const isTooLong = () => list.scrollHeight > list.clientHeight + 1;
  let dropped = 0;
  const more = make('li', { class: 'none' });
  while (isTooLong() && list.children.length > (dropped ? 2 : 1)) {
    more.remove();
    const rows = [...list.children].reverse();
    // Changed lessons are dropped last.
    const last = rows.find(({ className }) => !className) ?? rows.find(({ className }) => className === 'changed');
    if (!last) return;
    dropped++;
    last.remove();
    for (const day of list.querySelectorAll('.day'))
      if (!day.nextElementSibling || day.nextElementSibling.className === 'day') day.remove();
    if (dropped) {
      more.textContent = text.more(dropped);
      list.append(more);
    }
  }
}

function drawDay(room: ShownRoom, now: number): void {
  const bar = isPaper ? { ...dayBar(room, now), now: null } : dayBar(room, now);
  const isKnown = now < room.end;
  show(byId('day'), [isKnown, barKey(bar)], () =>
    isKnown ? drawBar(bar, describeBar(text, room.zoneOffsets, bar, room.open)) : [],
  );
}

/** Offers another room to people who wanted this one. */
function elsewhereOf(room: ShownRoom, { status }: Sight): Elsewhere | null {
  if (isPaper || !watch.hasOthers || status === 'FREE' || status === 'UNKNOWN') return null;
  return { mayBook: watch.mayBook, find: () => askFree(session, room, watch.clock) };
}

/** The code that leads a phone to this room in the console. */
function drawPhone({ zoneOffsets }: ShownRoom, now: number): void {
  const day = localTime(zoneOffsets, now).toISOString().slice(0, 10);
  show(byId('phone'), day, () => {
    const image = make('img', { src: `${session.id}/phone.svg?day=${day}`, alt: text.phone });
    byId('phone').removeAttribute('hidden');
    image.addEventListener('error', () => byId('phone').setAttribute('hidden', ''));
    return [image, make('p', { 'aria-hidden': 'true' }, text.phone)];
  });
}

function draw(): void {
  const now = watch.clock.now();
  const room = watch.rooms.get(session.id);
  root.dataset['link'] = watch.state;
  if (now === undefined || !room || byId('page').hidden) return;
  const sight = lookAt(room, now);
  const dark = sight.status === 'CLOSED' || isNight(room.zoneOffsets, now);
  root.dataset['theme'] = isPaper ? 'paper' : parameters.get('theme') || (dark ? 'night' : 'day');
  if (!isPaper) drawLook(watch.look, root.dataset['theme'] === 'night');
  drawHead(room, now);
  drawNotice(room, sight, now);
  const isOff = sight.age !== 'fresh' || watch.state === 'offline' || watch.state === 'connecting';
  const offers = watch.mayBook && !isPaper ? offersAt(room, sight, now) : [];
  touch.draw(offers, now, room.zoneOffsets, isOff ? text.actsOff : null, elsewhereOf(room, sight));

  if (watch.state !== 'offline') reports.retry();
  drawDay(room, now);
  drawPhone(room, now);
  drawState(room, sight, now);
  drawNext(room, sight, now);
}

async function main(): Promise<void> {
  session = await openSession();
  ({ text } = session);
  reports = openReports(session);
  touch = makeTouch({
    session,
    reports,
    box: byId('acts'),
    other: byId('other'),
    report: byId('report'),
    changed: draw,
    acted() {
      if (watch.state === 'polling') watch.link?.hurry();
    },
  });
  watch = startWatch({
    session,
    kind: 'sign',
    isPaper,
    changed: () => draw(),
    isIdle: () => !touch.isBusy(),
  });
  byId('next-title').textContent = text.next;
  byId('day').setAttribute('aria-label', text.plan);
  if (isPaper) root.dataset['theme'] = 'paper';
  else stayAwake();
  setInterval(draw, 1_000);
  addEventListener('resize', draw);
}

void main();
