import { Conflict, Forbidden, InvalidInput, NotFound } from '../errors.ts';
import { idempotencyKey as keySchema } from '../fields.ts';
import { judgedBy } from '../graphql/body.ts';
import { type AddTypes, typeNamed } from '../graphql/builder.ts';
import { connectionType, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { idArgument, idFields } from '../graphql/ids.ts';
import { nodeOf, orNull } from '../graphql/nodes.ts';
import { recordFields } from '../graphql/record.ts';
import { createPinFor, findPin, listPinsOf, listPinsTogether, type Pin, pinList, revokePinOf } from './service.ts';
import { newPin, pinRecord, toPinRecord } from './wire.ts';

export const addTypes: AddTypes = (builder) => {
  const pin = builder.objectRef<Pin>('Pin').implement({
    ...nodeOf('pin', ({ context, viewer }, id) => findPin(context.db, viewer, id)),
    description: 'A PIN, without the PIN itself.',
    fields: (t) => ({
      ...idFields(t, 'pin', ({ pinId }) => pinId, 'The PinId.'),
      ...recordFields(t, pinRecord.omit({ PinId: true }), toPinRecord),
    }),
  });
  const pins = connectionType(builder, pin, pinList);
  builder.objectField(typeNamed<{ id: number }>('Person'), 'pins', (t) =>
    t.field({
      type: pins,
      nullable: true,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'The PINs of the person, oldest first, for Admins.',
      resolve: ({ id }, page, { context, viewer }) => listPinsTogether(context.db, viewer, id, pageOf(pinList, page)),
    }),
  );
  const created = builder.objectRef<{ pin: string; record: Pin }>('PinCreated').implement({
    description: 'A PIN that was created.',
    fields: (t) => ({
      pin: t.exposeString('pin', {
        description: 'The PIN. It is shown only this once.',
      }),
      record: t.field({ type: pin, description: 'The stored record.', resolve: ({ record }) => record }),
    }),
  });
  builder.queryField('pins', (t) =>
    t.field({
      type: pins,
      nullable: true,
      args: {
        personId: idArgument(t.arg, 'person', { required: true, description: 'The person to whom they belong.' }),
        ...pageArguments(t.arg),
      },
      complexity: pageCost,
      description: 'The PINs of a person, oldest first, for Admins; null if the tenant has no person with this id.',
      resolve: (_root, { personId, ...page }, { context, viewer }) =>
        orNull(listPinsOf(context.db, viewer, personId, pageOf(pinList, page))),
    }),
  );
  builder.mutationFields((t) => ({
    createPin: t.field({
      type: created,
      errors: {
        types: [Conflict, Forbidden, InvalidInput, NotFound],
        union: { name: 'CreatePinResult', description: 'The PIN, or why the request was refused.' },
      },
      args: {
        personId: idArgument(t.arg, 'person', {
          required: true,
          description: 'The active person to whom the PIN belongs.',
        }),
        label: t.arg.string({ description: 'What the PIN is for.', validate: judgedBy(newPin.shape.Label) }),
        expiresAt: t.arg({
          type: 'DateTime',
          description: 'When it expires; never if left out.',
          validate: judgedBy(newPin.shape.ExpiresAt),
        }),
        idempotencyKey: t.arg.string({
          description:
            'Repeated within 24 hours, the call creates no second PIN but returns a ConflictProblem, as a PIN is shown only once.',
          validate: { schema: keySchema },
        }),
      },
      description: 'Creates a PIN for a person, for Admins.',
      resolve: (_root, { personId, label, expiresAt, idempotencyKey }, call) =>
        createPinFor(call.context, call, personId, {
          label: label ?? null,
          expiresAt: expiresAt ?? null,
          idempotencyKey: idempotencyKey ?? undefined,
        }),
    }),
    revokePin: t.field({
      type: pin,
      errors: {
        types: [Forbidden, NotFound],
        union: { name: 'RevokePinResult', description: 'The revoked PIN, or why the request was refused.' },
      },
      args: { id: idArgument(t.arg, 'pin', { required: true, description: 'The PinId.' }) },
      description: 'Revokes a PIN, with its tokens and its streams, for Admins; repeating it changes nothing.',
      resolve: (_root, { id }, call) => revokePinOf(call.context.db, call, id),
    }),
  }));
};
