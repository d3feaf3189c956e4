/** The columns in which tables of bookings say when they are, in the zone of the room. */
import { dayAt, momentText, timeText } from '../clock.ts';
import type { Column } from '../parts/table.ts';
import { t } from '../texts/rooms.ts';

export function timeColumns<Row extends { timeZone: string; start: string; end: string }>(): [
  date: Column<Row>,
  from: Column<Row>,
  to: Column<Row>,
] {
  /** With its day, if that is not the day of the start. */
  const endOf = ({ timeZone, start, end }: Row) => {
    const [from, to] = [Date.parse(start), Date.parse(end)];
    return dayAt(timeZone, from) === dayAt(timeZone, to - 1) ? timeText(timeZone, to) : momentText(timeZone, to);
  };
  return [
    { key: 'date', title: t().date, value: ({ timeZone, start }) => dayAt(timeZone, Date.parse(start)) },
    { key: 'from', title: t().from, value: ({ timeZone, start }) => timeText(timeZone, Date.parse(start)) },
    { key: 'to', title: t().to, value: endOf },
  ];
}
