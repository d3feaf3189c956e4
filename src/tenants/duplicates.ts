import { Conflict } from '../errors.ts';

/** For a name or an address that has to be unique. @throws Conflict with `message` when it was taken */
export function refuseDuplicate(message: string): (error: Error & { code?: string }) => never {
  return (error) => {
    throw error.code === '23505' ? new Conflict(message) : error;
  };
}
