/**
 * What went wrong and what to do, by the codes of the API, except conflicts (conflicts.ts). For other codes, and where
 * English has no text, the server's message is shown.
 */
import { texts } from '../look.ts';

type Problems = Record<string, string>;

/** Minutes in the largest unit of which they are a whole number. */
const inUnits = (units: readonly (readonly [minutes: number, one: string, more: string])[]) => (n: number) => {
  const [minutes, one, more] = units.find(([each]) => n > 0 && n % each === 0) ?? [1, '', units.at(-1)?.[2]];
  return n === minutes && one ? `1 ${one}` : `${n / minutes} ${more}`;
};
export const minutesDe = inUnits([
  [1440, 'Tag', 'Tage'],
  [60, 'Stunde', 'Stunden'],
  [1, 'Minute', 'Minuten'],
]);
export const minutesEn = inUnits([
  [1440, 'day', 'days'],
  [60, 'hour', 'hours'],
  [1, 'minute', 'minutes'],
]);

/** What a limit allows, in one sentence each. */
export const limitTexts = texts(
  {
    minutes: minutesDe,
    days: (n: number) => (n === 1 ? '24 Stunden' : `${n} Tage`),
    bookings: (n: number) => (n === 1 ? '1 Buchung' : `${n} Buchungen`),
    TooSoon: (before: string, earliest: string) => `Gebucht wird mindestens ${before} vorher: frühestens ${earliest}.`,
    mustAsk: 'Die Buchung muss genehmigt werden, bevor sie beginnt.',
    TooFarAhead: (ahead: number, start: string, from: string) =>
      `Gebucht wird höchstens ${ahead === 1 ? '1 Tag' : `${ahead} Tage`} im Voraus: der Termin am ${start} ab ${from}.`,
    TooLong: (most: string) => `Möglich sind höchstens ${most}.`,
    QuotaReached: (most: string, week: string, next: string) =>
      `Möglich sind höchstens ${most} in der Woche ab ${week}. Die nächste beginnt am ${next}; sonst sagen Sie eine andere Buchung dieser Woche ab.`,
    policy: (name: string) => `So will es die Regel „${name}“.`,
  },
  {
    minutes: minutesEn,
    days: (n) => (n === 1 ? '24 hours' : `${n} days`),
    bookings: (n) => (n === 1 ? '1 booking' : `${n} bookings`),
    TooSoon: (before, earliest) => `Bookings are made at least ${before} before: the earliest start is ${earliest}.`,
    mustAsk: 'The booking must be approved before it begins.',
    TooFarAhead: (ahead, start, from) =>
      `Bookings are made at most ${ahead === 1 ? '1 day' : `${ahead} days`} ahead: the one of ${start} from ${from} on.`,
    TooLong: (most) => `At most ${most} are possible.`,
    QuotaReached: (most, week, next) =>
      `At most ${most} are possible in the week from ${week}. The next begins on ${next}; otherwise cancel another booking of that week.`,
    policy: (name) => `The policy “${name}” says so.`,
  },
);

