/** Filters of lessons and bookings by content, beside those by time and place. */
import { z } from 'zod';
import { longest } from '../names.ts';
import * as parameters from '../query-parameters.ts';

const name = (description: string) => z.string().min(1).max(longest.name).optional().meta({ description });

/** Members of the filters of bookings and lessons. */
export const questions = {
  Klasse: name('Only lessons of this class, regardless of case.'),
  Lehrperson: name('Only lessons of this teacher, regardless of case.'),
  Fach: name('Only lessons of this subject, regardless of case.'),
  Search: parameters.search(
    'Only bookings whose subject and description, and lessons whose title, subject, classes, teachers and remark, contain these words.',
  ),
};

export type Questions = {
  klasse?: string | undefined;
  lehrperson?: string | undefined;
  fach?: string | undefined;
  search?: string | undefined;
  /** A person, who matches as organizer of a booking or, by the teacher code, as teacher of a lesson. */
  attendee?: { personId: number; teacherCode: string | null } | undefined;
};

/** Whether a filter has any of these members, which need a search. */
export const filtersByContent = ({ klasse, lehrperson, fach, search, attendee }: Questions): boolean =>
  (klasse ?? lehrperson ?? fach ?? search ?? attendee) !== undefined;
