/** Records whose version is their ETag (contract 5.2). A change names the version that it applies to. */
import type { IncomingHttpHeaders } from 'node:http';
import { Malformed, PreconditionRequired, parameterFault } from '../errors.ts';
import { mostId } from '../storable.ts';

/** Problems of changes that must name a version. */
export const versionProblems = {
  412: 'The record has changed since the version of `If-Match`.',
  428: '`If-Match` is missing.',
};

/** An ETag of ours: some have a suffix after the version. */
type Tag = { version: number; suffix: string | undefined };

const tagsInQuotes = /^(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*$/;

/**
 * The tags in `If-Match`; undefined for `*`, which is any. Tags that are not ours are left out, and match no record. Proxies that
 * compress answers weaken our tags, which name a version all the same.
 * @throws PreconditionRequired without the header; Malformed for what is no ETag
 */
export function readTags({ 'if-match': header }: IncomingHttpHeaders): Tag[] | undefined {
  if (!header?.trim())
    throw new PreconditionRequired(
      'Send If-Match with the ETag of the record as you have read it, so that no change by others is lost.',
    );
  if (header.trim() === '*') return undefined;
  if (!tagsInQuotes.test(header.trim()))
    throw Malformed.of(
      parameterFault('If-Match', 'InvalidValue', 'must be the ETag of the record with its quotes, such as "1", or *'),
    );
  return header.split(',').flatMap((tag) => {
    const [, version, suffix] = /^(?:W\/)?"(\d{1,10})(?:-([\w-]+))?"$/.exec(tag.trim()) ?? [];
    return version === undefined || Number(version) > mostId ? [] : [{ version: Number(version), suffix }];
  });
}

/** The versions in `If-Match`, for changes to which no suffix matters. @throws PreconditionRequired without the header */
export const readIfMatch = (headers: IncomingHttpHeaders): number[] | undefined =>
  readTags(headers)?.map(({ version }) => version);

/** The same for changes whose `If-Match` is optional: without it they apply to any version. */
export function readOptionalIfMatch(headers: IncomingHttpHeaders): number[] | undefined {
  return headers['if-match'] === undefined ? undefined : readIfMatch(headers);
}

/** An answer with one record. */
export function recordAnswer(
  record: { Version: number },
  { status = 200, location }: { status?: number; location?: string } = {},
): { status: number; body: object; headers: Record<string, string> } {
  return {
    status,
    body: record,
    headers: { ETag: `"${record.Version}"`, ...(location !== undefined && { Location: location }) },
  };
}
