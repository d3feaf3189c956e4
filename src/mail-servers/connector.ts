/** What every mail server is asked, whatever its protocol. */

export const serverKinds = ['Ews', 'Graph', 'CalDav'] as const;
export type ServerKind = (typeof serverKinds)[number];

/** Why a mail server did not give what it was asked for. */
export const faults = ['Unreachable', 'AccessLost', 'Throttled', 'StateLost', 'Unreadable', 'TooLarge'] as const;
export type Fault = (typeof faults)[number];

/** A room's calendar there. */
export type RemoteCalendar = {
  mailbox: string;
  /** Where it was found; null until it was looked for. */
  address: string | null;
  /** Of the room's location (IANA), which times without a zone are in; only readings need it. */
  timeZone?: string;
};

/** What is read: `[start, end)`. */
export type ReadingWindow = { start: Date; end: Date };

/** One appointment, or one occurrence of a series. */
export type RemoteItem = {
  /** What the server calls this one; of a calendar that has no such ids, group and occurrence together. */
  id: string;
  /** '' or the original start of the occurrence, as an instant in UTC. */
  occurrence: string;
  /** RFC 5545, where the server tells it. */
  uid: string | null;
  start: Date;
  end: Date;
  /** The local dates `[from, to)` of an item of whole days, whose instants are those of the room; null otherwise. */
  days: { from: string; to: string } | null;
  subject: string | null;
  organizer: { name: string | null; email: string | null } | null;
  isPrivate: boolean;
  isCancelled: boolean;
  /** Of the room, to the invitation; 'Organizer' for what was made in its own calendar. */
  response: 'Accepted' | 'Tentative' | 'Declined' | 'None' | 'Organizer';
  shownAs: 'Free' | 'Tentative' | 'Busy';
  /** When it was last changed there, where the server tells it. */
  changedAt: Date | null;
};

/** An appointment, or a series, with all its occurrences within the window: what is not among them is not there any more. */
export type RemoteGroup = {
  id: string;
  items: RemoteItem[];
  /** Why it cannot be read, for people; `items` is empty then and nothing of it is taken away. */
  unreadable?: string;
};

/** What has changed since a cursor, or all there is. */
export type CalendarChanges = {
  /** Whether `groups` is all there is: what is not among them is gone. */
  whole: boolean;
  groups: RemoteGroup[];
  /** Ids of groups or of items that are gone; unknown ones mean nothing. */
  removed: string[];
  /** Opaque: where the next reading goes on. */
  cursor: string;
  /** Where the calendar was found. */
  address: string | null;
};

/** A part of a reading; of what several pages tell, the last counts. */
export type CalendarPage = Omit<CalendarChanges, 'whole' | 'cursor'> & {
  /** Of the reading: whether its pages are all there is. */
  whole: boolean;
  /** Its groups hold what lies in a slice of time, and those of other pages more of the same. */
  isSlice?: boolean;
  /** The pages before are void. */
  restarts?: boolean;
  isLast: boolean;
  /** Opaque: where the next reading goes on after the last page; after any other the continuation of this one. */
  cursor: string;
};

/** Where a reading begins: without a cursor with all there is, with a continuation where another one has stopped. */
export type ReadingStart = { cursor: string | null; continuation: string | null };

export type SubscriptionTerms = {
  /** With its secret. */
  callback: string;
  /** What Graph sends back with each notification. */
  clientState: string;
  heartbeatMinutes: number;
};

export type GrantedSubscription = { externalId: string; expiresAt: Date | null; watermark: string | null };

export type Connector = {
  kind: ServerKind;
  /** Null where the mail server's operator sets up the push (CalDav). */
  subscriptions: null | {
    /** Whether the server sends a sign of life at regular times. */
    heartbeat: boolean;
    /** Resolves when the server has promised; with Graph its handshake has come before. */
    subscribe(calendar: RemoteCalendar, terms: SubscriptionTerms, signal: AbortSignal): Promise<GrantedSubscription>;
    /** Null where it cannot be renewed and does not expire (Ews). 'Gone': there is no such subscription any more. */
    renew: null | ((externalId: string, signal: AbortSignal) => Promise<{ expiresAt: Date } | 'Gone'>);
    /** Null where one cannot ask (Ews). */
    probe: null | ((externalId: string, signal: AbortSignal) => Promise<'Alive' | 'Gone'>);
    /** All of ours there, to find orphans; null where one cannot ask (Ews). */
    list: null | ((signal: AbortSignal) => Promise<{ externalId: string; callback: string }[]>);
    /** Null where only an answer to a notification ends one (Ews). One that is gone already is no fault. */
    end: null | ((externalId: string, signal: AbortSignal) => Promise<void>);
  };
  /**
   * What has changed in a calendar since a cursor, or all of the window without one, page by page: each may be kept, and the
   * reading go on after it at another time, in another process. After a request that was not answered in time an empty page may
   * come before the fault, from which on less is asked for at once.
   */
  pages(
    calendar: RemoteCalendar,
    from: ReadingStart,
    window: ReadingWindow,
    signal: AbortSignal,
  ): AsyncIterable<CalendarPage>;
};

/** A mail server did not give what it was asked for. */
export class ServerFault extends Error {
  readonly fault: Fault;
  /** Throttled, or an account that is not taken: when it may be asked again. */
  readonly retryAt: Date | null;
  /** Of the answer; null where there was none, or none of this kind. */
  readonly status: number | null;

  constructor(fault: Fault, message: string, retryAt: Date | null = null, status: number | null = null) {
    super(message);
    this.fault = fault;
    this.retryAt = retryAt;
    this.status = status;
  }
}

/** Whether a mail server has said something itself, so that others need not wait for it. */
export const hasAnswered = (fault: unknown): boolean => fault instanceof ServerFault && fault.fault !== 'Unreachable';
