/** Local times that clocks skip or show twice, with the instants that the server, door signs and the console mean by them. */
export const localTimes = [
  ['America/New_York', '2027-03-14T02:30', '2027-03-14T07:30:00.000Z'],
  ['Europe/Berlin', '2027-10-31T02:30', '2027-10-31T00:30:00.000Z'],
  ['America/Santiago', '2027-09-05T00:00', '2027-09-05T04:00:00.000Z'],
  ['Australia/Lord_Howe', '2027-04-04T01:45', '2027-04-03T14:45:00.000Z'],
  ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T22:00:00.000Z'],
] as const;

const day = 86_400_000;
const clocks = new Map<string, Intl.DateTimeFormat>();

/** What the clocks of a zone show, as the instant at which clocks in UTC would. */
export function shown(instant: number, timeZone: string): number {
  const clock =
    clocks.get(timeZone) ??
    new Intl.DateTimeFormat('en', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  clocks.set(timeZone, clock);
  const part = Object.fromEntries(clock.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(part['year']!, part['month']! - 1, part['day']!, part['hour']!, part['minute']!, part['second']!);
}

/** The first instant at which a zone's clocks show this; where they skip it, as much later as they are set forward. */
export function instantOf(local: number, timeZone: string): number {
  const offsets = [local - day, local + day].map((near) => shown(near, timeZone) - near);
  const meeting = offsets.map((offset) => local - offset).filter((instant) => shown(instant, timeZone) === local);
  return meeting.length > 0 ? Math.min(...meeting) : local - offsets[0]!;
}
