/**
 * The errors that are reported to clients. Services throw them; rest/errors and graphql/errors write them. Any other error is a
 * bug: it is answered 500, without details but with a TraceId.
 */
import type { z } from 'zod';

/**
 * What a limit allows, in figures: who reads another language than English gets words of their own. `limitFigures` of fields.ts
 * describes them.
 */
export type LimitFigures = {
  policy?: string | undefined;
  minutes?: number;
  days?: number;
  bookings?: number;
  start?: Date;
  earliest?: Date;
  bookableFrom?: string;
  week?: string;
  nextWeek?: string;
};

/** One fault of an input. `field` is its name on the wire, `pointer` a JSON pointer (RFC 6901) into the body. */
export type FieldError = {
  field: string | null;
  pointer: string | null;
  /** The earlier place of the same input that this one collides with, such as the hours that it overlaps. */
  otherPointer?: string;
  code: string;
  message: string;
  /** The place in a file that was sent; `column` counts the fields of the line from 1. */
  line?: number;
  column?: number | null;
  limit?: LimitFigures;
};

export const shorten = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text;

/** A JSON pointer (RFC 6901). */
export const pointerTo = (keys: readonly PropertyKey[]): string =>
  shorten(keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''), 990);

/** The same place for people: `Periods[0].Opens`. */
export const pathOf = (keys: readonly PropertyKey[]): string =>
  keys
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${shorten(String(key), 100)}`))
    .join('')
    .replace(/^\./, '');

/** The fault of a member of a body; `text` says what is wrong with it and what helps. */
export const memberFault = (field: string, code: string, text: string, limit?: LimitFigures): FieldError => ({
  field,
  pointer: `/${field}`,
  code,
  message: `${field}: ${text}.`,
  ...(limit && { limit }),
});

/** The fault of the present state, which is about no member. */
export const stateFault = (code: string, message: string): FieldError => ({
  field: null,
  pointer: null,
  code,
  message,
});

/** The fault of a parameter of a query. */
export const parameterFault = (field: string, code: string, text: string): FieldError => ({
  ...memberFault(field, code, text),
  pointer: null,
});

const parameterOf = (issue: z.core.$ZodIssue, name: 'code' | 'earlier'): unknown =>
  issue.code === 'custom' ? issue.params?.[name] : undefined;

/** The path of the earlier entry of a list, for a custom check that gives its index by `params: { earlier }`. */
export function earlierPathOf(issue: z.core.$ZodIssue): PropertyKey[] | undefined {
  const earlier = parameterOf(issue, 'earlier');
  return typeof earlier === 'number' ? [...issue.path.slice(0, -1), earlier] : undefined;
}

/** The code of what zod finds in a body or a tenant file; a custom check of the schema may give one by `params: { code }`. */
export function codeOfIssue(issue: z.core.$ZodIssue, value: unknown): string {
  const named = parameterOf(issue, 'code');
  if (typeof named === 'string') return named;
  return issue.code === 'invalid_type' || value === null ? 'InvalidType' : 'InvalidValue';
}

const messageOf = (faults: readonly FieldError[]) => faults.map(({ message }) => message).join(' ');

export const statusOfCode = {
  Malformed: 400,
  NotAuthenticated: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  RequestTimeout: 408,
  Conflict: 409,
  PreconditionFailed: 412,
  TooLarge: 413,
  UnsupportedMediaType: 415,
  InvalidInput: 422,
  PreconditionRequired: 428,
  LimitExceeded: 429,
  Unavailable: 503,
} as const;

export type ErrorCode = keyof typeof statusOfCode;

/** `message` is for people: it names the place and the remedy. */
export abstract class DomainError extends Error {
  abstract readonly code: ErrorCode;
  readonly errors: FieldError[];
  /** Seconds after which the same call may succeed. */
  readonly retryAfter: number | undefined = undefined;
  constructor(message: string, errors: FieldError[] = []) {
    super(message);
    this.errors = errors;
  }
}

/** The request could not be read: broken JSON, wrong shape, unusable characters. */
export class Malformed extends DomainError {
  static readonly of = (...faults: FieldError[]) => new Malformed(messageOf(faults), faults);
  readonly code = 'Malformed';
}

export class NotAuthenticated extends DomainError {
  readonly code = 'NotAuthenticated';
}

export class Forbidden extends DomainError {
  readonly code = 'Forbidden';
}

/** The record is unknown or belongs to another tenant: the answer is the same. */
export class NotFound extends DomainError {
  readonly code = 'NotFound';
}

export class MethodNotAllowed extends DomainError {
  readonly code = 'MethodNotAllowed';
  readonly allow: string[];
  /** @param allow the methods that are possible; GET stands for HEAD too in the message */
  constructor(method: string | undefined, allow: string[]) {
    super(`${method} is not supported here; use ${allow.filter((one) => one !== 'HEAD').join(' or ')}.`);
    this.allow = allow;
  }
}

/** The rest of the request comes too slowly. */
export class RequestTimeout extends DomainError {
  readonly code = 'RequestTimeout';
}

export class NotAcceptable extends DomainError {
  readonly code = 'NotAcceptable';
}

/** The present state does not allow the change. */
export class Conflict extends DomainError {
  /** @param field the member that it is about; null: the record as a whole */
  static readonly because = (code: string, message: string, field: string | null = null) =>
    new Conflict(message, [{ ...stateFault(code, message), field, pointer: field && `/${field}` }]);
  readonly code = 'Conflict';
}

/** The first request with an Idempotency-Key is still running: unlike other conflicts, this one passes by itself. */
export class StillRunning extends Conflict {
  override readonly retryAfter = 2;
  constructor() {
    const message = 'A request with this Idempotency-Key is still running; repeat it in a few seconds.';
    super(message, [stateFault('StillRunning', message)]);
  }
}

/** The record no longer has the version that the change applies to. */
export class PreconditionFailed extends DomainError {
  readonly code = 'PreconditionFailed';
}

/** The change does not name the version that it applies to. */
export class PreconditionRequired extends DomainError {
  readonly code = 'PreconditionRequired';
}

export class TooLarge extends DomainError {
  readonly code = 'TooLarge';
}

export class UnsupportedMediaType extends DomainError {
  readonly code = 'UnsupportedMediaType';
  /** What Content-Encoding may be, if that is the fault (RFC 9110, 15.5.16). */
  readonly codings: readonly string[];
  constructor(message: string, codings: readonly string[] = []) {
    super(message);
    this.codings = codings;
  }
}

/** The input is readable, but breaks a rule. */
export class InvalidInput extends DomainError {
  static readonly of = (...faults: FieldError[]) => new InvalidInput(messageOf(faults), faults);
  readonly code = 'InvalidInput';
  readonly #found: number;
  constructor(message: string, errors: FieldError[] = [], found = errors.length) {
    super(message, errors);
    this.#found = found;
  }
  /** How many faults there are; `errors` may list fewer, and faults may be added to it later. */
  get faultCount(): number {
    return Math.max(this.#found, this.errors.length);
  }
}

/** Whole seconds until an instant. */
export const secondsUntil = (at: Date): number => Math.max(0, Math.ceil((at.getTime() - Date.now()) / 1_000));

export class LimitExceeded extends DomainError {
  /** The error for more than `most` uses until an instant; `of` says what was used: `requests in a minute for one tenant`. */
  static readonly until = (resetsAt: Date, most: number, of: string, remedy = '') => {
    const seconds = Math.max(1, secondsUntil(resetsAt));
    return new LimitExceeded(`More than ${most} ${of}; wait ${seconds} seconds.${remedy}`, seconds);
  };
  readonly code = 'LimitExceeded';
  override readonly retryAfter: number | undefined;
  constructor(message: string, retryAfter?: number) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

export class Unavailable extends DomainError {
  readonly code = 'Unavailable';
  override readonly retryAfter: number = 5;
}

/** The tenant is being moved to another installation, which will serve it at the same address. */
export class TenantAway extends Unavailable {
  constructor() {
    super('The tenant is being moved; send the same request again.');
  }
}
