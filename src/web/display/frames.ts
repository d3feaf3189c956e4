/** The GraphQL documents, and their answers as the page uses them: instants are milliseconds since 1970. */
import type { Freshness, PlannedSlot, Schedule } from '../../displays/state.ts';
import { inPlace } from '../bidi.ts';
import type { ZoneOffsets } from './clock.ts';

export type ShownSlot = PlannedSlot & { bookingId: string };

export type ShownRoom = Schedule<ShownSlot> &
  Freshness & {
    staleAfterSeconds: number;
    timeZone: string;
    zoneOffsets: ZoneOffsets;
    resource: {
      id: string;
      name: string;
      locationId: string;
      locationName: string;
      capacity: number | null;
      equipment: string[];
      active: boolean;
    };
  };

export type ReceivedEnd = { reason: string; serverTime: number; retryAfterSeconds: number | null };
export type ReceivedFrame =
  | { kind: 'snapshot'; snapshot: ShownRoom }
  | ({ kind: 'heartbeat' } & Freshness)
  | ({ kind: 'ended' } & ReceivedEnd);

const snapshotFields = `fragment Plan on DisplaySnapshot { cursor serverTime asOf staleAfterSeconds trustUntil
timeZone zoneOffsets { from offsetMinutes } resource { id: restId name locationId locationName capacity equipment active }
schedule { bookingId version kind occupies isTentative isRequested from to start end subject organizer classes teachers
checkIn { from until checkedInAt } change { kind roomBefore roomNow startBefore endBefore startNow endNow teachersBefore } }
open { start end } end }`;
const frameFields = `{ __typename ...Plan ... on DisplayHeartbeat { cursor serverTime asOf trustUntil }
... on DisplayEnded { reason serverTime retryAfterSeconds } } }
${snapshotFields}`;

export const documents = {
  sign: {
    stream: `subscription Sign($id: ID!, $after: String) { frame: display(resourceId: $id, after: $after) ${frameFields}`,
    poll: `query SignNow($id: ID!) { now: display(resourceId: $id) { ...Plan } }\n${snapshotFields}`,
  },
  board: {
    stream: `subscription Board($id: ID!) { frame: board(locationId: $id) ${frameFields}`,
    poll: `query BoardNow($id: ID!) { now: board(locationId: $id) { ...Plan } }\n${snapshotFields}`,
  },
  device: '{ serverTime thisDisplay { mayBook locationId resourceIds look { colour logo } } }',
  report:
    'mutation Report($input: ReportRoomProblemInput!) { report: reportRoomProblem(input: $input) { __typename ... on Problem { code } ... on LimitProblem { retryAfterSeconds } } }',
  health: 'mutation Health($input: HealthInput!) { reportHealth(input: $input) { __typename } }',
};

const instantNames =
  /^(serverTime|asOf|trustUntil|from|to|start|end|until|checkedInAt|startBefore|endBefore|startNow|endNow)$/;

/** Parses JSON: instants become numbers, and texts are isolated (bidi.ts). */
export function parseInstants(text: string): unknown {
  return JSON.parse(text, (key, value) => {
    if (typeof value !== 'string') return value;
    return instantNames.test(key) ? Date.parse(value) : inPlace(value);
  });
}

type SentSlot = Omit<ShownSlot, 'isBlock' | 'checkIn'> & {
  checkIn: { from: number; until: number; checkedInAt: number | null } | null;
};
/** A DisplaySnapshot after parseInstants. */
export type SentSnapshot = Omit<ShownRoom, 'isActive' | 'slots'> & {
  schedule: SentSlot[];
};

export function readSnapshot({ schedule, ...rest }: SentSnapshot): ShownRoom {
  return {
    ...rest,
    isActive: rest.resource.active,
    slots: schedule.map((slot) => ({
      ...slot,
      isBlock: slot.kind === 'Block',
      checkIn: slot.checkIn && { ...slot.checkIn, isDone: slot.checkIn.checkedInAt !== null },
    })),
  };
}

export type SentFrame =
  | ({ __typename: 'DisplaySnapshot' } & SentSnapshot)
  | ({ __typename: 'DisplayHeartbeat' } & Freshness)
  | ({ __typename: 'DisplayEnded' } & ReceivedEnd);

export function readFrame(sent: SentFrame): ReceivedFrame {
  if (sent.__typename === 'DisplaySnapshot') return { kind: 'snapshot', snapshot: readSnapshot(sent) };
  if (sent.__typename === 'DisplayHeartbeat') return { ...sent, kind: 'heartbeat' };
  return { ...sent, kind: 'ended' };
}
