/** Mistakes that do not compile: `npm run check` fails where one of them would. */
import type { CreateBookingInput } from './generated/graphql.ts';

const wanted = { subject: 'Meeting', start: '2027-02-01T08:00:00Z', end: '2027-02-01T09:00:00Z' };

export const mistakes: CreateBookingInput[] = [
  { ...wanted, resourceId: 'resource_1' },
  // @ts-expect-error no room
  { ...wanted },
  // @ts-expect-error no time
  { subject: 'Meeting', resourceId: 'resource_1' },
  // @ts-expect-error no such status
  { ...wanted, resourceId: 'resource_1', status: 'confirmd' },
  // @ts-expect-error no such member
  { ...wanted, resourceId: 'resource_1', sujbect: 'Meeting' },
];
