/** Which screens there are. The module of a screen is loaded when it is opened. */
import { place } from './address.ts';
import type { Language } from './look.ts';
import type { Staged } from './parts/stage.ts';
import type { Person } from './session.ts';

export type Screen = Staged & {
  title: Record<Language, string>;
  /** Whether the person sees the screen. */
  isFor: (person: Person) => boolean;
};

const everybody = ({ role }: Person) => role !== 'Display';
const importers = ({ mayImport }: Person) => mayImport;
const admins = ({ role }: Person) => role === 'Admin';

/** In the order of the navigation; the console opens with the first. */
export const screens: readonly Screen[] = [
  { name: 'rooms', title: { de: 'Räume', en: 'Rooms' }, isFor: everybody, load: () => import('./screens/rooms.ts') },
  {
    name: 'mine',
    title: { de: 'Meine Buchungen', en: 'My bookings' },
    isFor: everybody,
    load: () => import('./screens/mine.ts'),
  },
  {
    name: 'changes',
    title: { de: 'Änderungen', en: 'Changes' },
    isFor: everybody,
    load: () => import('./screens/changes.ts'),
  },
  {
    name: 'timetables',
    title: { de: 'Stundenpläne', en: 'Timetables' },
    isFor: importers,
    load: () => import('./screens/timetables.ts'),
  },
  {
    name: 'master',
    title: { de: 'Stammdaten', en: 'Master data' },
    isFor: admins,
    load: () => import('./screens/master.ts'),
  },
  {
    name: 'activity',
    title: { de: 'Geschehen', en: 'Activity' },
    isFor: admins,
    load: () => import('./screens/activity.ts'),
  },
  {
    name: 'calendars',
    title: { de: 'Kalender', en: 'Calendars' },
    isFor: everybody,
    load: () => import('./screens/calendars.ts'),
  },
  {
    name: 'signs',
    title: { de: 'Türschilder', en: 'Door signs' },
    isFor: admins,
    load: () => import('./screens/signs.ts'),
  },
  {
    name: 'mail',
    title: { de: 'Mail', en: 'Mail' },
    isFor: admins,
    load: () => import('./screens/mail.ts'),
  },
  {
    name: 'webhooks',
    title: { de: 'Webhooks', en: 'Webhooks' },
    isFor: admins,
    load: () => import('./screens/webhooks.ts'),
  },
  {
    name: 'use',
    title: { de: 'Nutzung', en: 'Use' },
    isFor: admins,
    load: () => import('./screens/use.ts'),
  },
];

export const screenOf = (person: Person): Screen | undefined => {
  const allowed = screens.filter(({ isFor }) => isFor(person));
  return allowed.find(({ name }) => name === place.value['screen']) ?? allowed[0];
};
