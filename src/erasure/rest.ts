import { z } from 'zod';
import { id } from '../query-parameters.ts';
import { forAdmins, type Route, route } from '../rest/route.ts';
import { readOptionalIfMatch, recordAnswer, versionProblems } from '../rest/versions.ts';
import { erasePerson } from './service.ts';
import { erased, erasure } from './wire.ts';

export const routes: Route[] = [
  route({
    method: 'POST',
    path: '/v1.0/persons/:id/erasure',
    summary: 'Erase a person',
    description:
      'Erases the personal data of the person for good: name, address, PINs and tokens, which end at once, calendar addresses, and its name among the teachers of lessons, unless another person has the same name. Its bookings stay, without the name and address. `If-Match` is optional. Repeating it changes nothing, except that it removes further names.',
    headers: ['If-Match'],
    params: z.object({ id: id('person', 'The Id of the person.') }),
    body: { schema: erasure, example: { AlsoKnownAs: ['GH'] }, mayBeEmpty: true },
    answers: {
      200: { description: 'The person, erased.', body: erased.schema, example: erased.example, headers: ['ETag'] },
    },
    problems: {
      403: forAdmins,
      409: 'The tenant would have no active Admin left, or the person is that of a display.',
      412: versionProblems[412],
    },
    handle: async (context, call) => {
      const versions = readOptionalIfMatch(call.headers);
      return recordAnswer(
        erased.toRecord(await erasePerson(context, call, call.params.id, versions, call.body.AlsoKnownAs)),
      );
    },
  }),
];
