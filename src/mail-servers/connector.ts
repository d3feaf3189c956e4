/** The interface of all mail servers, whatever their protocol. */

export const serverKinds = ['Ews', 'Graph', 'CalDav', 'Google', 'ICalendar'] as const;
export type ServerKind = (typeof serverKinds)[number];

/** Why a request to a mail server failed. */
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
  /** The id of its series, where occurrences are groups of their own. */
  series?: string;
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
  /** The mark of an item that was written from here (`WrittenItem.origin`), if it is not the UID; null without one. */
  origin: string | null;
  /** The ETag or change key; null where the server does not send it. */
  changeKey: string | null;
};

/** An appointment, or a series with all its occurrences in the window: a stored occurrence that is missing is gone. */
export type RemoteGroup = {
  id: string;
  items: RemoteItem[];
  /** Why the group cannot be read, for people; then `items` is empty, and the stored items stay. */
  unreadable?: string;
};

/** The changes since a cursor, or the whole window. */
export type CalendarChanges = {
  /** Whether `groups` is the whole window: a stored group that is missing is gone. */
  whole: boolean;
  groups: RemoteGroup[];
  /** Ids of groups or of items that are gone; unknown ids are ignored. */
  removed: string[];
  /** Ids of items that only we have changed, for servers that report changes by ids alone. */
  unchanged?: string[];
  /** Opaque: the next reading begins here. */
  cursor: string;
  /** The address at which the calendar was found. */
  address: string | null;
  /** The calendar is published, and its lists may be incomplete: an item is gone only when two readings in a row lack it. */
  isPublished?: boolean;
  /** The pause between two readings that the source asks for; one minute if left out. */
  pollMinutes?: number;
};

/** A part of a reading. If several pages have the same group, the last one wins. */
export type CalendarPage = Omit<CalendarChanges, 'whole' | 'cursor'> & {
  /** Whether all pages of the reading together are the whole window. */
  whole: boolean;
  /** The groups hold only the items of a slice of time; other pages may have more items of the same groups. */
  isSlice?: boolean;
  /** The earlier pages are void. */
  restarts?: boolean;
  isLast: boolean;
  /** Opaque: on the last page the cursor of the next reading, on any other the continuation of this one. */
  cursor: string;
};

/** The stored items of a calendar, for servers that report changes by ids alone. Ids and groups are as they are stored. */
export type KnownItems = {
  /** Those of these ids that belong to items written from here, with their change keys. */
  written(ids: readonly string[]): Promise<Map<string, string | null>>;
  /** The items of these ids, and all of these groups. */
  stored(ids: readonly string[], groups: readonly string[]): Promise<KnownItem[]>;
  /** Whether there are items of series that have not ended, or any that cannot be read. */
  hasSeries(): Promise<boolean>;
};
export type KnownItem = { id: string; group: string; occurrence: string; isGone: boolean };

/**
 * Where a reading begins: with the changes since `cursor`, or the whole window (null); or at the `continuation` of another
 * reading. Without `known`, a server that reports changes by ids alone is asked for the whole window.
 */
export type ReadingStart = { cursor: string | null; continuation: string | null; known?: KnownItems };

export type SubscriptionTerms = {
  /** The callback URL with its secret. */
  callback: string;
  /** Graph and Google send it back with each notification. */
  clientState: string;
  heartbeatMinutes: number;
};

export type GrantedSubscription = { externalId: string; expiresAt: Date | null; watermark: string | null };

/** A booking as it is written into a calendar on the mail server. */
export type WrittenItem = {
  /**
   * Marks the item as ours: `booking-<id>@<tenant uid>`, or `booking-<id>-<generation>@<tenant uid>` from the second generation
   * on. It is the UID of iCalendar, and the value of an extended property on other servers.
   */
  origin: string;
  start: Date;
  end: Date;
  subject: string;
  isPrivate: boolean;
};

/** Where an item was found or written. `changeKey` is the ETag or change key; null where the server gives none. */
export type WrittenPlace = { id: string; changeKey: string | null };

export type Write =
  | { do: 'Create'; item: WrittenItem }
  | { do: 'Change'; item: WrittenItem; at: WrittenPlace }
  | { do: 'Remove'; origin: string; at: WrittenPlace };

export type WriteOutcome =
  /** The item was written; for a removal: it is gone, perhaps for a long time. */
  | { is: 'Done'; at: WrittenPlace | null }
  /** Somebody has changed the item, or an item to create exists already: it must be read before anything else is written. */
  | { is: 'Changed' }
  /** The item to change no longer exists. */
  | { is: 'Gone' }
  /** The server refuses this item alone; the reason is for people. */
  | { is: 'Refused'; reason: string }
  /** The request for this item has failed, while others of the call have not: the outcome is unknown. */
  | { is: 'Failed'; error: unknown };

