import { texts } from '../look.ts';

type Names = Record<string, string>;

export const t = texts(
  {
    title: 'Geschehen',
    attention: 'Was Aufmerksamkeit braucht',
    nothing: 'Im Moment nichts: Türschilder, Kalender, Importe, Anfragen und PINs sind in Ordnung.',
    refresh: 'Neu prüfen',
    levels: { fault: 'Störung', warning: 'Hinweis' },
    silent: (name: string, since: string) => `Türschild ${name} schweigt seit ${since}.`,
    signsEnd: (name: string, at: string) =>
      `Das Türschild ${name} meldet sich nicht mehr; seine Kopplung endet am ${at}.`,
    battery: (name: string, percent: number) => `Der Akku von Türschild ${name} ist bei ${percent} %.`,
    note: (name: string, note: string) => `Türschild ${name} meldet: ${note}`,
    mailFault: (name: string, fault: string) => `Der Kalender von ${name} kann nicht gelesen werden: ${fault}`,
    mailFaults: {
      Unreachable: 'Der Mailserver antwortet nicht.',
      AccessLost: 'Der Mailserver verweigert den Zugriff.',
      Throttled: 'Der Mailserver bittet um eine Pause.',
      StateLost: 'Der Kalender wird von Anfang an neu gelesen.',
      Unreadable: 'Die Antwort des Mailservers ist nicht zu lesen.',
      TooLarge: 'Der Kalender ist zu groß.',
    } as Names,
    conflicts: (name: string, n: number) =>
      `${n === 1 ? '1 Termin' : `${n} Termine`} im Kalender von ${name} ${n === 1 ? 'ist' : 'sind'} nicht gebucht, weil der Raum belegt ist.`,
    unreadable: (name: string, n: number) =>
      `${n === 1 ? '1 Termin' : `${n} Termine`} im Kalender von ${name} ${n === 1 ? 'ist' : 'sind'} nicht zu lesen.`,
    unwritable: (name: string, why: string) => `In den Kalender von ${name} kann nicht geschrieben werden: ${why}`,
    unwritten: (name: string, n: number) =>
      `${n === 1 ? '1 Buchung steht' : `${n} Buchungen stehen`} nicht so im Kalender von ${name}, wie gebucht ist.`,
    batch: (who: string, at: string, errors: number) =>
      `Ein Import von ${who} ist am ${at} gescheitert${errors ? `, mit ${errors} ${errors === 1 ? 'Fehler' : 'Fehlern'}` : ''}.`,
    requests: (n: number, more: boolean) =>
      `${more ? `Mehr als ${n}` : n} ${n === 1 ? 'Anfrage wartet' : 'Anfragen warten'} auf eine Entscheidung.`,
    pinEnds: (name: string, label: string | null, at: string) =>
      `Die PIN ${label ? `„${label}“ ` : ''}von ${name} endet am ${at}.`,
    pinEnded: (name: string, label: string | null, at: string) =>
      `Die PIN ${label ? `„${label}“ ` : ''}von ${name} ist am ${at} abgelaufen.`,
    problem: (room: string, kind: string, text: string | null, at: string) =>
      `${room}: ${kind}${text ? `, „${text}“` : ''}, gemeldet ${at}.`,
    problems: {
      Heating: 'Heizung, Lüftung',
      Light: 'Licht',
      Projector: 'Beamer, Bildschirm',
      Network: 'Netzwerk',
      Furniture: 'Möbel',
      Cleaning: 'Reinigung',
      Other: 'anderes Problem',
    } as Names,
    webhookDisabled: (name: string, why: string, at: string) =>
      `An den Webhook ${name} wird seit ${at} nichts gesendet: ${why}`,
    webhookReasons: {
      Gone: 'Der Empfänger will nichts mehr (410).',
      Failing: 'Drei Tage lang hat er ein Ereignis nicht angenommen.',
      HistoryLost: 'Was als Nächstes käme, ist nicht mehr aufbewahrt.',
    } as Names,
    webhookFails: (name: string, since: string) => `Der Webhook ${name} nimmt seit ${since} nichts an.`,
    enable: 'Wieder senden',
    settle: 'Erledigt',
    willSettle: 'Das Problem gilt als erledigt.',
    open: {
      signs: 'Türschilder',
      mail: 'Mail',
      webhooks: 'Webhooks',
      timetables: 'Stundenpläne',
      rooms: 'Räume',
      master: 'Stammdaten',
    } as Names,
    audit: 'Wer was geändert hat',
    at: 'Wann',
    who: 'Wer',
    what: 'Was',
    changes: 'Vorher → nachher',
    anybody: 'Alle',
    operator: 'Betreiber dieses Servers',
    noun: 'Gegenstand',
    anyNoun: 'Alle',
    action: 'Handlung',
    anyAction: 'Alle',
    from: 'von',
    to: 'bis',
    clear: 'Filter aufheben',
    noActs: 'In dieser Auswahl ist nichts geschehen. Heben Sie einen Filter auf.',
    hidden: 'geändert',
    given: 'angegeben',
    nothingBefore: 'nichts',
  },
  {
    title: 'Activity',
    attention: 'What needs attention',
    nothing: 'Nothing at present: door signs, calendars, imports, requests and PINs are in order.',
    refresh: 'Check again',
    levels: { fault: 'Fault', warning: 'Note' },
    silent: (name: string, since: string) => `Door sign ${name} has been silent since ${since}.`,
    signsEnd: (name: string, at: string) =>
      `Door sign ${name} has not been heard from for a long time; its pairing ends on ${at}.`,
    battery: (name: string, percent: number) => `The battery of door sign ${name} is at ${percent} %.`,
    note: (name: string, note: string) => `Door sign ${name} says: ${note}`,
    mailFault: (name: string, fault: string) => `The calendar of ${name} cannot be read: ${fault}`,
    mailFaults: {
      Unreachable: 'The mail server does not answer.',
      AccessLost: 'The mail server refuses access.',
      Throttled: 'The mail server asks for a pause.',
      StateLost: 'The calendar is read again from the beginning.',
      Unreadable: 'The answer of the mail server cannot be read.',
      TooLarge: 'The calendar is too large.',
    } as Names,
    conflicts: (name: string, n: number) =>
      `${n === 1 ? '1 item' : `${n} items`} in the calendar of ${name} ${n === 1 ? 'is' : 'are'} not booked, because the room is taken.`,
    unreadable: (name: string, n: number) =>
      `${n === 1 ? '1 item' : `${n} items`} in the calendar of ${name} cannot be read.`,
    unwritable: (name: string, why: string) => `The calendar of ${name} cannot be written: ${why}`,
    unwritten: (name: string, n: number) =>
      `${n === 1 ? '1 booking is' : `${n} bookings are`} not in the calendar of ${name} as booked.`,
    batch: (who: string, at: string, errors: number) =>
      `An import by ${who} failed at ${at}${errors ? `, with ${errors} ${errors === 1 ? 'error' : 'errors'}` : ''}.`,
    requests: (n: number, more: boolean) =>
      `${more ? `More than ${n}` : n} ${n === 1 ? 'request waits' : 'requests wait'} for a decision.`,
    pinEnds: (name: string, label: string | null, at: string) =>
      `The PIN ${label ? `“${label}” ` : ''}of ${name} ends on ${at}.`,
    pinEnded: (name: string, label: string | null, at: string) =>
      `The PIN ${label ? `“${label}” ` : ''}of ${name} expired on ${at}.`,
    problem: (room: string, kind: string, text: string | null, at: string) =>
      `${room}: ${kind}${text ? `, “${text}”` : ''}, reported ${at}.`,
    problems: {
      Heating: 'heating, air',
      Light: 'light',
      Projector: 'projector, screen',
      Network: 'network',
      Furniture: 'furniture',
      Cleaning: 'cleaning',
      Other: 'another problem',
    } as Names,
    webhookDisabled: (name: string, why: string, at: string) =>
      `Nothing has been sent to the webhook ${name} since ${at}: ${why}`,
    webhookReasons: {
      Gone: 'Its receiver does not want any more events (410).',
      Failing: 'It has not accepted an event for three days.',
      HistoryLost: 'The events that would come next are no longer kept.',
    } as Names,
    webhookFails: (name: string, since: string) => `The webhook ${name} has accepted nothing since ${since}.`,
    enable: 'Send again',
    settle: 'Done',
    willSettle: 'The problem is settled.',
    open: {
      signs: 'Door signs',
      mail: 'Mail',
      webhooks: 'Webhooks',
      timetables: 'Timetables',
      rooms: 'Rooms',
      master: 'Master data',
    } as Names,
    audit: 'Who changed what',
    at: 'When',
    who: 'Who',
    what: 'What',
    changes: 'Before → after',
    anybody: 'Everybody',
    operator: 'Operator of this server',
    noun: 'Thing',
    anyNoun: 'All',
    action: 'Action',
    anyAction: 'All',
    from: 'from',
    to: 'to',
    clear: 'Clear filters',
    noActs: 'Nothing was done in this selection. Clear a filter.',
    hidden: 'changed',
    given: 'set',
    nothingBefore: 'nothing',
  },
);
