import { ServerFault } from '../../../src/mail-servers/connector.ts';

/** The fault with which an attempt fails. */
export async function faultOf(attempt: Promise<unknown>): Promise<ServerFault> {
  const error = await attempt.then(
    () => new Error('it went well'),
    (reason: unknown) => reason,
  );
  if (error instanceof ServerFault) return error;
  throw error;
}
