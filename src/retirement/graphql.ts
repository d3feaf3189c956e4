import { Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed } from '../errors.ts';
import { bodyType } from '../graphql/body.ts';
import { type AddTypes, typeNamed } from '../graphql/builder.ts';
import { idArgument } from '../graphql/ids.ts';
import { orNull } from '../graphql/nodes.ts';
import { enumType, recordFields, recordType } from '../graphql/record.ts';
import { type Preview, previewRetirement, type Retired, type RetirementWish, retire } from './service.ts';
import * as wire from './wire.ts';

const resourceType = typeNamed<Preview['resource']>('Resource');

export const addTypes: AddTypes = (builder) => {
  enumType(builder, wire.futureBookings);
  recordType(builder, 'UpcomingBookings', wire.upcoming);
  const preview = builder.objectRef<Preview>('RetirementPreview').implement({
    description: wire.preview.description ?? '',
    fields: (t) => ({
      ...recordFields(t, wire.preview.omit({ Resource: true }), wire.toPreview),
      resource: t.field({ type: resourceType, description: 'The resource.', resolve: ({ resource }) => resource }),
    }),
  });
  const retired = builder.objectRef<Retired>('Retired').implement({
    description: wire.retired.description ?? '',
    fields: (t) => ({
      ...recordFields(t, wire.retired.omit({ Resource: true, Conflicts: true }), wire.toRetired),
      resource: t.field({
        type: resourceType,
        description: 'The resource as it is now.',
        resolve: ({ resource }) => resource,
      }),
      conflicts: t.field({
        type: [typeNamed<Retired['conflicts'][number]>('RoomConflict')],
        description: wire.retired.shape.Conflicts.description ?? '',
        resolve: ({ conflicts }) => conflicts.slice(0, wire.mostConflicts),
      }),
    }),
  });
  const input = bodyType(builder, 'RetireResourceInput', wire.retirement);
  builder.queryField('retirementPreview', (t) =>
    t.field({
      type: preview,
      nullable: true,
      args: {
        resourceId: idArgument(t.arg, 'resource', { required: true, description: 'The resource to retire.' }),
      },
      description: 'What the retirement of a resource would affect now, for Admins; null if there is no such resource.',
      resolve: (_root, { resourceId }, { context, viewer }) =>
        orNull(previewRetirement(context.db, viewer, resourceId)),
    }),
  );
  builder.mutationField('retireResource', (t) =>
    t.field({
      type: retired,
      errors: {
        types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed],
        union: { name: 'RetireResourceResult', description: 'The outcome, or why the request was refused.' },
      },
      args: {
        id: idArgument(t.arg, 'resource', { required: true, description: 'The id of the resource.' }),
        version: t.arg.int({ required: true, description: 'The version that was read.' }),
        digest: t.arg.string({
          description: 'The `digest` of a preview: nothing is done if anything in the preview has changed since.',
        }),
        input: t.arg({ type: input, required: true, description: 'How to retire it.' }),
      },
      description:
        'Sets a resource to inactive, and keeps, cancels or moves the future bookings of persons; all or nothing. For Admins.',
      resolve: (_root, { id, version, digest, input: wanted }, call) =>
        retire(call.context.db, call, id, [{ version, digest: digest ?? undefined }], wanted as RetirementWish),
    }),
  );
};
