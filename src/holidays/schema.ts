/** Schemas of holiday calendars that the API and tenant files share, and those of tenant files. */
import { z } from 'zod';
import { isWebAddress, recordOf, toFields, wrongWebAddress } from '../fields.ts';
import { longest } from '../names.ts';
import { storableText } from '../storable.ts';
import { readDate } from '../time/days.ts';
import { isUsual } from '../time/period.ts';
import { type Holiday, longestDays, mostHolidays } from './reading.ts';

/** The address in a body or a tenant file. */
export const url = z
  .string()
  .max(2_000)
  .transform((written) => written.trim().replace(/^webcal:/i, 'https:'))
  .refine(isWebAddress, wrongWebAddress)
  .meta({
    description: 'The https address of an .ics file: a public address, or a server that the operator trusts.',
  });

const date = z.iso.date({ abort: true });
const holiday = z
  .strictObject({
    FromDate: date.refine(isUsual, 'must be a date from 1900 to 2999'),
    ToDate: date,
    Name: storableText.max(longest.name).default(''),
  })
  .superRefine(({ FromDate, ToDate }, { addIssue }) => {
    const fault = (message: string) => addIssue({ code: 'custom', path: ['ToDate'], message });
    if (ToDate < FromDate) fault('must not be before FromDate');
    if (readDate(ToDate) - readDate(FromDate) >= longestDays)
      fault(`must be at most ${longestDays} days from FromDate, both included`);
  });

/** A holiday as a tenant file writes it. */
type WrittenHoliday = z.output<typeof holiday>;
/** The source of a calendar's holidays in a tenant file: an address, or a list of holidays. */
export type WrittenSource = { Url: string } | { Holidays: WrittenHoliday[] };

const textOf = ({ FromDate, ToDate, Name }: WrittenHoliday) => `${FromDate} ${ToDate} ${Name}`;
/** Sorted, so that equal lists compare equal. */
const inOrder = (holidays: readonly WrittenHoliday[]) =>
  holidays.toSorted((one, other) => (textOf(one) < textOf(other) ? -1 : 1));

/** The source of a calendar as members of a tenant file; null empties the list. */
export const sourceMembers = {
  Url: url.optional(),
  Holidays: z
    .array(holiday)
    .max(mostHolidays)
    .nullable()
    .transform((holidays) => inOrder(holidays ?? []))
    .optional(),
};

export const toHoliday: (holiday: WrittenHoliday) => Holiday = toFields;
const writeHoliday = recordOf(holiday);
export const toWrittenHolidays = (holidays: readonly Holiday[]): WrittenHoliday[] =>
  inOrder(holidays.map(writeHoliday));
