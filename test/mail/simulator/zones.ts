import { Temporal } from 'temporal-polyfill';

/** What Exchange calls them. */
const windowsNames: Record<string, string> = {
  UTC: 'UTC',
  'Europe/Berlin': 'W. Europe Standard Time',
  'Europe/Vienna': 'W. Europe Standard Time',
  'Europe/Zurich': 'W. Europe Standard Time',
  'Europe/Paris': 'Romance Standard Time',
  'Europe/London': 'GMT Standard Time',
  'Europe/Lisbon': 'GMT Standard Time',
  'Europe/Helsinki': 'FLE Standard Time',
  'America/New_York': 'Eastern Standard Time',
  'America/Los_Angeles': 'Pacific Standard Time',
  'Asia/Tokyo': 'Tokyo Standard Time',
  'Asia/Kolkata': 'India Standard Time',
  'Australia/Sydney': 'AUS Eastern Standard Time',
};

export const isZone = (zone: string) => Object.hasOwn(windowsNames, zone);
export const windowsName = (zone: string) => windowsNames[zone] ?? 'UTC';
export const zoneOfWindows = (name: string) =>
  Object.entries(windowsNames).find(([zone, windows]) => windows === name || zone === name)?.[0];

/** @param local `2026-11-20T09:00:00`, or a date, whose beginning it is */
export function toInstant(local: string, zone: string): number {
  const plain = local.includes('T') ? local : `${local}T00:00:00`;
  if (zone === 'UTC') return Date.parse(`${plain}Z`);
  return Temporal.PlainDateTime.from(plain).toZonedDateTime(zone).epochMilliseconds;
}

/** `2026-11-20T09:00:00` */
export function toLocal(instant: number, zone: string): string {
  if (zone === 'UTC') return new Date(instant).toISOString().slice(0, 19);
  return Temporal.Instant.fromEpochMilliseconds(instant)
    .toZonedDateTimeISO(zone)
    .toPlainDateTime()
    .toString({ smallestUnit: 'second' });
}

export const dayMs = 86_400_000;

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10);
}

/** 0 is Sunday. */
export const weekday = (date: string) => new Date(`${date}T00:00:00Z`).getUTCDay();
