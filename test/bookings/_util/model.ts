/** A model of bookings and lessons in memory, without a database or library; times are milliseconds of Unix time. */

export const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

export type Room = {
  id: number;
  name: string;
  active: boolean;
  checkInMinutes: number | null;
  /** Open on all days, in minutes of the local day; undefined: always. */
  open?: { from: number; to: number };
};
export type Person = { id: number; role: 'Admin' | 'User' };

export type Place = { resourceId: number; start: number; end: number; setup: number; teardown: number };
type CheckIn = { from: number; until: number; done: boolean };
export type Row = Place & {
  id: number;
  kind: 'Booking' | 'Block' | 'Lesson';
  status: string;
  subject: string;
  isPrivate: boolean;
  organizerId: number | null;
  createdBy: number;
  seriesId: number | null;
  checkIn: CheckIn | null;
  version: number;
};

export type Rule = { days: number; count: number; until: 'count' | 'date' | 'instant' | 'before' };
export type Wanted = Place &
  Pick<Row, 'status' | 'subject' | 'isPrivate'> & {
    kind: 'Booking' | 'Block';
    organizerId: number | undefined;
    rule: Rule | undefined;
    skip: boolean;
  };
export type Changes = Partial<Place & Pick<Row, 'status' | 'subject' | 'isPrivate'>>;
type Scope = 'This' | 'Following' | 'All';

export type InTheWay = {
  bookingId: number;
  subject: string;
  start: number;
  end: number;
  wantedStart: number;
};
export type Refusal = { failed: string; conflicts?: InTheWay[] };
export const isRefused = (outcome: object): outcome is Refusal => 'failed' in outcome;
const refuse = (failed: string, conflicts: InTheWay[] = []): Refusal => ({
  failed,
  ...(conflicts.length > 0 && { conflicts }),
});
const conflict = () => refuse('CONFLICT');
const invalid = () => refuse('BAD_USER_INPUT');

/** The last Sunday of March or October, when the clocks of the European Union change at 01:00Z. */
export const clockChange = (year: number, month: 2 | 9) => {
  const last = Date.UTC(year, month, 31);
  return last - new Date(last).getUTCDay() * day + hour;
};

function offsetAt(instant: number): number {
  const year = new Date(instant).getUTCFullYear();
  return instant >= clockChange(year, 2) && instant < clockChange(year, 9) ? 2 * hour : hour;
}
/** What the clocks of Berlin show, as if they were in UTC. */
const toLocal = (instant: number) => instant + offsetAt(instant);
/** The first instant at which they show it; for what they skip, as much later. */
function fromLocal(local: number): number {
  return offsetAt(local - 2 * hour) === 2 * hour ? local - 2 * hour : local - hour;
}
const dateOf = (local: number) => Math.floor(local / day) * day;

/** A booking on the local date of `date`, at the clock time and with the local duration of [start, end). */
function atSameClock(date: number, start: number, end: number): { start: number; end: number } {
  const [from, to] = [toLocal(start), toLocal(end)];
  if (date === dateOf(from)) return { start, end };
  const begins = fromLocal(date + from - dateOf(from));
  return { start: begins, end: fromLocal(toLocal(begins) + (to > from ? to - from : end - start)) };
}

/** `RRULE` of a rule, and its last instant. */
export function writeRule({ days, count, until }: Rule, start: number) {
  const head = days % 7 === 0 ? `FREQ=WEEKLY;INTERVAL=${days / 7}` : `FREQ=DAILY;INTERVAL=${days}`;
  const local = toLocal(start) + (count - 1) * days * day;
  const text = (at: number) => new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const last = fromLocal(local) - (until === 'before' ? 1_000 : 0);
  if (until === 'count') return { text: `${head};COUNT=${count}`, last: Number.POSITIVE_INFINITY };
  if (until === 'date')
    return { text: `${head};UNTIL=${text(local).slice(0, 8)}`, last: fromLocal(dateOf(local) + day) - 1 };
  return { text: `${head};UNTIL=${text(last)}`, last };
}

