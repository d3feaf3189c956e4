/**
 * The one model behind both faces: mailboxes with a calendar each, and what organizers and rooms do to the appointments
 * there. Instants are milliseconds since 1970.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from './clock.ts';
import { endOf, type Repeat, startsOf } from './series.ts';

export type Person = { name: string; email: string };
export type Answer = 'accepted' | 'tentative' | 'declined' | 'none' | 'organizer';
export type ShownAs = 'free' | 'tentative' | 'busy' | 'oof' | 'elsewhere';
export type Sensitivity = 'normal' | 'personal' | 'private' | 'confidential';

/** What an occurrence may have for itself. */
export type Facts = {
  start: number;
  end: number;
  subject: string;
  shownAs: ShownAs;
  sensitivity: Sensitivity;
  isCancelled: boolean;
  answer: Answer;
};

export type Appointment = Facts & {
  id: string;
  uid: string;
  mailbox: string;
  /** Null: it was made in this calendar. */
  organizer: Person | null;
  isWholeDay: boolean;
  zone: string;
  repeat: Repeat | null;
  /** Extended properties, by `<set of properties> <name>` in lower case. */
  extended: Record<string, string>;
  /** By the original start; null: there is none any more. */
  exceptions: Map<number, Partial<Facts> | null>;
  revision: number;
  sequence: number;
  createdAt: number;
  changedAt: number;
};

export type Occurrence = Facts & {
  id: string;
  appointment: Appointment;
  /** Null for one that does not repeat. */
  originalStart: number | null;
  isException: boolean;
};

export type RoomSettings = {
  name?: string;
  zone?: string;
  autoAccept?: boolean;
  allowConflicts?: boolean;
  addOrganizerToSubject?: boolean;
  deleteSubject?: boolean;
  removePrivate?: boolean;
};

/** An answer to an invitation, as its organizer gets it. */
export type SentAnswer = {
  to: string;
  uid: string;
  /** Of the occurrence that it is about; null: all there is. */
  originalStart: string | null;
  start: string;
  comment: string;
};

export type Mailbox = Required<RoomSettings> & {
  address: string;
  /** What Graph calls the user. */
  userId: string;
  calendarId: string;
  deletedItemsId: string;
  items: Map<string, Appointment>;
  /** What happened, oldest first. */
  log: { number: number; id: string; what: 'created' | 'updated' | 'deleted' }[];
  /** Impersonation and tokens reach it. */
  isAccessible: boolean;
  /** And may only read it. */
  isReadOnly: boolean;
  /** What its client has had it answer to organizers, oldest first. */
  answers: SentAnswer[];
};

export type Change = {
  what: 'created' | 'updated' | 'deleted';
  mailbox: Mailbox;
  appointment: Appointment;
  /** Deleted: where it has gone. */
  toDeletedItems: boolean;
};

export const changeKeyOf = (revision: number) =>
  Buffer.from(`DwAAABYA${revision.toString(36).padStart(9, '0')}`).toString('base64');

const makeId = (bytes: number) => `AAMk${randomBytes(bytes).toString('base64url')}AAA=`;

const shapes = new WeakMap<Appointment, { revision: number; all: Occurrence[] }>();

/** All there are, by their original start. */
export function occurrencesOf(appointment: Appointment): Occurrence[] {
  const known = shapes.get(appointment);
  if (known?.revision === appointment.revision) return known.all;
  const { id, start, end, subject, shownAs, sensitivity, isCancelled, answer } = appointment;
  const facts = { start, end, subject, shownAs, sensitivity, isCancelled, answer };
  const all: Occurrence[] = [];
  if (!appointment.repeat) all.push({ ...facts, id, appointment, originalStart: null, isException: false });
  for (const at of appointment.repeat ? startsOf(start, appointment.zone, appointment.repeat) : []) {
    const exception = appointment.exceptions.get(at);
    if (exception === null) continue;
    const digest = createHash('sha256').update(`${id} ${at}`).digest('base64url');
    all.push({
      ...facts,
      start: at,
      end: endOf(at, end - start, appointment.isWholeDay, appointment.zone),
      ...exception,
      id: `AAMk${digest}BAAA=`,
      appointment,
      originalStart: at,
      isException: exception !== undefined,
    });
  }
  shapes.set(appointment, { revision: appointment.revision, all });
  return all;
}

