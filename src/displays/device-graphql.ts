/** Devices over GraphQL: how Admins pair, list, change and revoke them, and what they tell of themselves. */
import type { z } from 'zod';
import { Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed } from '../errors.ts';
import type { AddTypes, Builder } from '../graphql/builder.ts';
import { connectionType, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { bodyType, enumType, type MemberType, readBody, recordFields, recordType } from '../graphql/record.ts';
import { readId } from '../input.ts';
import * as wire from './device-wire.ts';
import * as devices from './devices.ts';
import type { Display } from './display.ts';
import { pairDisplay } from './pairing.ts';

/** A record as REST has it, which is the source of its type here. */
const asItIs = (record: object) => record;

function addDisplay(builder: Builder) {
  const members = new Map<z.ZodType, MemberType>([
    [wire.displayPrivacy, enumType(builder, wire.displayPrivacy)],
    [wire.roomReference, recordType(builder, 'DisplayRoom', wire.roomReference, asItIs)],
    [wire.healthRecord, recordType(builder, 'DisplayHealth', wire.healthRecord, asItIs)],
  ]);
  return builder.objectRef<Display>('Display').implement({
    description: wire.displayRecord.description ?? '',
    fields: (t) => ({
      ...recordFields(t, wire.displayRecord, wire.toDisplayRecord, members),
      ageSeconds: t.exposeInt('ageSeconds', {
        nullable: true,
        description: 'How long ago it last called; null for never.',
      }),
    }),
  });
}

type DisplayType = ReturnType<typeof addDisplay>;

const id = { required: true, description: 'The id of the display.' } as const;

function addAdminFields(builder: Builder, display: DisplayType): void {
  const connection = connectionType(builder, display, devices.displayList);
  builder.queryField('displays', (t) =>
    t.field({
      type: connection,
      args: pageArguments(t.arg),
      complexity: pageCost,
      description: 'All displays of the tenant by their ids, silent and revoked ones too, for Admins.',
      resolve: (_root, page, { context, viewer }) =>
        devices.listDevices(context.db, viewer, pageOf(devices.displayList, page)),
    }),
  );
  const pairInput = bodyType(builder, 'PairDisplayInput', wire.newDisplay);
  const changeInput = bodyType(builder, 'ChangeDisplayInput', wire.displayChanges);
  const union = (name: string) => ({ name, description: 'The display, or why not.' });
  builder.mutationFields((t) => ({
    pairDisplay: t.field({
      type: display,
      errors: { types: [Conflict, Forbidden, InvalidInput], union: union('PairDisplayResult') },
      args: { input: t.arg({ type: pairInput, required: true, description: 'Which device, and for what.' }) },
      description: 'Confirms the code that a device shows: from then on its token counts. For Admins.',
      resolve: (_root, { input }, call) =>
        pairDisplay(call.context.db, call, wire.toFields(readBody(wire.newDisplay, input))),
    }),
    changeDisplay: t.field({
      type: display,
      errors: {
        types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed],
        union: union('ChangeDisplayResult'),
      },
      args: {
        id: t.arg.id(id),
        version: t.arg.int({ required: true, description: 'The version that was read.' }),
        input: t.arg({ type: changeInput, required: true, description: 'What to change.' }),
      },
      description: 'Changes what a display is called, shows and may do; at once. For Admins.',
      resolve: (_root, args, call) => {
        const changes = wire.toFields(readBody(wire.displayChanges, args.input));
        return devices.changeDevice(call.context.db, call, readId(args.id), [args.version], changes);
      },
    }),
    revokeDisplay: t.field({
      type: display,
      errors: { types: [Forbidden, NotFound], union: union('RevokeDisplayResult') },
      args: { id: t.arg.id(id) },
      description: 'Ends a display, its token and its streams, for Admins; again is no error.',
      resolve: (_root, args, call) => devices.revokeDevice(call.context.db, call, readId(args.id)),
    }),
  }));
}

function addOwnFields(builder: Builder, display: DisplayType): void {
  builder.queryField('thisDisplay', (t) =>
    t.field({
      type: display,
      nullable: true,
      description: 'The paired device whose token this call carries; null for the credential of a person.',
      resolve: (_root, _args, { context, viewer }) => devices.findOwnDevice(context, viewer),
    }),
  );
  const healthInput = bodyType(builder, 'HealthInput', wire.healthReport);
  builder.mutationField('reportHealth', (t) =>
    t.field({
      type: display,
      errors: {
        types: [Forbidden, InvalidInput],
        union: { name: 'ReportHealthResult', description: 'The device that calls, or why not.' },
      },
      args: { input: t.arg({ type: healthInput, required: true, description: 'How it is.' }) },
      description: 'What a paired device tells of itself, every few minutes.',
      resolve: (_root, { input }, { context, viewer }) =>
        devices.reportHealth(context, viewer, wire.toFields(readBody(wire.healthReport, input))),
    }),
  );
}

export const addDeviceTypes: AddTypes = (builder) => {
  const display = addDisplay(builder);
  addAdminFields(builder, display);
  addOwnFields(builder, display);
};
