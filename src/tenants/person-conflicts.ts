/** Why a person cannot be written as wanted. */
import { Conflict } from '../errors.ts';

/** @param constraint the unique index that refused the row */
export const personTaken = (constraint: string): Conflict =>
  constraint === 'person_email'
    ? Conflict.because('EmailTaken', 'Another person has this e-mail address already.', 'Email')
    : Conflict.because('TeacherCodeTaken', 'Another person has this TeacherCode already.', 'TeacherCode');

export const personErased = (): Conflict =>
  Conflict.because('PersonErased', 'This person has been erased for good; create a new one.');
