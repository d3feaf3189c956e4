/** The owner of opening hours, a location or a room, and how its hours are read and written. */
import { type Answer, act, ask } from '../client.ts';
import {
  type ExceptionsFragment,
  LocationListsDocument,
  type LocationListsQuery,
  type OpeningExceptionInput,
  type OpeningRuleInput,
  RoomListsDocument,
  type RulesFragment,
  SetLocationExceptionsDocument,
  SetLocationRulesDocument,
  SetRoomExceptionsDocument,
  SetRoomRulesDocument,
} from '../generated/graphql.ts';
import type { Location, Room } from './data.ts';

/** `lastAct` is the latest act that has replaced the list. */
export type OwnRules = RulesFragment & { lastAct: string | undefined };
export type OwnExceptions = ExceptionsFragment & { lastAct: string | undefined };

export type Owner = {
  subject: 'Location' | 'Resource';
  id: string;
  name: string;
  locationId: string;
  timeZone: string;
  read: () => Promise<{ rules?: OwnRules | undefined; exceptions?: OwnExceptions | undefined }>;
  setRules: (version: number, items: readonly OpeningRuleInput[]) => Promise<Answer<RulesFragment>>;
  setExceptions: (version: number, items: readonly OpeningExceptionInput[]) => Promise<Answer<ExceptionsFragment>>;
};

type Acts = LocationListsQuery['ruleActs'];
const withAct = <List extends object>(list: List | null, acts: Acts) =>
  list ? { ...list, lastAct: acts?.nodes[0]?.id } : undefined;
const listsOf = ({ rules, exceptions, ruleActs, exceptionActs }: LocationListsQuery) => ({
  rules: withAct(rules, ruleActs),
  exceptions: withAct(exceptions, exceptionActs),
});

export const ownerOf = (location: Location, room: Room | undefined): Owner => ({
  locationId: location.id,
  timeZone: location.timeZone,
  ...(room
    ? {
        subject: 'Resource' as const,
        id: room.id,
        name: room.name,
        read: async () => listsOf(await ask(RoomListsDocument, { id: room.id })),
        setRules: (version, items) => act(SetRoomRulesDocument, { id: room.id, version, items: [...items] }),
        setExceptions: (version, items) => act(SetRoomExceptionsDocument, { id: room.id, version, items: [...items] }),
      }
    : {
        subject: 'Location' as const,
        id: location.id,
        name: location.name,
        read: async () => listsOf(await ask(LocationListsDocument, { id: location.id })),
        setRules: (version, items) => act(SetLocationRulesDocument, { id: location.id, version, items: [...items] }),
        setExceptions: (version, items) =>
          act(SetLocationExceptionsDocument, { id: location.id, version, items: [...items] }),
      }),
});
