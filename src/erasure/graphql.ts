import { Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed } from '../errors.ts';
import { type AddTypes, typeNamed } from '../graphql/builder.ts';
import { idArgument } from '../graphql/ids.ts';
import { readInput } from '../input.ts';
import { erasePerson } from './service.ts';
import { erasure } from './wire.ts';

export const addTypes: AddTypes = (builder) => {
  builder.mutationField('erasePerson', (t) =>
    t.field({
      type: typeNamed<Awaited<ReturnType<typeof erasePerson>>>('Person'),
      errors: {
        types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed],
        union: { name: 'ErasePersonResult', description: 'The erased person, or why the request was refused.' },
      },
      args: {
        id: idArgument(t.arg, 'person', { required: true, description: 'The id of the person.' }),
        version: t.arg.int({ description: 'The version that was read; any version if left out.' }),
        alsoKnownAs: t.arg.stringList({
          description: `${erasure.shape.AlsoKnownAs.description}`,
        }),
      },
      description:
        'Erases the personal data of a person for good, for Admins; its bookings stay, without the name and address. Repeating it changes nothing, except that it removes further names.',
      resolve: (_root, { id, version, alsoKnownAs }, call) => {
        const { AlsoKnownAs } = readInput(erasure, { AlsoKnownAs: alsoKnownAs ?? [] });
        return erasePerson(call.context, call, id, version == null ? undefined : [version], AlsoKnownAs);
      },
    }),
  );
};
