import type { Context, Viewer } from '../context.ts';
import { NotAuthenticated, Unavailable } from '../errors.ts';
import { asDomainError } from '../flow/database-errors.ts';
import type { AddTypes, Builder, GraphqlCall } from '../graphql/builder.ts';
import { idArgument } from '../graphql/ids.ts';
import { enumType, recordType } from '../graphql/record.ts';
import { resolveFrame } from '../graphql/streams.ts';
import { addDeviceTypes } from './device-graphql.ts';
import * as displays from './service.ts';
import * as wire from './wire.ts';

function addSnapshot(builder: Builder) {
  enumType(builder, wire.roomStatus);
  enumType(builder, wire.slotChangeKind);
  recordType(builder, 'SlotChange', wire.slotChange);
  recordType(builder, 'DisplaySlot', wire.displaySlot);
  recordType(builder, 'ZoneOffset', wire.zoneOffset);
  recordType(builder, 'OpenStretch', wire.openStretch);
  recordType(builder, 'DisplayResource', wire.displayResource);
  return recordType(builder, 'DisplaySnapshot', wire.displaySnapshot, wire.toSnapshotRecord);
}

function addFrame(builder: Builder, snapshot: ReturnType<typeof addSnapshot>) {
  const heartbeat = recordType(builder, 'DisplayHeartbeat', wire.displayHeartbeat, wire.toHeartbeatRecord);
  const reason = builder.enumType('DisplayEnd', {
    description: 'The reason why a stream ends.',
    values: {
      Expired: { description: 'The credential has expired.' },
      Revoked: { description: 'The credential is no longer valid.' },
      Restarting: { description: 'The service restarts, or the rights of the display have changed.' },
    } as const,
  });
  const ended = builder.objectRef<displays.DisplayEnded>('DisplayEnded').implement({
    description: 'The last frame of a stream that the server ends.',
    fields: (t) => ({
      reason: t.expose('reason', { type: reason, description: 'The reason.' }),
      serverTime: t.field({
        type: 'DateTime',
        description: "The server's clock.",
        resolve: ({ serverTime }) => new Date(serverTime),
      }),
      retryAfterSeconds: t.exposeInt('retryAfterSeconds', {
        nullable: true,
        description: 'Seconds to wait before subscribing again; null: the credential is no longer valid.',
      }),
    }),
  });
  const types = { snapshot, heartbeat, ended };
  return builder.unionType('DisplayFrame', {
    description: 'A frame of the stream of a room.',
    types: Object.values(types),
    resolveType: ({ kind }) => types[kind],
  });
}

/** The last frame of a stream that `error` has ended. @throws any other error than those a sign can act on */
function endOf(error: Error, { expiresAt }: Viewer): displays.DisplayEnded {
  const serverTime = Date.now();
  const cause = asDomainError(error);
  if (cause instanceof NotAuthenticated) {
    const reason = expiresAt.getTime() <= serverTime ? 'Expired' : 'Revoked';
    return { kind: 'ended', reason, serverTime, retryAfterSeconds: null };
  }
  if (cause instanceof Unavailable)
    return { kind: 'ended', reason: 'Restarting', serverTime, retryAfterSeconds: cause.retryAfter };
  throw error;
}

function addReads(builder: Builder, snapshot: ReturnType<typeof addSnapshot>): void {
  builder.queryFields((t) => ({
    display: t.field({
      type: snapshot,
      args: { resourceId: idArgument(t.arg, 'resource', { required: true, description: 'The id of the room.' }) },
      complexity: 100,
      description:
        'A room in its present state, with its plan for today and two more days; a display sees its own rooms, within its level of privacy.',
      resolve: (_root, { resourceId }, { context, viewer }) => {
        displays.hear(context, viewer);
        return displays.readSnapshot(context, viewer, resourceId);
      },
    }),
    board: t.field({
      type: [snapshot],
      args: { locationId: idArgument(t.arg, 'location', { required: true, description: 'The id of the location.' }) },
      complexity: { field: 1_000, multiplier: 10 },
      description: 'The active rooms of a location by name, each as in `display`; a display sees its own.',
      resolve: (_root, { locationId }, { context, viewer }) => {
        displays.hear(context, viewer);
        return displays.readLocation(context, viewer, locationId);
      },
    }),
  }));
}

function addStreams(builder: Builder, frame: ReturnType<typeof addFrame>): void {
  const follow = (call: GraphqlCall, open: (context: Context) => ReturnType<typeof displays.watchRoom>) =>
    call.streams.follow<displays.RoomSnapshot | displays.DisplayHeartbeat, displays.DisplayFrame>(
      call,
      async () => displays.hearReader(call.context, call.viewer, await open(call.context)),
      endOf,
    );
  // The fields of a frame do not depend on the reader: its level of privacy was applied when it was made.
  const extensions = { sharesFrames: true };
  builder.subscriptionFields((t) => ({
    display: t.field({
      type: frame,
      args: {
        resourceId: idArgument(t.arg, 'resource', { required: true, description: 'The id of the room.' }),
        after: t.arg.string({ description: 'The `cursor` of the snapshot that is shown now.' }),
      },
      extensions,
      description:
        'First a snapshot, or a heartbeat if `after` is the cursor of the present one; then a snapshot whenever the room looks different, and a heartbeat every 30 seconds. A slow reader gets only the latest. The last frame says why the stream ends.',
      subscribe: (_root, { resourceId, after }, call) =>
        follow(call, (context) => displays.watchRoom(context, call.viewer, resourceId, after)),
      resolve: resolveFrame,
    }),
    board: t.field({
      type: frame,
      args: { locationId: idArgument(t.arg, 'location', { required: true, description: 'The id of the location.' }) },
      extensions,
      description:
        'The same for all rooms of a location, with one heartbeat for all. A retired room is sent once more in its last state; a new room is sent from then on.',
      subscribe: (_root, { locationId }, call) =>
        follow(call, (context) => displays.watchLocation(context, call.viewer, locationId)),
      resolve: resolveFrame,
    }),
  }));
}

export const addTypes: AddTypes = (builder) => {
  const snapshot = addSnapshot(builder);
  addReads(builder, snapshot);
  addStreams(builder, addFrame(builder, snapshot));
  addDeviceTypes(builder);
};
