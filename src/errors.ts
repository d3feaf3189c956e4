/**
 * What can go wrong by a caller's doing or by the state of the system. Services throw these; rest/errors and
 * graphql/errors write them. Anything else that is thrown is a fault: 500, masked, with a TraceId.
 */
/** One fault of an input. `field` is the name on the wire, `pointer` a JSON pointer (RFC 6901) into what was sent. */
export type FieldError = { field: string | null; pointer: string | null; code: string; message: string };

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

/** The parent of all of them: `message` is for people and names the place and the remedy. */
export abstract class DomainError extends Error {
  abstract readonly code: ErrorCode;
  readonly errors: FieldError[] = [];
  /** Seconds after which the same call may succeed. */
  readonly retryAfter: number | undefined = undefined;
}

/** The request could not be read: broken JSON, wrong shape, unusable characters. */
export class Malformed extends DomainError {
  readonly code = 'Malformed';
  override readonly errors: FieldError[];
  constructor(message: string, errors: FieldError[] = []) {
    super(message);
    this.errors = errors;
  }
}

export class NotAuthenticated extends DomainError {
  readonly code = 'NotAuthenticated';
}

export class Forbidden extends DomainError {
  readonly code = 'Forbidden';
}

/** Unknown, or of another tenant: the answer is the same. */
export class NotFound extends DomainError {
  readonly code = 'NotFound';
}

export class MethodNotAllowed extends DomainError {
  readonly code = 'MethodNotAllowed';
  readonly allow: string[];
  constructor(message: string, allow: string[]) {
    super(message);
    this.allow = allow;
  }
}

/** The client keeps us waiting for the rest of its request. */
export class RequestTimeout extends DomainError {
  readonly code = 'RequestTimeout';
}

export class NotAcceptable extends DomainError {
  readonly code = 'NotAcceptable';
}

/** The present state does not allow it. */
export class Conflict extends DomainError {
  readonly code = 'Conflict';
}

/** The record is no longer in the version that the change is meant for. */
export class PreconditionFailed extends DomainError {
  readonly code = 'PreconditionFailed';
}

/** A change that does not say for which version it is meant. */
export class PreconditionRequired extends DomainError {
  readonly code = 'PreconditionRequired';
}

export class TooLarge extends DomainError {
  readonly code = 'TooLarge';
}

export class UnsupportedMediaType extends DomainError {
  readonly code = 'UnsupportedMediaType';
}

/** Readable, but its content breaks a rule. */
export class InvalidInput extends DomainError {
  readonly code = 'InvalidInput';
  override readonly errors: FieldError[];
  constructor(message: string, errors: FieldError[] = []) {
    super(message);
    this.errors = errors;
  }
}

export class LimitExceeded extends DomainError {
  readonly code = 'LimitExceeded';
  override readonly retryAfter: number | undefined;
  constructor(message: string, retryAfter?: number) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

export class Unavailable extends DomainError {
  readonly code = 'Unavailable';
  override readonly retryAfter = 5;
}
