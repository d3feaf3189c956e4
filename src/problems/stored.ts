/** Problems as they are stored. */
import { sql } from 'kysely';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';

export const problemKinds = ['Heating', 'Light', 'Projector', 'Network', 'Furniture', 'Cleaning', 'Other'] as const;
export const problemStates = ['Open', 'Done'] as const;
export const longestText = 300;

export type RoomProblem = {
  id: number;
  resourceId: number;
  resourceName: string;
  displayId: number;
  displayName: string;
  kind: (typeof problemKinds)[number];
  text: string | null;
  reportedAt: Date;
  state: (typeof problemStates)[number];
  doneAt: Date | null;
  doneBy: { personId: number; displayName: string } | null;
  version: number;
};

export type NewProblem = Pick<RoomProblem, 'resourceId' | 'kind' | 'text'> & {
  /** Null: now. */
  reportedAt: Date | null;
  /** Null: the report will not be repeated. */
  key: string | null;
};

export const selectProblems = (db: Database, { mandatorId }: Viewer) =>
  db
    .selectFrom('room_problem as problem')
    .innerJoin('resource', (join) =>
      join.onRef('resource.mandator_id', '=', 'problem.mandator_id').onRef('resource.id', '=', 'problem.resource_id'),
    )
    .innerJoin('display', (join) =>
      join.onRef('display.mandator_id', '=', 'problem.mandator_id').onRef('display.id', '=', 'problem.display_id'),
    )
    .innerJoin('person as sign', (join) =>
      join.onRef('sign.mandator_id', '=', 'display.mandator_id').onRef('sign.id', '=', 'display.person_id'),
    )
    .leftJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'problem.mandator_id').onRef('person.id', '=', 'problem.done_by'),
    )
    .where('problem.mandator_id', '=', mandatorId)
    .select(['problem.id', 'problem.resource_id as resourceId', 'resource.name as resourceName'])
    .select(['problem.display_id as displayId', 'sign.name as displayName', 'problem.kind', 'problem.text'])
    .select(['problem.reported_at as reportedAt', 'problem.done_at as doneAt', 'problem.version'])
    .select([
      sql<RoomProblem['state']>`case when problem.done_at is null then 'Open' else 'Done' end`.as('state'),
      sql<RoomProblem['doneBy']>`case when person.id is not null
        then jsonb_build_object('personId', person.id, 'displayName', person.name) end`.as('doneBy'),
    ])
    .$narrowType<Pick<RoomProblem, 'kind'>>();
