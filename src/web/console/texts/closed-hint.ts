import { texts } from '../look.ts';

export const t = texts(
  {
    inside: (hours: string) =>
      `Dann ist der Raum nicht geöffnet, an diesem Tag nur ${hours}. Admins dürfen trotzdem buchen.`,
    allDay: 'An diesem Tag ist der Raum geschlossen. Admins dürfen trotzdem buchen.',
    moved: 'Der Raum ist dann nicht geöffnet.',
    dates: (n: number, of: number, dates: string) =>
      `An ${n} von ${of} Terminen ist der Raum nicht geöffnet (${dates}). Admins dürfen trotzdem buchen.`,
  },
  {
    inside: (hours) => `The room is not open then, on this day only ${hours}. Admins may book all the same.`,
    allDay: 'The room is closed on this day. Admins may book all the same.',
    moved: 'The room is not open then.',
    dates: (n, of, dates) => `On ${n} of ${of} dates the room is not open (${dates}). Admins may book all the same.`,
  },
);
