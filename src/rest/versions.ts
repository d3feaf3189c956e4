/** Records with a version, which is their ETag (contract 5.2): a change names the version that it is meant for. */
import type { IncomingHttpHeaders } from 'node:http';
import { PreconditionRequired } from '../errors.ts';
import { mostId } from '../storable.ts';
import type { RestAnswer } from './route.ts';

/**
 * The versions of an `If-Match`; undefined for `*`, which is any. What is no version of ours is nobody's.
 * @throws PreconditionRequired without the header
 */
export function readIfMatch({ 'if-match': header }: IncomingHttpHeaders): number[] | undefined {
  if (!header?.trim())
    throw new PreconditionRequired(
      'Send If-Match with the ETag of the record as you have read it, so that no change of another is lost.',
    );
  if (header.trim() === '*') return undefined;
  return header.split(',').flatMap((tag) => {
    // What some ETags tell after their version is of no concern to a change.
    const [, version] = /^"(\d{1,10})(?:-[\w-]+)?"$/.exec(tag.trim()) ?? [];
    return version === undefined || Number(version) > mostId ? [] : [Number(version)];
  });
}

/** The same where a change may come without the header, and then is meant for whichever version there is. */
export function readOptionalIfMatch(headers: IncomingHttpHeaders): number[] | undefined {
  return headers['if-match'] === undefined ? undefined : readIfMatch(headers);
}

/** An answer with one record. */
export function recordAnswer(
  record: { Version: number },
  { status = 200, location }: { status?: number; location?: string } = {},
): RestAnswer {
  return {
    status,
    body: record,
    headers: { ETag: `"${record.Version}"`, ...(location !== undefined && { Location: location }) },
  };
}
