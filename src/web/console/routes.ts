/** Which screens there are. The module of a screen is loaded when it is opened. */
import { place } from './address.ts';
import type { Role } from './generated/graphql.ts';
import type { Language } from './look.ts';
import type { Staged } from './parts/stage.ts';

export type Screen = Staged & {
  title: Record<Language, string>;
  roles: readonly Role[];
};

const everybody: readonly Role[] = ['User', 'Importer', 'Admin'];

/** In the order of the navigation; the first is where people begin. A screen is one line here. */
export const screens: readonly Screen[] = [
  { name: 'rooms', title: { de: 'Räume', en: 'Rooms' }, roles: everybody, load: () => import('./screens/rooms.ts') },
  {
    name: 'changes',
    title: { de: 'Änderungen', en: 'Changes' },
    roles: everybody,
    load: () => import('./screens/changes.ts'),
  },
  {
    name: 'timetables',
    title: { de: 'Stundenpläne', en: 'Timetables' },
    roles: ['Importer', 'Admin'],
    load: () => import('./screens/timetables.ts'),
  },
  {
    name: 'master',
    title: { de: 'Stammdaten', en: 'Master data' },
    roles: ['Admin'],
    load: () => import('./screens/master.ts'),
  },
  {
    name: 'activity',
    title: { de: 'Geschehen', en: 'Activity' },
    roles: ['Admin'],
    load: () => import('./screens/activity.ts'),
  },
  {
    name: 'calendars',
    title: { de: 'Kalender', en: 'Calendars' },
    roles: everybody,
    load: () => import('./screens/calendars.ts'),
  },
  {
    name: 'signs',
    title: { de: 'Türschilder', en: 'Door signs' },
    roles: ['Admin'],
    load: () => import('./screens/signs.ts'),
  },
  {
    name: 'mail',
    title: { de: 'Mail', en: 'Mail' },
    roles: ['Admin'],
    load: () => import('./screens/mail.ts'),
  },
  {
    name: 'use',
    title: { de: 'Nutzung', en: 'Use' },
    roles: ['Admin'],
    load: () => import('./screens/use.ts'),
  },
];

export const screenOf = (role: Role): Screen | undefined => {
  const allowed = screens.filter(({ roles }) => roles.includes(role));
  return allowed.find(({ name }) => name === place.value['screen']) ?? allowed[0];
};
