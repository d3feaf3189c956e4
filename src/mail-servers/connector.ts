/** The interface of all mail servers, whatever their protocol. */

export const serverKinds = ['Ews', 'Graph', 'CalDav'] as const;
export type ServerKind = (typeof serverKinds)[number];

/** Why a mail server did not give what it was asked for. */
export const faults = ['Unreachable', 'AccessLost', 'Throttled', 'StateLost', 'Unreadable', 'TooLarge'] as const;
export type Fault = (typeof faults)[number];

/** A room's calendar on the mail server. */
export type RemoteCalendar = {
  mailbox: string;
  /** The address at which it was found; null before that. */
  address: string | null;
  /** IANA zone of the room's location, for times without a zone; only readings need it. */
  timeZone?: string;
};

/** The time that is read: `[start, end)`. */
export type ReadingWindow = { start: Date; end: Date };

/** One appointment, or one occurrence of a series. */
export type RemoteItem = {
  /** The server's id; where it has none for occurrences, group and occurrence together. */
  id: string;
  /** '' or the original start of the occurrence, as an instant in UTC. */
  occurrence: string;
  /** The UID of RFC 5545; null where the server does not send it. */
  uid: string | null;
  start: Date;
  end: Date;
  /** The local dates `[from, to)` of a whole-day item, which begin at midnight in the room's zone; null otherwise. */
  days: { from: string; to: string } | null;
  subject: string | null;
  organizer: { name: string | null; email: string | null } | null;
  isPrivate: boolean;
  isCancelled: boolean;
  /** The room's response to the invitation; 'Organizer' for an item that was created in the room's own calendar. */
  response: 'Accepted' | 'Tentative' | 'Declined' | 'None' | 'Organizer';
  shownAs: 'Free' | 'Tentative' | 'Busy';
  /** The last change on the server; null where the server does not send it. */
  changedAt: Date | null;
};

/** An appointment or a series with all its occurrences in the window: a known occurrence that is missing is gone. */
export type RemoteGroup = {
  id: string;
  items: RemoteItem[];
  /** Why the group cannot be read, for people; then `items` is empty, and the stored items stay. */
  unreadable?: string;
};

/** The changes since a cursor, or the whole window. */
export type CalendarChanges = {
  /** Whether `groups` is the whole window: a known group that is missing is gone. */
  whole: boolean;
  groups: RemoteGroup[];
  /** Ids of groups or of items that are gone; unknown ids are ignored. */
  removed: string[];
  /** Opaque: the next reading begins here. */
  cursor: string;
  /** The address at which the calendar was found. */
  address: string | null;
};

/** A part of a reading. Where several pages have the same group, the last wins. */
export type CalendarPage = Omit<CalendarChanges, 'whole' | 'cursor'> & {
  /** Whether the pages of the reading together are the whole window. */
  whole: boolean;
  /** The groups hold only the items of a slice of time; other pages may have more items of the same groups. */
  isSlice?: boolean;
  /** The pages before are void. */
  restarts?: boolean;
  isLast: boolean;
  /** Opaque: on the last page the cursor of the next reading, on any other the continuation of this one. */
  cursor: string;
};

/** Where a reading begins: at the changes since `cursor`, or with the whole window (null); or at the `continuation` of another. */
export type ReadingStart = { cursor: string | null; continuation: string | null };

export type SubscriptionTerms = {
  /** The callback URL with its secret. */
  callback: string;
  /** Graph sends it back with each notification. */
  clientState: string;
  heartbeatMinutes: number;
};

export type GrantedSubscription = { externalId: string; expiresAt: Date | null; watermark: string | null };

export type Connector = {
  kind: ServerKind;
  /** Null where the mail server's operator sets up the push (CalDav). */
  subscriptions: null | {
    /** Whether the server sends a heartbeat. */
    heartbeat: boolean;
    /** Resolves when the server has granted the subscription; Graph's handshake comes before that. */
    subscribe(calendar: RemoteCalendar, terms: SubscriptionTerms, signal: AbortSignal): Promise<GrantedSubscription>;
    /** Null where subscriptions do not expire and cannot be renewed (Ews). 'Gone': it does not exist any more. */
    renew: null | ((externalId: string, signal: AbortSignal) => Promise<{ expiresAt: Date } | 'Gone'>);
    /** Null where the server cannot be asked (Ews). */
    probe: null | ((externalId: string, signal: AbortSignal) => Promise<'Alive' | 'Gone'>);
    /** Lists all of ours, to find orphans; null where the server cannot be asked (Ews). */
    list: null | ((signal: AbortSignal) => Promise<{ externalId: string; callback: string }[]>);
    /** Null where only the answer to a notification ends a subscription (Ews). Ending one that is gone is no fault. */
    end: null | ((externalId: string, signal: AbortSignal) => Promise<void>);
  };
  /**
   * Reads the changes since a cursor, or the whole window without one, page by page. After each page the reading may be
   * interrupted, and go on later in another process. After a request that timed out, an empty page may come before the fault;
   * its continuation asks for less at once.
   */
  pages(
    calendar: RemoteCalendar,
    from: ReadingStart,
    window: ReadingWindow,
    signal: AbortSignal,
  ): AsyncIterable<CalendarPage>;
};

/** The failure of a request to a mail server. */
export class ServerFault extends Error {
  readonly fault: Fault;
  /** When the server may be asked again; set for Throttled, and for a refused account. */
  readonly retryAt: Date | null;
  /** The HTTP status of an Unreachable answer; null without one, and for other faults. */
  readonly status: number | null;

  constructor(fault: Fault, message: string, retryAt: Date | null = null, status: number | null = null) {
    super(message);
    this.fault = fault;
    this.retryAt = retryAt;
    this.status = status;
  }
}

/** Whether the mail server itself has answered, so that it does not hold up other tenants. */
export const hasAnswered = (fault: unknown): boolean => fault instanceof ServerFault && fault.fault !== 'Unreachable';
