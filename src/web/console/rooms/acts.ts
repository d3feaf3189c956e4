/** What the parts of the timeline share. */
import type { Scale } from './geometry.ts';
import type { Booking, Room, Store } from './store.ts';

/** What the timeline asks its screen to do. */
export type Acts = {
  mayChange: (booking: Booking) => boolean;
  whyNot: (booking: Booking) => string;
  open: (booking: Booking) => void;
  openWeek: (room: Room) => void;
  book: (room: Room, start: number, end: number) => void;
  move: (before: Booking, wanted: Booking) => void;
  cancel: (booking: Booking) => void;
};

/** Where the cursor of the keyboard is. */
export type Cursor = { roomId: string; key: string };

export type TimelineProperties = {
  rooms: readonly Room[];
  store: Store;
  scale: Scale;
  found: ReadonlySet<string> | undefined;
  /** How many problems are open, by room. */
  problems: ReadonlyMap<string, number>;
  acts: Acts;
};
