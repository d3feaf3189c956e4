/**
 * Preloaded into a program (`NODE_OPTIONS=--import`): no request has a deadline of its own, so that a server that does not
 * answer is waited for as long as the program's own bounds allow.
 */
AbortSignal.timeout = () => new AbortController().signal;
