import { z } from 'zod';
import { toFields } from '../fields.ts';
import { id } from '../query-parameters.ts';
import { forAdmins, type Route, route } from '../rest/route.ts';
import { readTags, recordAnswer } from '../rest/versions.ts';
import { previewRetirement, retire } from './service.ts';
import * as wire from './wire.ts';

const path = '/v1.0/resources/:id/retirement';
const params = z.object({ id: id('resource', 'The Id of the resource.') });

export const routes: Route[] = [
  route({
    method: 'GET',
    path,
    summary: 'Preview a retirement',
    description:
      'The future bookings of the resource, the displays that show it, and whether its mailbox is read. With the ETag of this answer in `If-Match`, the retirement is done only if all of that is unchanged; with the ETag of the resource, if only the resource is.',
    params,
    answers: {
      200: {
        description: 'What a retirement would affect.',
        body: wire.preview,
        example: wire.examples.preview,
        headers: ['ETag'],
      },
    },
    problems: { 403: forAdmins },
    handle: async ({ db }, { viewer, params }) => {
      const preview = await previewRetirement(db, viewer, params.id);
      const headers = { ETag: `"${preview.resource.version}-${preview.digest}"` };
      return { status: 200, body: wire.toPreview(preview), headers };
    },
  }),
  route({
    method: 'POST',
    path,
    summary: 'Retire a resource',
    description:
      'Sets a resource to inactive, in the version of `If-Match`, and keeps, cancels or moves the future bookings of persons; all or, with 409, nothing. Bookings that have begun stay to their end. Lessons stay, as the timetable owns them. For a resource that is already retired, the bookings that were kept are handled.',
    headers: ['If-Match'],
    params,
    body: { schema: wire.retirement, example: { FutureBookings: 'Move', ResourceId: 3 } },
    answers: {
      200: {
        description: 'The resource, and the outcome for its bookings.',
        body: wire.retired,
        example: wire.examples.retired,
        headers: ['ETag'],
      },
    },
    problems: {
      403: forAdmins,
      409: 'The target is occupied, see `Conflicts`, or not active.',
      412: 'The resource, or with the ETag of a preview anything in the preview, has changed since.',
      428: '`If-Match` is missing.',
    },
    handle: async ({ db }, call) => {
      const tags = readTags(call.headers);
      // A proxy that compresses answers may have changed the tag.
      const seen = tags?.map(({ version, suffix }) => ({ version, digest: /^[0-9a-f]{32}/.exec(suffix ?? '')?.[0] }));
      return recordAnswer(wire.toRetired(await retire(db, call, call.params.id, seen, toFields(call.body))));
    },
  }),
];
