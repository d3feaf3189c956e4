/** The code that leads a phone from a door sign to the room in the console (contract 9). */
import { InvalidInput, NotFound, parameterFault } from '../errors.ts';
import { isMandator } from '../names.ts';
import { makeAnswerFile, type WebFile } from './files.ts';

/** The codes are pictures, which neither load nor run anything. */
export const picturePolicy = "default-src 'none'; style-src 'none'; sandbox";

const longestBase = 500;

/**
 * A QR code of the room's day in the console.
 * @param base where browsers reach the service
 * @throws NotFound when no tenant can have this name; InvalidInput without a day
 */
export async function makePhoneCode(base: string, mandator: string, id: string, day: unknown): Promise<WebFile> {
  if (!isMandator(mandator) || id.length > 10 || base.length > longestBase)
    throw new NotFound('There is no such door sign: look at its address.');
  if (typeof day !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(day))
    throw InvalidInput.of(parameterFault('day', 'InvalidValue', 'must be a date such as 2027-03-01'));
  // Loaded with the first code: most processes draw none.
  const { default: encode } = await import('qr');
  const address = `${base}/${mandator}/console?screen=rooms&resource=${id}&day=${day}`;
  return makeAnswerFile('svg', encode(address, 'svg', { ecc: 'medium', border: 2 }));
}