/** Where a reading has found an item. */
export type ItemPlace = {
  /** As `RemoteItem.id`, and as `RemoteGroup.id`. */
  id: string;
  group: string;
  occurrence: string;
};

/** The present state of an invitation of the room. Reasons are for people. */
export type Invitation =
  | {
      is: 'Open';
      item: Pick<RemoteItem, 'start' | 'end' | 'days' | 'changeKey'>;
      /**
       * Declines it for the room, unless it has changed since it was found; the mail server notifies the organizer. Only one
       * occurrence of a series is declined.
       * @param comment for the organizer, if the protocol supports it
       * @throws ServerFault when nothing was done, or the outcome is unknown
       */
      decline(comment: string, signal: AbortSignal): Promise<DeclineOutcome>;
    }
  | { is: 'Declined' }
  | { is: 'Gone' }
  /** Nobody else has invited the room. */
  | { is: 'Nobody'; reason: string }
  /** The server cannot send answers. */
  | { is: 'Impossible'; reason: string };

export type DeclineOutcome =
  | { is: 'Done' }
  /** Somebody has changed or deleted it since. */
  | { is: 'Changed' }
  /** The server refuses to decline this item alone. */
  | { is: 'Refused'; reason: string };

export type Connector = {
  kind: ServerKind;
  /** Null where the mail server's operator sets up the push (CalDav), and where there is none (ICalendar). */
  subscriptions: null | {
    /** Whether the server sends a heartbeat. */
    heartbeat: boolean;
    /** Resolves when the server has granted the subscription; Graph's handshake comes before that. */
    subscribe(calendar: RemoteCalendar, terms: SubscriptionTerms, signal: AbortSignal): Promise<GrantedSubscription>;
    /** Null if subscriptions cannot be renewed (Ews, Google) and are replaced instead. 'Gone': it no longer exists. */
    renew: null | ((externalId: string, signal: AbortSignal) => Promise<{ expiresAt: Date } | 'Gone'>);
    /** Null if the server cannot be asked (Ews, Google). */
    probe: null | ((externalId: string, signal: AbortSignal) => Promise<'Alive' | 'Gone'>);
    /** Lists all of our subscriptions, to find orphans; null if the server cannot be asked (Ews, Google). */
    list: null | ((signal: AbortSignal) => Promise<{ externalId: string; callback: string }[]>);
    /** Null if only the answer to a notification ends a subscription (Ews). To end one that is gone is not an error. */
    end: null | ((externalId: string, signal: AbortSignal) => Promise<void>);
  };
  /**
   * Reads the changes since a cursor, or the whole window without one, page by page. After each page the reading may be
   * interrupted, and continue later in another process. After a request that timed out, an empty page may come before the fault;
   * its continuation asks for less at once.
   */
  pages(
    calendar: RemoteCalendar,
    from: ReadingStart,
    window: ReadingWindow,
    signal: AbortSignal,
  ): AsyncIterable<CalendarPage>;
  /** Null if the calendars cannot be written. */
  writes: null | {
    /** The most writes that one call takes at the moment. */
    readonly atOnce: number;
    /** Whether repeating a creation whose outcome was unknown may create a second item. */
    readonly mayDouble: boolean;
    /**
     * Returns one outcome for each write, in order; fewer if the server takes no more for now: the rest was not sent.
     * @throws when nothing was done, or the outcome is unknown; `mayConcernOneItem` says whether one item may be the cause
     */
    write(calendar: RemoteCalendar, writes: readonly Write[], signal: AbortSignal): Promise<WriteOutcome[]>;
    /** The present items with these origins; needed after an unknown outcome, or 'Changed'. */
    find(
      calendar: RemoteCalendar,
      origins: readonly string[],
      signal: AbortSignal,
    ): Promise<(WrittenPlace & { item: WrittenItem })[]>;
  };
  /** Reads the state of an invitation; null if invitations cannot be answered. */
  invitation: null | ((calendar: RemoteCalendar, place: ItemPlace, signal: AbortSignal) => Promise<Invitation>);
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

/** Whether the mail server has answered at all, even if with a fault: then it does not hang and delays no other tenants. */
export const hasAnswered = (fault: unknown): boolean => fault instanceof ServerFault && fault.fault !== 'Unreachable';
