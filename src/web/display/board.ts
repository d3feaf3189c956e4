/** The page of all rooms of a location. */
import { barKey, describeBar, drawBar } from './bar-view.ts';
import { clockTime, isNight } from './clock.ts';
import { nextHoursBar } from './day-bar.ts';
import { stayAwake } from './device.ts';
import { byId, icon, make, show } from './dom.ts';
import type { ShownRoom } from './frames.ts';
import type { Text } from './german.ts';
import { pageOf, spread } from './grid.ts';
import { changeLine, dateLine, instantLine, timesLine, titleLine, untilLine } from './lines.ts';
import { openSession } from './session.ts';
import { lookAt } from './sight.ts';
import { startWatch, type Watch } from './watch.ts';

const parameters = new URLSearchParams(location.search);
let text: Text;
let watch: Watch;
let order: Intl.Collator;
const root = document.documentElement;
const shownHours = 8;
const turnEveryMs = 15_000;
/** Then the pages turn again by themselves. */
const pauseForMs = 300_000;

let page = 0;
let turnedAt = 0;
let isPaused = false;

function tile(room: ShownRoom, now: number): HTMLElement {
  const { zoneOffsets, resource } = room;
  const sight = lookAt(room, now);
  const { status, current, next } = sight;
  const bar = nextHoursBar(room, now, shownHours);
  const line = (label: string, slot: typeof current) =>
    slot &&
    make(
      'p',
      { class: 'line' },
      [`${label} ${timesLine(text, zoneOffsets, slot)}`, titleLine(text, slot), changeLine(text, zoneOffsets, slot)]
        .filter(Boolean)
        .join(' · '),
    );
  const changed = room.slots.find(({ occupies, start, end }) => !occupies && start <= now && now < end);
  const age = sight.age === 'fresh' ? '' : text.asOf(instantLine(text, zoneOffsets, room.asOf, now));
  const until = untilLine(text, zoneOffsets, sight, room.asOf, now);
  const isShort = until === text.until(instantLine(text, zoneOffsets, sight.until ?? now, now));
  return make(
    'li',
    { class: status },
    make('div', { class: 'tone' }, icon(status)),
    make(
      'div',
      { class: 'words' },
      make('h2', {}, resource.name),
      make('p', { class: 'word' }, isShort ? `${text.states[status]} ${until}` : text.states[status]),
      make('p', { class: 'line' }, [isShort ? '' : until, age].filter(Boolean).join(' · ')),
      line(text.now, current ?? changed),
      line(text.after, next),
    ),
    ...drawBar(bar, describeBar(text, zoneOffsets, bar, room.open)),
  );
}

/** A short key of what a tile shows, for `show`. */
function tileKey(room: ShownRoom, now: number): unknown {
  const { status, until, current, next, age } = lookAt(room, now);
  return [
    room.cursor,
    room.resource.name,
    status,
    until,
    current?.bookingId,
    next?.bookingId,
    age !== 'fresh' && room.asOf,
    barKey(nextHoursBar(room, now, shownHours)),
  ];
}

function drawNotice(rooms: ShownRoom[], now: number): void {
  const isOffline = watch.state === 'offline' || watch.state === 'connecting';
  const oldest = rooms.reduce((one, other) => (other.asOf < one.asOf ? other : one));
  const isOld = lookAt(oldest, now).age !== 'fresh';
  const age = isOld ? text.asOf(instantLine(text, oldest.zoneOffsets, oldest.asOf, now)) : '';
  const reason = isOffline ? text.offline : isOld ? text.stale : '';
  byId('notice').hidden = !reason;
  show(byId('notice'), [age, reason], () => [
    icon(isOffline ? 'offline' : 'stale'),
    age && make('strong', {}, age),
    make('span', {}, reason),
  ]);
}

function drawPages(all: number): void {
  byId('pages').hidden = all < 2;
  show(byId('pages'), [page, all, isPaused], () => {
    const button = make('button', { type: 'button', id: 'pause' }, isPaused ? text.resume : text.pause);
    button.addEventListener('click', () => {
      isPaused = !isPaused;
      turnedAt = performance.now();
      draw();
    });
    return [make('span', {}, text.page(page + 1, all)), button];
  });
}

function draw(): void {
  const now = watch.clock.now();
  const rooms = [...watch.rooms.values()].sort((one, other) => order.compare(one.resource.name, other.resource.name));
  const [first] = rooms;
  root.dataset['link'] = watch.state;
  if (now === undefined || byId('page').hidden) return;
  if (!first) return void show(byId('rooms'), 'none', () => [make('li', {}, text.noRooms)]);
  const sights = rooms.map((room) => lookAt(room, now));
  const states = sights.map(({ status }) => status);
  const dark = isNight(first.zoneOffsets, now) || states.every((status) => status === 'CLOSED');
  root.dataset['theme'] = parameters.get('theme') || (dark ? 'night' : 'day');
  const place = first.resource.locationName;
  const free = text.freeOf(states.filter((status) => status === 'FREE').length, rooms.length);
  const heading = sights.some(({ age }) => age === 'lost') ? '' : free;
  document.title = `${place} – ${text.rooms}`;
  show(byId('title'), [place, heading], () => [make('h1', {}, place), make('p', {}, heading)]);
  const time = clockTime(first.zoneOffsets, now);
  show(byId('clock'), [time], () => [
    make('span', {}, dateLine(text, first.zoneOffsets, now)),
    make('strong', {}, time),
  ]);
  drawNotice(rooms, now);
  const box = byId('rooms');
  const grid = spread(rooms.length, box.clientWidth, box.clientHeight);
  if (performance.now() - turnedAt > (isPaused ? pauseForMs : turnEveryMs)) {
    isPaused = false;
    page++;
    turnedAt = performance.now();
  }
  page %= grid.pages;
  drawPages(grid.pages);
  const onPage = pageOf(rooms, grid, page);
  const keys = onPage.map((room) => tileKey(room, now));
  show(box, [grid, keys], () => {
    box.style.gridTemplate = `repeat(${grid.rows}, minmax(0, 1fr)) / repeat(${grid.columns}, minmax(0, 1fr))`;
    box.style.setProperty('--room', `${grid.type}px`);
    return onPage.map((room) => tile(room, now));
  });
}

async function main(): Promise<void> {
  const session = await openSession();
  ({ text } = session);
  order = new Intl.Collator(session.language, { numeric: true });
  watch = startWatch({
    session,
    kind: 'board',
    isPaper: false,
    changed: () => draw(),
    isIdle: () => true,
  });
  stayAwake();
  setInterval(draw, 1_000);
  addEventListener('resize', draw);
}

void main();
