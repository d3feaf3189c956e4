/** The errors that mutations answer: members of their result unions. */
import {
  Conflict,
  type DomainError,
  type FieldError,
  Forbidden,
  InvalidInput,
  LimitExceeded,
  type LimitFigures,
  NotFound,
  PreconditionFailed,
} from '../errors.ts';
import { amount, inPascal, limitFigures } from '../fields.ts';
import type { AddTypes } from './builder.ts';
import { recordFields } from './record.ts';

export const addProblems: AddTypes = (builder) => {
  const problem = builder.interfaceRef<DomainError>('Problem').implement({
    description: 'An expected failure, as a member of a result union.',
    fields: (t) => ({
      code: t.exposeString('code', { description: 'The same code as in the problem body of REST.' }),
      message: t.exposeString('message', { description: 'For people: names the place and the remedy.' }),
    }),
  });
  const figures = builder.objectRef<LimitFigures>('LimitFigures').implement({
    description: 'What a limit of bookings allows; null: it is about something else.',
    fields: (t) => recordFields(t, limitFigures, inPascal, new Map([[amount, 'Int']])),
  });
  const fieldError = builder.objectRef<FieldError>('FieldError').implement({
    description: 'One fault of an input.',
    fields: (t) => ({
      field: t.exposeString('field', { nullable: true, description: 'The name of the faulty member.' }),
      pointer: t.exposeString('pointer', {
        nullable: true,
        description: 'JSON pointer (RFC 6901) into the arguments of the field: `/input/start`.',
      }),
      otherPointer: t.exposeString('otherPointer', {
        nullable: true,
        description: 'JSON pointer to the earlier place that it collides with, such as the hours that it overlaps.',
      }),
      code: t.exposeString('code', { description: 'What kind of fault.' }),
      message: t.exposeString('message', { description: 'For people.' }),
      line: t.exposeInt('line', { nullable: true, description: 'The line of a file that was sent.' }),
      column: t.exposeInt('column', { nullable: true, description: 'The field of the line, from 1.' }),
      limit: t.field({
        type: figures,
        nullable: true,
        description: 'The figures of the limit that is exceeded.',
        resolve: ({ limit }) => limit,
      }),
    }),
  });
  builder.objectType(InvalidInput, {
    name: 'ValidationProblem',
    description: 'The input breaks a rule.',
    interfaces: [problem],
    fields: (t) => ({
      errors: t.field({
        type: [fieldError],
        description: 'Every fault that was found.',
        resolve: ({ errors }) => errors,
      }),
      faultCount: t.exposeInt('faultCount', {
        description: 'How many faults there are; of many, `errors` lists only the first.',
      }),
    }),
  });
  builder.objectType(LimitExceeded, {
    name: 'LimitProblem',
    description: 'A limit is exceeded.',
    interfaces: [problem],
    fields: (t) => ({
      retryAfterSeconds: t.int({
        nullable: true,
        description: 'After how many seconds the same call may succeed.',
        resolve: ({ retryAfter }) => (retryAfter === undefined ? null : Math.ceil(retryAfter)),
      }),
    }),
  });
  builder.objectType(Conflict, {
    name: 'ConflictProblem',
    description: 'The present state does not allow it.',
    interfaces: [problem],
    fields: (t) => ({
      errors: t.field({
        type: [fieldError],
        description: 'Why, by code, and which member it is about, if any.',
        resolve: ({ errors }) => errors,
      }),
    }),
  });
  builder.objectType(NotFound, {
    name: 'NotFoundProblem',
    description: 'Unknown, or of another tenant.',
    interfaces: [problem],
  });
  builder.objectType(Forbidden, {
    name: 'ForbiddenProblem',
    description: 'The caller may not do this.',
    interfaces: [problem],
  });
  builder.objectType(PreconditionFailed, {
    name: 'VersionProblem',
    description: 'The record has changed since the version that was named.',
    interfaces: [problem],
  });
};