export const problemTexts = texts<Problems>(
  {
    Offline:
      'Der Server ist nicht zu erreichen. Was Sie eingegeben haben, bleibt stehen; versuchen Sie es noch einmal, wenn die Verbindung wieder da ist.',
    WasBooked:
      'Ihr voriger Versuch ist doch angekommen, und so gebucht, wie er war. Schließen Sie das Formular; der Zeitplan zeigt die Buchung.',
    WasMade:
      'Ihr voriger Versuch ist doch angekommen. Was er gemacht hat, steht in der Liste und kann nicht mehr gezeigt werden: Widerrufen Sie es, und machen Sie ein neues.',
    NotAuthenticated: 'Sie sind nicht mehr angemeldet. Melden Sie sich an; Ihre Eingaben bleiben stehen.',
    Forbidden: 'Das dürfen Sie nicht. Fragen Sie jemanden, der diesen Raum verwaltet.',
    NotFound: 'Das gibt es nicht mehr. Laden Sie die Ansicht neu.',
    RoomOccupied: 'Der Raum ist in dieser Zeit belegt. Wählen Sie eine andere Zeit oder einen anderen Raum.',
    Conflict: 'Das passt nicht zum jetzigen Stand.',
    PreconditionFailed:
      'Jemand hat das inzwischen geändert. Der neue Stand ist geladen; prüfen Sie ihn und versuchen Sie es noch einmal.',
    InvalidInput: 'Einige Angaben stimmen nicht:',
    LimitExceeded: 'Das waren zu viele Anfragen auf einmal. Warten Sie einen Moment.',
    Unavailable: 'Der Dienst ist gerade nicht verfügbar. Versuchen Sie es gleich noch einmal.',
    InternalError: 'Bei uns ist ein Fehler aufgetreten. Nennen Sie die Kennung, wenn Sie ihn melden.',
    InPast: 'Diese Zeit ist schon vorbei. Nur die Verwaltung bucht Vergangenes.',
    InvalidTime:
      'Möglich sind Zeiten vom Jahr 2000 an, bis drei Jahre im Voraus; das Ende muss nach dem Beginn liegen.',
    OverlapsItself: 'Die Termine der Serie überschneiden sich. Wählen Sie ein früheres Ende, oder weniger Tage.',
    TooSoon: 'So kurzfristig darf dieser Raum nicht gebucht werden.',
    TooFarAhead: 'So weit im Voraus darf dieser Raum nicht gebucht werden.',
    TooLong: 'So lange darf dieser Raum nicht gebucht werden.',
    QuotaReached: 'Ihr Kontingent für diese Woche würde überschritten.',
    OutsideOpeningHours: 'Der Raum ist in dieser Zeit nicht geöffnet.',
    MissingField: 'Diese Angabe fehlt.',
    InvalidValue: 'Diese Angabe ist so nicht möglich',
    InvalidType: 'Diese Angabe hat eine falsche Form',
    UnknownCode:
      'Kein Gerät zeigt diesen Code. Ein Code gilt einmal und nur kurz: Geben Sie den ein, der jetzt auf dem Bildschirm steht.',
    UnknownLocation: 'Diesen Standort gibt es nicht mehr. Wählen Sie einen anderen.',
    UnknownResource: 'Diesen Raum gibt es nicht mehr. Wählen Sie einen anderen.',
    UnknownPerson: 'Diese Person gibt es nicht mehr. Wählen Sie eine andere.',
    UnknownGroup: 'Diese Gruppe gibt es nicht mehr. Wählen Sie eine andere.',
    UnknownPolicy: 'Diese Regel gibt es nicht mehr. Wählen Sie eine andere.',
    DevicesOnly: 'Diese Rolle haben nur Geräte. Wählen Sie eine andere.',
    OfAnotherPerson: 'Das ist das Kürzel oder die E-Mail-Adresse einer anderen Person.',
    OtherDate:
      'Die Termine einer Serie bleiben an ihren Tagen. Sagen Sie die folgenden ab, und legen Sie eine neue Serie an.',
  },
  {
    Offline: 'The server cannot be reached. What you have typed stays; try again when the connection is back.',
    WasBooked:
      'Your earlier attempt has arrived and was booked as you sent it then. Close the form; the timeline shows the booking.',
    WasMade:
      'Your earlier attempt has arrived. Its result is in the list, but cannot be shown any more: revoke it, and create another one.',
    NotAuthenticated: 'You are no longer signed in. Sign in; what you have typed stays.',
    Forbidden: 'You may not do this. Ask somebody who manages this room.',
    NotFound: 'This is no longer there. Load the view again.',
    RoomOccupied: 'The room is taken at this time. Choose another time or another room.',
    Conflict: 'This does not fit the present state.',
    PreconditionFailed: 'Somebody has changed this in the meantime. The new state is loaded; check it and try again.',
    InvalidInput: 'Some of your input is not right:',
    LimitExceeded: 'These were too many requests at once. Wait a moment.',
    Unavailable: 'The service is not available now. Try again in a moment.',
    InternalError: 'Something went wrong on our side. Quote the trace when you report it.',
    InPast: 'This time is over already. Only an Admin may book in the past.',
    InvalidTime: 'Times are possible from the year 2000 on, until three years ahead; the end must be after the start.',
    OverlapsItself: 'The bookings of the series overlap. Choose an earlier end, or fewer days.',
    TooSoon: 'This room may not be booked at such short notice.',
    TooFarAhead: 'This room may not be booked so far ahead.',
    TooLong: 'This room may not be booked for so long.',
    QuotaReached: 'Your quota of this week would be exceeded.',
    OutsideOpeningHours: 'The room is not open at this time.',
    MissingField: 'This is missing.',
  },
);
