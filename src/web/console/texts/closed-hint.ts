import { texts } from '../look.ts';

export const t = texts(
  {
    inside: (hours: string) => `Dann ist der Raum nicht geöffnet, an diesem Tag nur ${hours}.`,
    allDay: 'An diesem Tag ist der Raum geschlossen.',
    moved: 'Der Raum ist dann nicht geöffnet.',
    dates: (n: number, of: number, dates: string) =>
      `An ${n} von ${of} Terminen ist der Raum nicht geöffnet (${dates}).`,
    adminsMay: 'Admins dürfen trotzdem buchen.',
  },
  {
    inside: (hours) => `The room is not open then, on this day only ${hours}.`,
    allDay: 'The room is closed on this day.',
    moved: 'The room is not open then.',
    dates: (n, of, dates) => `On ${n} of ${of} dates the room is not open (${dates}).`,
    adminsMay: 'Admins may book all the same.',
  },
);
