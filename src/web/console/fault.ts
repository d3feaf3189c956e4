/** One fault of what was sent. */
export type Fault = {
  field: string | null;
  pointer: string | null;
  /** The earlier place that it collides with. */
  otherPointer?: string | null;
  code: string;
  message: string;
  /** Line and column in a file that was sent. */
  line?: number | null;
  column?: number | null;
  limit?: Figures | null;
};

/** What a limit allows. */
type Figures = {
  [Name in 'minutes' | 'days' | 'bookings']?: number | null;
} & { [Name in 'policy' | 'start' | 'earliest' | 'bookableFrom' | 'week' | 'nextWeek']?: string | null };
