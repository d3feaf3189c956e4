/**
 * Which names are allowed, in the settings, in tenants' data and in lessons, how long texts may be, and which files are JSON; for
 * browsers, too.
 */

/** An e-mail address, or the name of an account without a domain, as used on servers with a single domain. */
export const mailboxForm = /^[^\s@/\\<>()[\],;:"\p{Cc}]+(@[^\s@/\\<>()[\],;:"\p{Cc}]+)?$/u;

/** First segments of our own paths, in lower case, which no mandator may have as its code (contract 1). */
export const reservedNames: ReadonlySet<string> = new Set(
  'connect api healthz readyz metrics swagger webservices assets .well-known'.split(' '),
);

/** The code of a mandator, in any case. */
export const mandatorForm = /^[a-z0-9_-]{1,64}$/i;

/** Whether a segment of a path may be the code of a mandator. */
export const isMandator = (name: string): boolean => mandatorForm.test(name) && !reservedNames.has(name.toLowerCase());

/** In place of the name of a person whose data are erased. */
export const erasedName = 'Erased person';

/** The most characters of texts that people send: the service refuses longer ones, and forms take no longer ones. */
export const longest = {
  name: 200,
  email: 254,
  kind: 50,
  label: 200,
  subject: 200,
  description: 4_000,
  reason: 500,
  profile: 100,
  /** That pairs a door sign. */
  code: 40,
  url: 2_000,
};

/** A logo: its bytes, and its longest side in pixels. */
export const largestLogo = { bytes: 65_536, pixels: 2_000 };

/** The most characters of the keys, names and other texts of lessons, and the most names in a list (contract 4.1). */
export const lessonLimits = { key: 128, name: 200, text: 4_000, names: 200 };

/** The members of the API at the beginning of a message: `input.name: …`. */
export const leadingMembers = /^([a-z][\w.[\]]*(?:, [a-z][\w.[\]]*)*): /;

/**
 * Whether a file of a timetable is JSON: it is called so, or begins as a list of objects or an object does. A CSV may begin with
 * a heading in brackets.
 * @param head its beginning
 */
export const isJsonFile = (name: string, head: string): boolean =>
  /\.json$/i.test(name) || /^\ufeff?\s*(?:\[\s*[\]{]|\{\s*["}])/.test(head);