const isActive = ({ status }: { status: string }) => status === 'Confirmed' || status === 'Tentative';
export const occupied = ({ start, end, setup, teardown }: Place) => ({
  from: start - setup * minute,
  to: end + teardown * minute,
});
const meet = (one: Place, other: Place) => {
  const [a, b] = [occupied(one), occupied(other)];
  return one.resourceId === other.resourceId && a.from < b.to && b.from < a.to;
};

export type Model = ReturnType<typeof openModel>;

export function openModel(rooms: readonly Room[]) {
  let rows = new Map<number, Row>();
  const roomOf = (id: number) => rooms.find((room) => room.id === id) as Room;

  const isOpenAt = (room: Room, instant: number) => {
    const time = toLocal(instant) - dateOf(toLocal(instant));
    return !room.open || (time >= room.open.from * minute && time < room.open.to * minute);
  };
  function isOpen({ resourceId, start, end }: Place): boolean {
    const room = roomOf(resourceId);
    for (let at = start; at < end; at += minute) if (!isOpenAt(room, at)) return false;
    return true;
  }

  const mayRead = ({ id, role }: Person, row: Row) =>
    !row.isPrivate || role === 'Admin' || row.organizerId === id || row.createdBy === id;
  const subjectFor = (viewer: Person, row: Row) => (mayRead(viewer, row) ? row.subject : 'Belegt');

  const inTheWayOf = (place: Place, except: readonly number[]) =>
    [...rows.values()]
      .filter((row) => isActive(row) && !except.includes(row.id) && meet(row, place))
      .sort((one, other) => occupied(one).from - occupied(other).from);
  function conflictsOf(viewer: Person, places: readonly Place[], except: readonly number[] = []): InTheWay[] {
    return places.flatMap((place) =>
      inTheWayOf(place, except)
        .slice(0, places.length > 1 ? 10 : 100)
        .map((row) => ({
          bookingId: row.id,
          subject: subjectFor(viewer, row),
          start: occupied(row).from,
          end: occupied(row).to,
          wantedStart: place.start,
        })),
    );
  }

  const checkInOf = ({ resourceId, start, end }: Place, kind: string, now: number): CheckIn | null => {
    const { checkInMinutes } = roomOf(resourceId);
    if (checkInMinutes === null || kind !== 'Booking' || end <= now) return null;
    const until = Math.min(Math.max(start, now) + checkInMinutes * minute, end);
    return { from: start - 15 * minute, until, done: false };
  };
  const areTimesWrong = (viewer: Person, kind: string, { start, end }: Place, now: number) =>
    end <= start || end - start > (kind === 'Block' ? 366 : 1) * day || (viewer.role !== 'Admin' && end <= now);
  const isClosedFor = (viewer: Person, kind: string, places: readonly Place[]) =>
    viewer.role !== 'Admin' && kind !== 'Block' && !places.every(isOpen);
  const overlapsItself = (places: readonly Place[]) =>
    places.some((one, at) => places.slice(at + 1).some((other) => meet(one, other)));

  /** Where a new booking or series would be, and which of it is free. */
  function create(
    viewer: Person,
    wanted: Wanted,
    now: number,
  ): Refusal | { made: Omit<Row, 'id'>[]; skipped: { start: number; end: number; conflicts: InTheWay[] }[] } {
    const { rule, skip, organizerId = viewer.id, ...members } = wanted;
    if (viewer.role === 'User' && (wanted.kind === 'Block' || organizerId !== viewer.id)) return refuse('FORBIDDEN');
    if (areTimesWrong(viewer, wanted.kind, wanted, now)) return invalid();
    const first = dateOf(toLocal(wanted.start));
    const last = rule ? writeRule(rule, wanted.start).last : Number.POSITIVE_INFINITY;
    const places = Array.from({ length: rule?.count ?? 1 }, (_, at) => ({
      ...wanted,
      ...atSameClock(first + at * (rule?.days ?? 0) * day, wanted.start, wanted.end),
    })).filter(({ start }) => start <= last);
    // A series ends before it begins.
    if (places.length === 0) return invalid();
    if (overlapsItself(places)) return invalid();
    const closed = places.filter((place) => isClosedFor(viewer, wanted.kind, [place]));
    if (closed.length > 0 && (!skip || closed.length === places.length)) return invalid();
    if (!roomOf(wanted.resourceId).active) return conflict();
    const open = places.filter((place) => !closed.includes(place));
    const conflicts = conflictsOf(viewer, open);
    const against = ({ start }: Place) => conflicts.filter(({ wantedStart }) => wantedStart === start);
    const free = open.filter((place) => against(place).length === 0);
    if (free.length === 0 || (conflicts.length > 0 && !skip)) return refuse('CONFLICT', conflicts);
    return {
      made: free.map((place) => ({
        ...members,
        start: place.start,
        end: place.end,
        organizerId,
        createdBy: viewer.id,
        seriesId: null,
        checkIn: checkInOf(place, wanted.kind, now),
        version: 1,
      })),
      skipped: places
        .filter((place) => !free.includes(place))
        .map((place) => ({ start: place.start, end: place.end, conflicts: against(place) })),
    };
  }

  function hold(viewer: Person, id: number, scope: Scope, now: number): Refusal | { named: Row; meant: Row[] } {
    const named = rows.get(id);
    if (!named) return refuse('NOT_FOUND');
    if (named.kind === 'Lesson') return conflict();
    if (viewer.role === 'User' && ![named.organizerId, named.createdBy].includes(viewer.id)) return refuse('FORBIDDEN');
    if (scope === 'This') return { named, meant: [named] };
    const meant = [...rows.values()].filter(
      (row) =>
        (row === named || (named.seriesId !== null && row.seriesId === named.seriesId)) &&
        isActive(row) &&
        row.end > now &&
        (scope === 'All' || row === named || row.start > named.start),
    );
    return { named, meant };
  }

  const samePlace = (one: Place, other: Place) =>
    one.resourceId === other.resourceId &&
    occupied(one).from === occupied(other).from &&
    occupied(one).to === occupied(other).to;
  const sameTimes = (one: Place, other: Place) => one.start === other.start && one.end === other.end;

  /** The bookings of a change after it. */
  function change(
    viewer: Person,
    id: number,
    changes: Changes,
    { scope, skip, version, now }: { scope: Scope; skip: boolean; version: number | undefined; now: number },
  ): Refusal | { written: Row[] } {
    const held = hold(viewer, id, scope, now);
    if (isRefused(held)) return held;
    const { named, meant } = held;
    if (version !== undefined && version !== named.version) return refuse('VERSION');
    if (!isActive(named) || (meant.length === 0 && named.end <= now)) return conflict();
    const target = { ...named, ...changes };
    const hasNewTimes = !sameTimes(named, target);
    const changed = dateOf(toLocal(named.start)) !== dateOf(toLocal(target.start));
    if (hasNewTimes && scope !== 'This' && named.seriesId !== null && changed) return invalid();
    const steps = meant
      .map((old) => {
        const to: Row = { ...old, ...changes, start: old.start, end: old.end };
        if (hasNewTimes && old === named) Object.assign(to, { start: target.start, end: target.end });
        else if (hasNewTimes) Object.assign(to, atSameClock(dateOf(toLocal(old.start)), target.start, target.end));
        const isElsewhere = to.resourceId !== old.resourceId || to.start !== old.start;
        if (isElsewhere && !old.checkIn?.done) to.checkIn = checkInOf(to, to.kind, now);
        else if (to.checkIn) to.checkIn = { ...to.checkIn, until: Math.min(to.checkIn.until, to.end) };
        return { old, to };
      })
      .filter(({ old, to }) => JSON.stringify(old) !== JSON.stringify(to));
    const moved = steps.filter(({ old, to }) => !samePlace(old, to) || !sameTimes(old, to));
    for (const { old, to } of moved) {
      if (!sameTimes(old, to) && areTimesWrong(viewer, to.kind, to, now)) return invalid();
      if (!roomOf(to.resourceId).active) return conflict();
    }
    if (overlapsItself(moved.map(({ to }) => to))) return invalid();
    const reopened = moved.filter(({ old, to }) => !sameTimes(old, to) || old.resourceId !== to.resourceId);
    if (
      isClosedFor(
        viewer,
        named.kind,
        reopened.map(({ to }) => to),
      )
    )
      return invalid();
    const conflicts: InTheWay[] = [];
    let free = moved;
    for (;;) {
      const found = conflictsOf(
        viewer,
        free.map(({ to }) => to),
        free.map(({ to }) => to.id),
      );
      if (found.length === 0) break;
      conflicts.push(...found);
      free = free.filter(({ to }) => !found.some(({ wantedStart }) => wantedStart === to.start));
      if (!skip) break;
    }
    const possible = [...steps.filter((step) => !moved.includes(step)), ...free];
    if (conflicts.length > 0 && (!skip || possible.length === 0)) return refuse('CONFLICT', conflicts);
    return { written: possible.map(({ to }) => ({ ...to, version: to.version + 1 })) };
  }

  function extend(viewer: Person, id: number, minutes: number, now: number): Refusal | { written: Row[] } {
    const held = hold(viewer, id, 'This', now);
    if (isRefused(held)) return held;
    const { named } = held;
    if (!isActive(named) || named.end <= now) return conflict();
    const changes = { end: named.end + minutes * minute };
    return change(viewer, id, changes, { scope: 'This', skip: false, version: undefined, now });
  }

  function cancel(
    viewer: Person,
    id: number,
    { scope, version, now }: { scope: Scope; version: number | undefined; now: number },
  ): Refusal | { written: Row[] } {
    const held = hold(viewer, id, scope, now);
    if (isRefused(held)) return held;
    const { named, meant } = held;
    if (named.status !== 'Cancelled') {
      if (version !== undefined && version !== named.version) return refuse('VERSION');
      if (meant.every((row) => row === named) && (!isActive(named) || named.end <= now)) return conflict();
    }
    return {
      written: meant.filter(isActive).map((row) => ({ ...row, status: 'Cancelled', version: row.version + 1 })),
    };
  }

  function attend(
    viewer: Person,
    id: number,
    act: 'checkIn' | 'releaseBooking',
    now: number,
  ): Refusal | { written: Row[] } {
    const held = hold(viewer, id, 'This', now);
    if (isRefused(held)) return held;
    const { named } = held;
    const version = named.version + 1;
    if (act === 'releaseBooking') {
      if (named.status === 'Released') return { written: [] };
      if (!isActive(named) || named.end <= now) return conflict();
      return { written: [{ ...named, status: 'Released', version }] };
    }
    if (!isActive(named) || !named.checkIn) return conflict();
    if (named.checkIn.done) return { written: [] };
    if (now < named.checkIn.from || now >= named.checkIn.until) return conflict();
    return { written: [{ ...named, checkIn: { ...named.checkIn, done: true }, version }] };
  }

  /** `[begin, end)` of each stretch of minutes for which `holds`, from `from` on. */
  function stretches(from: number, to: number, holds: (at: number) => boolean) {
    const found: { start: number; end: number }[] = [];
    for (let at = from; at < to; at += minute) {
      if (!holds(at)) continue;
      const last = found.at(-1);
      if (last?.end === at) last.end += minute;
      else found.push({ start: at, end: at + minute });
    }
    return found;
  }

  return {
    create,
    change,
    extend,
    cancel,
    attend,
    inTheWayOf,
    subjectFor,
    rows: () => rows,
    write: (written: readonly Row[]) => {
      rows = new Map([...rows, ...written.map((row) => [row.id, row] as const)]);
    },
    isPossible: (viewer: Person, kind: string, place: Place) =>
      roomOf(place.resourceId).active &&
      (kind === 'Block' || viewer.role === 'Admin' || isOpen(place)) &&
      inTheWayOf(place, []).length === 0,
    /** Minute by minute. */
    availability(resourceId: number, from: number, to: number) {
      const taken = [...rows.values()].filter((row) => row.resourceId === resourceId && isActive(row)).map(occupied);
      const isBusy = (at: number) => taken.some((place) => place.from <= at && at < place.to);
      const room = roomOf(resourceId);
      return {
        busy: stretches(from, to, isBusy),
        free: stretches(from, to, (at) => isOpenAt(room, at) && !isBusy(at)),
      };
    },
  };
}
