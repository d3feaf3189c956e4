/** The page of all rooms of a location. */
import { barKey, describeBar, drawBar } from './bar-view.ts';
import { drawChange } from './change-view.ts';
import { clockTime, isNight, localDay } from './clock.ts';
import { nextHoursBar } from './day-bar.ts';
import { stayAwake } from './device.ts';
import { button, byId, fitTiles, icon, make, show } from './dom.ts';
import type { ShownRoom, ShownSlot } from './frames.ts';
import type { Text } from './german.ts';
import { leastType, pageOf, spread } from './grid.ts';
import { dateLine, endOf, instantLine, timesLine, titleLine, untilLine } from './lines.ts';
import { drawLook } from './look.ts';
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
/** How long after a touch the pages stay before they turn by themselves again. */
const pauseForMs = 300_000;

/** If set, no page turns by itself. */
const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;

let page = 0;
let turnedAt = 0;
let isPaused = isStill;
/** The rooms of this round of pages. */
let round: ShownRoom['resource']['id'][] = [];

/** Lessons of today that are cancelled or have moved away, until they are over wherever they are now. */
const goneToday = ({ slots, zoneOffsets }: ShownRoom, now: number) =>
  slots.filter(
    (slot) => !slot.occupies && now < endOf(slot) && localDay(zoneOffsets, slot.start) === localDay(zoneOffsets, now),
  );

function tile(room: ShownRoom, now: number): HTMLElement {
  const { zoneOffsets, resource } = room;
  const sight = lookAt(room, now);
  const { status, current, next } = sight;
  const bar = nextHoursBar(room, now, shownHours);
  const times = (slot: ShownSlot) => timesLine(text, zoneOffsets, slot, now);
  const lines = (label: string, slot: typeof current) =>
    slot
      ? [
          make('p', { class: 'line' }, `${label} ${times(slot)} `, make('b', {}, titleLine(text, slot))),
          drawChange(text, zoneOffsets, slot, now),
        ]
      : [];
  const gone = goneToday(room, now).flatMap((slot) => [
    make('p', { class: 'line' }, make('s', {}, `${times(slot)} · ${titleLine(text, slot)}`)),
    drawChange(text, zoneOffsets, slot, now),
  ]);
  const age = sight.age === 'fresh' ? '' : text.asOf(instantLine(text, zoneOffsets, room.asOf, now));
  const until = untilLine(text, room, sight, now);
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
      ...lines(text.now, current),
      ...gone,
      ...lines(text.after, next),
    ),
    ...(now < room.end ? drawBar(bar, describeBar(text, zoneOffsets, bar, room.open)) : []),
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
    goneToday(room, now).length,
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
  const turner = (id: string, label: string, act: () => void) => {
    const tap = () => {
      act();
      turnedAt = performance.now();
      draw();
    };
    return button(id, tap, label);
  };
  const turn = (by: number) => {
    page = (page + by + all) % all;
    isPaused = true;
  };
  show(byId('pages'), [page, all, isPaused], () => [
    make('strong', {}, text.page(page + 1, all)),
    turner('back', text.back, () => turn(-1)),
    turner('forward', text.forward, () => turn(1)),
    !isStill &&
      turner('pause', isPaused ? text.resume : text.pause, () => {
        isPaused = !isPaused;
      }),
  ]);
}

/** First the rooms where something is on, begins soon or has changed; then the free ones; then those that cannot be used. */
function rank(room: ShownRoom, now: number): number {
  const { status } = lookAt(room, now);
  if (goneToday(room, now).length > 0) return 0;
  return status === 'FREE' ? 1 : status === 'CLOSED' || status === 'OUT_OF_SERVICE' || status === 'UNKNOWN' ? 2 : 0;
}

/** On several pages, rooms by rank; the order stays for a round, so that no room changes pages meanwhile. */
function inRound(rooms: ShownRoom[], now: number): ShownRoom[] {
  const known = new Map(rooms.map((room) => [room.resource.id, room]));
  const isSame = round.length === rooms.length && round.every((id) => known.has(id));
  if (page === 0 || !isSame) {
    const ranks = new Map(rooms.map((room) => [room, rank(room, now)]));
    round = [...rooms]
      .sort((one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0))
      .map(({ resource }) => resource.id);
  }
  return round.flatMap((id) => known.get(id) ?? []);
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
  drawLook(watch.look, root.dataset['theme'] === 'night');
  const place = first.resource.locationName;
  const free = text.freeOf(
    states.filter((status) => status === 'FREE' || status === 'STARTING_SOON').length,
    rooms.length,
  );
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
  const grid = spread(rooms.length, box.clientWidth, box.clientHeight, leastType(innerWidth, innerHeight));
  if (!isStill && performance.now() - turnedAt > (isPaused ? pauseForMs : turnEveryMs)) {
    isPaused = false;
    page++;
    turnedAt = performance.now();
  }
  page %= grid.pages;
  drawPages(grid.pages);
  const onPage = grid.pages > 1 ? pageOf(inRound(rooms, now), grid, page) : rooms;
  const keys = onPage.map((room) => tileKey(room, now));
  const isNew = show(box, [grid, keys, box.clientWidth, box.clientHeight], () => {
    box.style.gridTemplate = `repeat(${grid.rows}, minmax(0, 1fr)) / repeat(${grid.columns}, minmax(0, 1fr))`;
    box.style.setProperty('--room', `${grid.type}px`);
    return onPage.map((room) => tile(room, now));
  });
  if (isNew) fitTiles([...box.querySelectorAll<HTMLElement>('.words')]);
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
