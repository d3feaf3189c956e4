/** Erasure on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { sentText } from '../fields.ts';
import { erasedName, longest } from '../names.ts';
import { personExample, personRecord, toPersonRecord } from '../tenants/service.ts';

/** The answer to an erasure. */
export const erased = {
  schema: personRecord,
  toRecord: toPersonRecord,
  example: {
    ...personExample,
    Name: erasedName,
    Email: 'erased-1@erased.invalid',
    TimeZone: 'UTC',
    Role: 'User',
    TeacherCode: null,
    Active: false,
    ErasedAt: '2027-02-01T08:00:00Z',
    Version: 3,
  },
};

const mostNames = 10;

export const erasure = z
  .strictObject({
    AlsoKnownAs: z.array(sentText(longest.email)).max(mostNames).default([]).meta({
      description:
        "Further names, such as initials, by which lessons name the person as a teacher, and further addresses, such as former ones, by which the mail server names it as an organizer; the person's own address and TeacherCode are always included, and its name unless another person has it too, as name or as TeacherCode: give it here if nothing names the other person by it. Case does not matter.",
    }),
  })
  .meta({ id: 'Erasure', description: 'The names to erase besides the name and address of the person.' });
