/** Devices over GraphQL: Admins pair, list, change and revoke them; devices report their health. */
import { Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed } from '../errors.ts';
import { bodyType } from '../graphql/body.ts';
import { type AddTypes, type Builder, typeNamed } from '../graphql/builder.ts';
import { connectionType, listFrameCost, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { idArgument } from '../graphql/ids.ts';
import { nodeOf, orNull } from '../graphql/nodes.ts';
import { enumType, recordFields, recordType } from '../graphql/record.ts';
import { resolveFrame } from '../graphql/streams.ts';
import * as wire from './device-wire.ts';
import * as displays from './service.ts';

function addDisplay(builder: Builder) {
  enumType(builder, wire.displayPrivacy);
  recordType(builder, 'DisplayRoom', wire.roomReference);
  recordType(builder, 'DisplayHealth', wire.healthRecord);
  recordType(builder, 'DisplayLook', wire.lookRecord);
  return builder.objectRef<displays.Display>('Display').implement({
    ...nodeOf('display', ({ context, viewer }, id) => displays.getDevice(context.db, viewer, id)),
    description: wire.displayRecord.description ?? '',
    fields: (t) => ({
      ...recordFields(t, wire.displayRecord, wire.toDisplayRecord),
      ageSeconds: t.exposeInt('ageSeconds', {
        nullable: true,
        description: 'Seconds since its last call; null: it has never called.',
      }),
    }),
  });
}

type DisplayType = ReturnType<typeof addDisplay>;

const id = { required: true, description: 'The id of the display.' } as const;

function addAdminFields(builder: Builder, display: DisplayType): void {
  const connection = connectionType(builder, display, displays.displayList, { isCounted: true });
  builder.queryField('displays', (t) =>
    t.field({
      type: connection,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'All displays of the tenant by id, including silent and revoked ones, for Admins.',
      resolve: (_root, page, { context, viewer }) =>
        displays.listDevices(context.db, viewer, pageOf(displays.displayList, page)),
    }),
  );
  builder.queryField('displayDevice', (t) =>
    t.field({
      type: display,
      nullable: true,
      args: { id: idArgument(t.arg, 'display', id) },
      description: 'A display by its own id, for Admins; null if the tenant has none with this id.',
      resolve: (_root, { id }, { context, viewer }) => orNull(displays.getDevice(context.db, viewer, id)),
    }),
  );
  builder.objectField(typeNamed<{ id: number }>('Resource'), 'displays', (t) =>
    t.field({
      type: connection,
      nullable: true,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'The displays that show it, by id, including silent and revoked ones, for Admins.',
      resolve: ({ id }, page, { context, viewer }) =>
        displays.listDevicesOf(context.db, viewer, id, pageOf(displays.displayList, page)),
    }),
  );
  const pairInput = bodyType(builder, 'PairDisplayInput', wire.newDisplay);
  const changeInput = bodyType(builder, 'ChangeDisplayInput', wire.displayChanges);
  const union = (name: string) => ({ name, description: 'The display, or why the request was refused.' });
  builder.mutationFields((t) => ({
    pairDisplay: t.field({
      type: display,
      errors: { types: [Conflict, Forbidden, InvalidInput], union: union('PairDisplayResult') },
      args: {
        input: t.arg({ type: pairInput, required: true, description: 'The device, and what it shows and may do.' }),
      },
      description: 'Confirms the code that a device shows: from then on its token is valid. For Admins.',
      resolve: (_root, { input }, call) => displays.pairDisplay(call.context.db, call, input),
    }),
    changeDisplay: t.field({
      type: display,
      errors: {
        types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed],
        union: union('ChangeDisplayResult'),
      },
      args: {
        id: idArgument(t.arg, 'display', id),
        version: t.arg.int({ required: true, description: 'The version that was read.' }),
        input: t.arg({ type: changeInput, required: true, description: 'The changes.' }),
      },
      description: 'Changes the name of a display, and what it shows and may do, at once. For Admins.',
      resolve: (_root, { id, version, input }, call) =>
        displays.changeDevice(call.context.db, call, id, [version], input),
    }),
    revokeDisplay: t.field({
      type: display,
      errors: { types: [Forbidden, NotFound], union: union('RevokeDisplayResult') },
      args: { id: idArgument(t.arg, 'display', id) },
      description: 'Revokes a display, with its token and its streams, for Admins; repeating it changes nothing.',
      resolve: (_root, args, call) => displays.revokeDevice(call.context.db, call, args.id),
    }),
  }));
}

function addOwnFields(builder: Builder, display: DisplayType): void {
  builder.queryField('thisDisplay', (t) =>
    t.field({
      type: display,
      nullable: true,
      description: 'The paired device whose token this call carries; null with the credential of a person.',
      resolve: (_root, _args, { context, viewer }) => displays.findOwnDevice(context, viewer),
    }),
  );
  const healthInput = bodyType(builder, 'HealthInput', wire.healthReport);
  builder.mutationField('reportHealth', (t) =>
    t.field({
      type: display,
      errors: {
        types: [Forbidden, InvalidInput],
        union: { name: 'ReportHealthResult', description: 'The calling device, or why the request was refused.' },
      },
      args: { input: t.arg({ type: healthInput, required: true, description: 'The health of the device.' }) },
      description: 'The health report of a paired device, sent every few minutes.',
      resolve: (_root, { input }, { context, viewer }) => displays.reportHealth(context, viewer, input),
    }),
  );
}

function addStream(builder: Builder, display: DisplayType): void {
  builder.subscriptionField('displays', (t) =>
    t.field({
      type: [display],
      complexity: listFrameCost,
      description:
        'First all displays of the tenant, in parts of 200; then each one that is paired, changed, revoked, silent, back or with new health, in its present state. All again after a lost connection. For Admins.',
      subscribe: (_root, _args, call) =>
        call.streams.open(call, [displays.deviceTopic(call.viewer)], (changes, signal) =>
          displays.watchDevices(call.context.db, call.viewer, changes, signal),
        ),
      resolve: resolveFrame,
    }),
  );
}

export const addDeviceTypes: AddTypes = (builder) => {
  const display = addDisplay(builder);
  addAdminFields(builder, display);
  addStream(builder, display);
  addOwnFields(builder, display);
};
