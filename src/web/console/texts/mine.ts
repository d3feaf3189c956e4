/** Texts of one's own bookings. */
import { texts } from '../look.ts';

export const t = texts(
  {
    title: 'Meine Buchungen',
    what: 'Alles, was für Sie gebucht ist, in allen Räumen. Ihre Lektionen stehen unter „Änderungen“.',
    upcoming: 'Kommende',
    past: 'Vergangene',
    ofLastYear: 'Die letzten 366 Tage.',
    act: 'Absagen',
    cancelThis: (what: string) => `${what} absagen`,
    willCancel: 'Die Buchung wird abgesagt …',
    noneUpcoming: 'Für Sie ist nichts gebucht. Unter „Räume“ buchen Sie einen Raum.',
    nonePast: 'In den letzten 366 Tagen war nichts für Sie gebucht.',
  },
  {
    title: 'My bookings',
    what: 'All that is booked for you, in all rooms. Your lessons are in “Changes”.',
    upcoming: 'Upcoming',
    past: 'Past',
    ofLastYear: 'The last 366 days.',
    act: 'Cancel',
    cancelThis: (what: string) => `Cancel ${what}`,
    willCancel: 'Cancelling the booking …',
    noneUpcoming: 'Nothing is booked for you. Book a room in “Rooms”.',
    nonePast: 'Nothing was booked for you in the last 366 days.',
  },
);