/** Makes an appointment a series, or one appointment again (null), or lets it last whole days or not. A change follows. */
export function reshape(item: Appointment, shape: { repeat?: Repeat | null; isWholeDay?: boolean }): void {
  if (shape.repeat !== undefined) item.exceptions.clear();
  Object.assign(item, shape);
}

export const isWithin = (from: number, to: number) => (one: { start: number; end: number }) =>
  one.start < to && (one.end > from || (one.start === one.end && one.start >= from));

export type Draft = Partial<Facts> & {
  start: number;
  end: number;
  organizer?: Person | null;
  uid?: string;
  isWholeDay?: boolean;
  zone?: string;
  repeat?: Repeat | null;
  extended?: Record<string, string>;
};

export function openMailboxes(clock: Clock, tell: (change: Change) => void) {
  const boxes = new Map<string, Mailbox>();
  let revisions = 0;

  const find = (address: string) => boxes.get(address.toLowerCase());

  function write(what: Change['what'], box: Mailbox, appointment: Appointment, toDeletedItems = false): void {
    appointment.revision = ++revisions;
    appointment.changedAt = clock.now();
    box.log.push({ number: revisions, id: appointment.id, what });
    tell({ what, mailbox: box, appointment, toDeletedItems });
  }

  /** Whether the room is taken at the time of an appointment, by another one. */
  function isTaken(box: Mailbox, wanted: Appointment): boolean {
    const takes = ({ isCancelled, shownAs }: Facts) => !isCancelled && shownAs !== 'free';
    const others = [...box.items.values()]
      .filter(({ uid }) => uid !== wanted.uid)
      .flatMap(occurrencesOf)
      .filter(takes);
    return occurrencesOf(wanted).some((one) => takes(one) && others.some(isWithin(one.start, one.end)));
  }

  function subjectIn(box: Mailbox, subject: string, organizer: Person | null): string {
    if (!organizer || !box.addOrganizerToSubject) return subject;
    return box.deleteSubject ? organizer.name : `${organizer.name} ${subject}`;
  }

  function factsIn(box: Mailbox, facts: Partial<Facts>, organizer: Person | null): Partial<Facts> {
    return {
      ...facts,
      ...(facts.subject !== undefined && { subject: subjectIn(box, facts.subject, organizer) }),
      ...(facts.sensitivity !== undefined && box.removePrivate && { sensitivity: 'normal' as const }),
      // Nobody has invited the room.
      ...(organizer === null && facts.answer !== undefined && { answer: 'organizer' as const }),
    };
  }

  const room = {
    find,
    all: () => [...boxes.values()],
    add(address: string, settings: RoomSettings = {}): Mailbox {
      const box: Mailbox = {
        name: address.split('@')[0] ?? address,
        zone: 'Europe/Berlin',
        autoAccept: true,
        allowConflicts: false,
        addOrganizerToSubject: false,
        deleteSubject: false,
        removePrivate: false,
        ...settings,
        address: address.toLowerCase(),
        userId: randomUUID(),
        calendarId: makeId(24),
        deletedItemsId: makeId(24),
        items: new Map(),
        log: [],
        isAccessible: true,
        isReadOnly: false,
        answers: [],
      };
      boxes.set(box.address, box);
      return box;
    },
    /** By its id, or that of one of its occurrences. */
    item(box: Mailbox, id: string): { appointment: Appointment; occurrence: Occurrence | null } | undefined {
      const whole = box.items.get(id);
      if (whole) return { appointment: whole, occurrence: null };
      for (const appointment of box.items.values()) {
        if (!appointment.repeat) continue;
        const occurrence = occurrencesOf(appointment).find((one) => one.id === id);
        if (occurrence) return { appointment, occurrence };
      }
      return undefined;
    },
    /** @returns undefined when the room declines */
    invite(box: Mailbox, draft: Draft): Appointment | undefined {
      const { organizer = null, start, end, ...others } = draft;
      const own: Facts = {
        start,
        end,
        subject: '',
        shownAs: 'busy',
        sensitivity: 'normal',
        isCancelled: false,
        answer: organizer === null ? 'organizer' : box.autoAccept ? 'accepted' : 'none',
      };
      const appointment: Appointment = {
        ...own,
        id: makeId(24),
        uid: randomUUID(),
        zone: box.zone,
        isWholeDay: false,
        repeat: null,
        extended: {},
        ...others,
        ...factsIn(box, { subject: '', sensitivity: 'normal', answer: own.answer, ...others }, organizer),
        organizer,
        mailbox: box.address,
        exceptions: new Map(),
        revision: ++revisions,
        sequence: 0,
        createdAt: clock.now(),
        changedAt: clock.now(),
      };
      const declines = organizer !== null && box.autoAccept && !box.allowConflicts && isTaken(box, appointment);
      if (declines) return undefined;
      box.items.set(appointment.id, appointment);
      write('created', box, appointment);
      return appointment;
    },
    /** @param originalStart of the occurrence alone; @returns false when the room declines it, and has it no more */
    change(box: Mailbox, item: Appointment, facts: Partial<Facts>, originalStart: number | null = null): boolean {
      const own = factsIn(box, facts, item.organizer);
      if (originalStart === null) {
        // Exchange forgets what occurrences had for themselves when the series is moved.
        if (own.start !== undefined && own.start !== item.start) item.exceptions.clear();
        Object.assign(item, own);
      } else item.exceptions.set(originalStart, { ...item.exceptions.get(originalStart), ...own });
      item.sequence += 1;
      item.revision = ++revisions;
      const moved = own.start !== undefined || own.end !== undefined;
      if (moved && item.organizer && box.autoAccept && !box.allowConflicts && isTaken(box, item)) {
        room.remove(box, item);
        return false;
      }
      write('updated', box, item);
      return true;
    },
    cancel(box: Mailbox, item: Appointment, originalStart: number | null = null): void {
      const facts = { isCancelled: true, shownAs: 'free' as const };
      if (originalStart === null) Object.assign(item, facts, { subject: `Canceled: ${item.subject}` });
      else item.exceptions.set(originalStart, { ...item.exceptions.get(originalStart), ...facts });
      item.sequence += 1;
      write('updated', box, item);
    },
    /** The client answers for the room. @param keeps whether the calendar keeps what is declined */
    decline(
      box: Mailbox,
      item: Appointment,
      originalStart: number | null,
      { comment, isSent, keeps }: { comment: string; isSent: boolean; keeps: boolean },
    ): void {
      const start = occurrencesOf(item).find((one) => one.originalStart === originalStart)?.start ?? item.start;
      if (isSent && item.organizer)
        box.answers.push({
          to: item.organizer.email,
          uid: item.uid,
          comment,
          start: new Date(start).toISOString(),
          originalStart: originalStart === null ? null : new Date(originalStart).toISOString(),
        });
      if (!keeps) return void room.remove(box, item, originalStart, true);
      if (originalStart === null) item.answer = 'declined';
      else item.exceptions.set(originalStart, { ...item.exceptions.get(originalStart), answer: 'declined' });
      write('updated', box, item);
    },
    remove(box: Mailbox, item: Appointment, originalStart: number | null = null, toDeletedItems = false): void {
      if (originalStart !== null) {
        item.exceptions.set(originalStart, null);
        write('updated', box, item);
        return;
      }
      box.items.delete(item.id);
      write('deleted', box, item, toDeletedItems);
    },
  };
  return room;
}
